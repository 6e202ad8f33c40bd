"""Names the machine that figures come from, and how much else was going on there.

SPDX-License-Identifier: MIT
"""
import os
import platform
import re
import resource
import subprocess
from pathlib import Path


def read(path, fallback="unknown"):
  try:
    return Path(path).read_text(encoding="utf-8").strip()
  except OSError:
    return fallback


def first_line(*command):
  try:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"
  except OSError:
    return "unknown"


def memory_bytes(name):
  """What /proc/meminfo says; 0 where it does not."""
  found = re.search(rf"^{name}:\s*(\d+)", read("/proc/meminfo"), re.M)
  return int(found.group(1)) * 1024 if found else 0


def describe():
  processor = re.search(r"model name\s*:\s*(.*)", read("/proc/cpuinfo"))
  memory = memory_bytes("MemTotal")
  system = re.search(r'PRETTY_NAME="(.*)"', read("/etc/os-release"))
  pages = re.search(r"\[(\w+)\]", read("/sys/kernel/mm/transparent_hugepage/enabled"))
  return {
      "processor": processor.group(1) if processor else platform.machine(),
      "cores": os.cpu_count(),
      "memory": f"{memory / 2**30:.1f} GiB" if memory else "unknown",
      "kernel": platform.release(),
      "system": system.group(1) if system else platform.system(),
      "libc": " ".join(platform.libc_ver()),
      "compiler": first_line("c++", "--version"),
      "huge_pages": pages.group(1) if pages else "unknown",
  }


def in_words(about, options=""):
  """One line of what describe() found; options: the compiler's, where all have the same."""
  compiler = ", ".join(filter(None, (about["compiler"], options)))
  return (f"{about['processor']}, {about['cores']} cores, {about['memory']}; {about['system']}, "
          f"Linux {about['kernel']}, {about['libc']}, {compiler}; transparent huge pages: "
          f"{about['huge_pages']}")


def run_in_words(record):
  """One line: the command, when it ran, and how busy the machine was besides."""
  return (f"`{record['command']}`; {record['date']}; {record['repetitions']} rounds, interleaved; "
          f"{record['bystanders']:.2f} cores were busy with other things")


class Bystanders:
  """How many cores were busy with something else than this benchmark, on average."""

  def __init__(self):
    self.start = self.now()

  @staticmethod
  def now():
    ticks = os.sysconf("SC_CLK_TCK")
    first = read("/proc/stat", "cpu 0 0 0 0 0 0 0 0").splitlines()[0]
    row = [int(field) / ticks for field in first.split()[1:]]
    busy = sum(row[:3]) + sum(row[5:8])  # All but idle and waiting.
    own = sum(sum(resource.getrusage(who)[:2])
              for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(row[:8]), busy, own

  def cores(self):
    total, busy, own = (b - a for a, b in zip(self.start, self.now()))
    if total <= 0:
      return 0.0
    return max(0.0, (busy - own) / (total / (os.cpu_count() or 1)))
