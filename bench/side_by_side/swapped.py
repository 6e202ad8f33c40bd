"""Runs a program where memory is short: a control group with a limit, and a swap file.

Both are gone afterwards, also when the run is interrupted; what a killed run has left is removed by
the next one. It takes root. Unavailable says what is missing.

SPDX-License-Identifier: MIT
"""
import ctypes
import errno
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from .machine import memory_bytes
from .packages import Unavailable

NAME = "tarn-bench-"
MIB = 1 << 20


def is_running(process):
  try:
    os.kill(process, 0)
    return True
  except ProcessLookupError:
    return False
  except PermissionError:
    return True


def owner_of(name):
  digits = name.removeprefix(NAME).partition(".")[0]
  return int(digits) if name.startswith(NAME) and digits.isdigit() else None


def memory_folders():
  """Where groups may be made: (version, folder), the process's own first."""
  mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
  own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
  for version, kind, option in ((1, "cgroup", "memory"), (2, "cgroup2", None)):
    for fields in mounts:
      dash = fields.index("-")
      if fields[dash + 1] != kind or (option and option not in fields[dash + 3].split(",")):
        continue
      path = next((row[2] for row in own
                   if (option in row[1].split(",") if option else row[1] == "")), "/")
      if fields[3] != "/":
        path = path.removeprefix(fields[3])
      place = Path(fields[4])
      found = [place / path.strip("/"), place]
      yield from ((version, folder) for folder in found if ".." not in folder.parts)
      return


def write(path, text):
  with open(path, "w", encoding="ascii") as file:
    file.write(text)


@contextmanager
def group(limit_bytes):
  """A control group whose processes have that much memory: its folder."""
  reason = "no control groups are mounted"
  for version, parent in memory_folders():
    folder = parent / f"{NAME}{os.getpid()}"
    limit = folder / ("memory.limit_in_bytes" if version == 1 else "memory.max")
    try:
      for left in parent.glob(NAME + "*"):
        if owner_of(left.name) and not is_running(owner_of(left.name)):
          left.rmdir()
      folder.mkdir()
    except OSError as failure:
      reason = f"no control group can be made: {failure.strerror}; it takes root"
      continue
    try:
      try:
        write(limit, str(limit_bytes))
        if version == 1:
          write(folder / "memory.swappiness", "100")
      except OSError as failure:
        reason = f"{limit.name} cannot be set: {failure.strerror}"
        continue
      yield folder
      return
    finally:
      for _ in range(200):  # The kernel may take a moment to see that its last process has gone.
        try:
          folder.rmdir()
          break
        except OSError:
          time.sleep(0.01)
  raise Unavailable(reason)


def switch(path, on):
  libc = ctypes.CDLL(None, use_errno=True)
  done = libc.swapon(os.fsencode(path), 0) if on else libc.swapoff(os.fsencode(path))
  return 0 if done == 0 else ctypes.get_errno()


def take_away(path):
  """Others may have swapped to it, and have no room for that yet: then it takes some tries."""
  for _ in range(100):
    error = switch(path, False)
    if error in (0, errno.EINVAL, errno.ENOENT):  # Off, or it never was on.
      path.unlink(missing_ok=True)
      return
    time.sleep(0.5)
  print(f"heaps: cannot switch off {path}: {os.strerror(error)}; do it with: swapoff {path}",
        file=sys.stderr)


@contextmanager
def swap_file(folder, size_bytes):
  """Swap space in a file, where the machine has less than that free."""
  if memory_bytes("SwapFree") >= size_bytes:
    yield
    return
  if os.geteuid() != 0:
    raise Unavailable("a swap file takes root")
  for left in folder.glob(NAME + "*.swap"):
    if owner_of(left.name) and not is_running(owner_of(left.name)):
      take_away(left)
  path = folder / f"{NAME}{os.getpid()}.swap"
  try:
    with open(path, "wb") as file:
      os.fchmod(file.fileno(), 0o600)
      for _ in range(size_bytes // MIB):
        file.write(bytes(MIB))
    made = subprocess.run(["mkswap", str(path)], capture_output=True, check=False)
    error = switch(path, True) if made.returncode == 0 else None
    if error != 0:
      reason = os.strerror(error) if error else "mkswap failed"
      raise Unavailable(f"cannot swap to {path.name}: {reason}; it takes root and a disk")
    yield
  finally:
    take_away(path)


def most_charged(folder):
  """The most bytes that the group was charged so far; None where the kernel does not tell."""
  for name in ("memory.max_usage_in_bytes", "memory.peak"):
    try:
      return int((folder / name).read_text())
    except OSError:
      continue
  return None


def joining(folder):
  """What a child calls before its program begins, so that this runs inside the group."""
  return lambda: write(folder / "cgroup.procs", "0")
