"""How one run is measured: a task, on an allocator, by the launcher.

SPDX-License-Identifier: MIT
"""
import hashlib
import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace

from .driver import Failure


@dataclass
class Sample:
  """What one run cost. For a server: the client's wall time, the server's everything else."""
  wall: float  # Seconds.
  cpu: float   # Seconds, user and system.
  rss: int     # KiB, peak.
  faults: int

  def as_dict(self):
    return asdict(self)


def read_result(path, errors):
  """What the launcher has written of a run; `errors`: what the run printed there."""
  text = path.read_text().split() if path.exists() else []
  if len(text) != 7:
    raise Failure(f"did not start: {errors.strip()[:120]}")
  wall, user, system, rss, minor, major, status = map(int, text)
  if os.WIFSIGNALED(status):
    raise Failure(f"killed by {signal.Signals(os.WTERMSIG(status)).name}")
  if os.WEXITSTATUS(status) != 0:
    lines = errors.strip().splitlines()
    said = f": {lines[-1][:100]}" if lines else ""
    raise Failure(f"exit status {os.WEXITSTATUS(status)}{said}")
  return Sample(wall / 1e9, (user + system) / 1e6, rss, minor + major)


def c_library():
  """The path of the C library that this process itself runs on."""
  with open("/proc/self/maps", encoding="utf-8") as maps:
    for line in maps:
      path = line.split()[-1]
      if os.path.basename(path).startswith(("libc.so.", "libc-")):
        return path
  return "-"


class Meter:
  """Runs tasks. Remembers the first output of each task, which all others must repeat."""

  def __init__(self, place, timeout):
    self.place = place
    self.timeout = timeout
    self.outputs = {}
    self.result = place.scratch / "launcher.result"
    self.environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
        "HOME": str(place.scratch), "TMPDIR": str(place.scratch),
        "GIT_CONFIG_NOSYSTEM": "1"}

  def launch(self, task, allocator, stdout, within=()):
    """`within`: a program, with its options, that runs the task."""
    preload = allocator.library or (c_library() if task.linked_allocator else "-")
    command = [str(self.place.binaries / "launcher"), str(self.result), preload,
               *within, *map(str, task.command(self.place))]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout,
                            stderr=subprocess.PIPE, cwd=self.place.scratch,
                            env={**self.environment, **allocator.environment, **task.environment},
                            start_new_session=True)

  @contextmanager
  def ending(self, process, who):
    """If the block does not come to its end, this ends the launcher and all that it started, which
    are a session of their own."""
    try:
      yield
    except BaseException as reason:
      with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
      process.communicate()
      if isinstance(reason, subprocess.TimeoutExpired):
        raise Failure(f"{who}did not end within {self.timeout:g} s") from None
      raise

  def run(self, task, allocator, within=()):
    self.result.unlink(missing_ok=True)
    task.freshen(self.place)
    if task.client:
      return self.run_server(task, allocator)
    process = self.launch(task, allocator, subprocess.PIPE, within)
    with self.ending(process, ""):
      output, errors = process.communicate(timeout=self.timeout)
    sample = read_result(self.result, errors.decode(errors="replace"))
    digest = hashlib.sha256(output).hexdigest()
    if self.outputs.setdefault(task.name, digest) != digest:
      raise Failure("printed something else than on the first allocator")
    return sample

  def run_server(self, task, allocator):
    socket = self.place.scratch / task.socket
    socket.unlink(missing_ok=True)
    process = self.launch(task, allocator, subprocess.DEVNULL)
    with self.ending(process, "server or client "):
      until = time.monotonic() + 10
      while not socket.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
      start = time.monotonic()
      client = subprocess.run(task.client(self.place), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=self.timeout, check=False,
                              cwd=self.place.scratch)
      wall = time.monotonic() - start
      subprocess.run(task.stop(self.place), stdin=subprocess.DEVNULL, capture_output=True,
                     timeout=10, check=False, cwd=self.place.scratch)
      _, errors = process.communicate(timeout=10)
    sample = read_result(self.result, errors.decode(errors="replace"))
    if client.returncode != 0:
      raise Failure(f"the client failed with status {client.returncode}")
    return replace(sample, wall=wall)
