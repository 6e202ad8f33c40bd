"""What the tests of bench/ share: where its modules are, the program to test, a machine's record.

SPDX-License-Identifier: MIT
"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))
MACHINE = dict.fromkeys(("processor", "cores", "memory", "system", "kernel", "libc", "compiler",
                         "huge_pages"), "?")
RECORD = {"machine": MACHINE, "command": "?", "date": "?", "repetitions": 1, "bystanders": 0.0,
          "tarn": "?", "failures": ["it failed"]}


def start(*words, **environment):
  """The program of the command line, when it has ended."""
  return subprocess.run([sys.argv[1], *map(str, words)], capture_output=True, text=True,
                        check=False, timeout=60, env={**os.environ, **environment})


def run(*words, **environment):
  """The figures that it prints."""
  done = start(*words, **environment)
  if done.returncode != 0:
    raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr}")
  return json.loads(done.stdout)


def main():
  unittest.main(module="__main__", argv=sys.argv[:1])
