"""What bench/returns runs: peaks, demands, single rows, the limits, and what a run's end means.

SPDX-License-Identifier: MIT
"""
import signal
from dataclasses import dataclass

PEAKS = {"small": "small blocks", "large": "large blocks", "thread": "another thread's blocks",
         "ended": "ended threads' blocks", "class": "one size class, then another"}
DEMANDS = {"idle": "sleeps", "small": "goes on with small blocks",
           "large": "takes as much in large blocks", "thread": "another thread takes as much"}
LASTING = ("idle", "small")  # Of these the whole time is looked at, of others that of the demand.
AFTER_MS = 2000  # Of a demand that takes memory: it holds it for half of that.

ROWS = {  # Name to what it is called, and its figures: key, title, divisor, digits.
    "resident": ("a program that does next to nothing", (("kib", "resident, KiB", 1, 0),)),
    "sparse": ("ten times `calloc` of a GiB, a byte of each used",
               (("seconds", "s", 1, 3), ("kib", "peak, MiB", 1024, 0))),
    "served": ("the largest power of two that `malloc` grants", (("gib", "GiB", 1, 0),)),
    "growth": ("2 GiB of zeros after as much was freed; a block doubles to 1 GiB by `realloc`",
               (("seconds", "s", 1, 3), ("kib", "peak, MiB", 1024, 0))),
    "holes": ("64 threads end and leave holes, then the main thread takes as much",
              (("ended_kib", "peak of the threads, MiB", 1024, 0),
               ("kib", "peak at the end, MiB", 1024, 0))),
    "pairs": ("a malloc and a free of 200,000 bytes",
              (("ns", "ns", 1, 0), ("two_ns", "ns, two threads at once", 1, 0))),
    "handover": ("a block freed by another thread",
                 (("ns", "ns, of 64 bytes", 1, 1), ("mixed_ns", "ns, of 64 to 511 bytes", 1, 1))),
}

OURS = "tarn"
BACKGROUND = "tarn, background"
BACKGROUND_OPTION = "background_purge"
PEERS = ("jemalloc", "mimalloc2", "mimalloc3", "tcmalloc")  # As bench/peers/fetch has them.
# jemalloc's TUNING.md asks long-running programs for its background threads; they are off by
# default. The others' authors ask for nothing that is about memory given back.
RECOMMENDED = {"jemalloc, background": ("jemalloc", {"MALLOC_CONF": "background_thread:true"})}

LIMIT_FACTOR = 1.1
SLOW_FACTOR = 2.0
SLOW_SECONDS = 0.5  # Below that, a factor is noise.
NO_MEMORY = 3  # The program's status when the allocator had none.


@dataclass
class Task:
  peak: str
  demand: str

  @property
  def name(self):
    return f"{self.peak}/{self.demand}"

  def words(self, seed, mib, pause_ms, lasting_ms):
    duration = lasting_ms if self.demand in LASTING else pause_ms + AFTER_MS
    return [self.peak, self.demand, str(seed), str(mib), str(pause_ms), str(duration)]


def tasks():
  return [Task(peak, demand) for peak in PEAKS for demand in DEMANDS]


def resident_at(figures, seconds):
  """MiB at the last sample up to then; None where the run had ended before, or nearly."""
  samples = figures["samples"]
  if not samples or samples[-1][0] < 1000 * seconds - 300:
    return None
  return [kib for ms, kib in samples if ms <= 1000 * seconds + 50][-1] / 1024


def refuses(errors, option):
  """The line in which the library says that it does not know the option."""
  return next((line for line in errors.splitlines() if option in line), None)


def limit_of(charged_bytes, figures):
  """1.1 times what glibc's run was charged: (bytes, how it was found).

  A control group is charged for page tables and for the page cache that its processes fill, too.
  So glibc runs in a group of its own, and the most that this was charged is what counts. Where the
  kernel does not say it, the limit is made of the process's peak RSS.
  """
  if charged_bytes:
    return int(LIMIT_FACTOR * charged_bytes), "group"
  return int(LIMIT_FACTOR * figures["peak_kib"] * 1024), "process"


def outcome(status, figures, base_figures):
  """In a word, how a run under a limit went beside glibc's without one."""
  if status == -signal.SIGKILL:
    return "killed"
  if status == NO_MEMORY:
    return "refused"
  if status != 0 or figures is None:
    return "failed"
  base = max(base_figures["work_s"], SLOW_SECONDS)
  return "slow" if figures["work_s"] > SLOW_FACTOR * base else "survived"
