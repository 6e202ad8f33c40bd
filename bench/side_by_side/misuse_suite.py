"""Programs that misuse the heap (tests/misuse/), and how each ends with an allocator.

A program is stopped when the allocator ended it and said why (reported), or the processor did
(crashed). Else it goes on: with its own memory changed (harmed), having read what it should not
have seen (leaked), or as if nothing had been (unnoticed); or it does not end (hangs).

SPDX-License-Identifier: MIT
"""
from . import driver
from .driver import Failure

STOPPED = ("reported", "crashed")
OUTCOMES = (*STOPPED, "unnoticed", "harmed", "leaked", "hangs")
STATUSES = {0: "unnoticed", 3: "harmed", 4: "leaked"}
LIMIT = 10.0  # Seconds; the slowest takes one.


def cases(program):
  """FAMILY/NAME/BYTES each, as the program lists them."""
  return driver.succeeded(driver.start([program, "--list"])).stdout.split()


def family(case):
  return case.partition("/")[0]


def outcome(program, case, contestant):
  try:
    done = driver.start([program, case], contestant, LIMIT)
  except Failure:
    return "hangs"
  if done.returncode in STATUSES:
    return STATUSES[done.returncode]
  if done.returncode > 0 and "usage" in done.stderr:
    raise Failure(f"{case} is no case")
  return "reported" if done.stderr.strip() else "crashed"  # The programs say nothing themselves.
