"""What all runners do alike: options, builds, allocators, runs, rounds, and the record of a report.

A runner is a Session with a run_round(); driver.main() runs it. Each figure belongs to a round and
a key: a row's name, or what else it is of, and the contestant, which comes last.

SPDX-License-Identifier: MIT
"""
import argparse
import datetime
import hashlib
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Optional

from . import machine
from .packages import Unavailable, need

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build" / "bench"
RELEASE = ROOT / "build" / "release"
LIBRARY = RELEASE / "lib" / "libtarn.so"
FETCH = ROOT / "bench" / "peers" / "fetch"
PEERS_TABLE = ROOT / "build" / "peers" / "peers.json"
PEERS = ("mimalloc3", "snmalloc", "rpmalloc", "jemalloc", "tcmalloc")  # One of each kind.
NAME = Path(sys.argv[0]).name
SETTINGS = ("LD_PRELOAD", "TARN_OPTIONS", "MALLOC_CONF")  # Only those of a contestant count.


class Failure(Exception):
  """A run that does not count; the text says why."""


def say(text):
  print(f"{NAME}: {text}", file=sys.stderr, flush=True)


# Options

def positive(text):
  if not text.isdecimal() or int(text) < 1:
    raise argparse.ArgumentTypeError("give a number, at least 1")
  return int(text)


def named_library(text):
  name, _, path = text.partition("=")
  if not name or not Path(path).is_file():
    raise argparse.ArgumentTypeError(f"{text}: give NAME=PATH, a file that is there")
  return name, Path(path).resolve()


SHARED = {
    "--only": {"nargs": "+", "metavar": "ROW", "default": ["*"], "help": "rows by pattern"},
    "--library": {"nargs": "+", "type": named_library, "metavar": "NAME=PATH", "default": [],
                  "help": "measure these libraries too"},
    "--tarn": {"type": Path, "metavar": "PATH", "default": LIBRARY,
               "help": "tarn's malloc (default: that of build/release)"},
    "--program": {"type": Path, "metavar": "PATH", "help": "the program that measures"},
    "--output": {"type": Path, "metavar": "DIR", "default": OUTPUT},
    "--timeout": {"type": float, "metavar": "S", "default": 300.0, "help": "for one run"},
    "--no-build": {"action": "store_true", "help": "measure what is built"},
    "--no-peers": {"action": "store_true", "help": "glibc and tarn alone"},
    "--list": {"action": "store_true", "help": "list the rows and end"},
}


class Parser(argparse.ArgumentParser):
  """Of a runner, by its own docstring; the options that several have are added by their names."""

  def __init__(self, doc):
    super().__init__(description=doc.splitlines()[0])

  def rounds(self, default, *names):
    self.add_argument(*(names or ("--rounds",)), dest="rounds", type=positive, metavar="N",
                      default=default, help=f"rounds ({default})")

  def shared(self, *names, **defaults):
    for name in names:
      self.add_argument(name, **SHARED[name])
    self.set_defaults(**defaults)


def is_wanted(name, patterns):
  return any(fnmatch(name, pattern) for pattern in patterns)


# Builds

def must(*commands):
  """Runs commands, silently unless one fails: that ends the runner."""
  for command in commands:
    words = list(map(str, command))
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
      sys.exit(f"{NAME}: {shlex.join(words)} failed:\n{done.stdout}")


def build(*targets, settings=("-DTARN_BUILD_BENCH=ON",)):
  """Brings build/release up to date, so that what is measured is what the tree says."""
  for program, package in (("cmake", "cmake"), ("c++", "g++"), ("ninja", "ninja-build")):
    need(program, package)
  must(("cmake", "--preset", "release", *settings),
       ("cmake", "--build", RELEASE, "--target", "tarn_shared", *targets))


def build_alone(*targets):
  """Builds bench/ by itself: what is measured must not depend on how tarn was built."""
  for program, package in (("cmake", "cmake"), ("c++", "g++"), ("make", "make")):
    need(program, package)
  must(("cmake", "-S", ROOT / "bench", "-B", OUTPUT / "bin"),
       ("cmake", "--build", OUTPUT / "bin", "-j", os.cpu_count() or 1,
        *(("--target", *targets) if targets else ())))


# Allocators

@dataclass
class Contestant:
  """An allocator, or one way to use it."""
  name: str
  library: Optional[str] = None  # Preloaded; None: the program runs on what it is linked with.
  version: str = ""
  environment: dict = field(default_factory=dict)
  origin: str = ""
  word: str = ""  # What the measuring program calls it.


def digest(path):
  return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]


def commit():
  return machine.first_line("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")


def glibc(**more):
  return Contestant("glibc", version=machine.describe()["libc"].split()[-1], **more)


def preloaded(name, path, **more):
  return Contestant(name, str(Path(path).resolve()), digest(path), **more)


MODES = ("fast", "hardened", "checked", "guarded")  # Of malloc (docs/options.md).


def name_of(mode):
  return "tarn" if mode == "fast" else f"tarn, {mode}"


def in_mode(library, mode):
  """tarn's malloc in one of its modes."""
  return preloaded(name_of(mode), library, environment={"TARN_OPTIONS": f"mode={mode}"})


def peers(names=None, table=PEERS_TABLE, fetch=(), hardened=False):
  """Those that bench/peers/fetch has built, of `names` or all, without the hardened ones or these
  alone. `fetch`: its options, with which it is called where it never was; None: it is not
  called."""
  def built():
    rows = json.loads(table.read_text())["peers"] if table.exists() else []
    return [row for row in rows if row.get("hardened", False) == hardened]

  if fetch is not None and not built():
    subprocess.run([str(FETCH), *fetch, *(["--hardened"] if hardened else [])], check=False)
  return [Contestant(row["name"], row["path"], row["version"], origin=row.get("origin", ""))
          for row in built()
          if (names is None or row["name"] in names) and Path(row["path"]).exists()]


def in_turn(turn, row, contestants):
  """An order of their own for each round and row, the same one whenever this is measured again."""
  return random.Random(f"{turn}/{row}").sample(contestants, len(contestants))


# Runs

def environment_of(contestant):
  kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
  if contestant is None:
    return kept
  preload = {"LD_PRELOAD": contestant.library} if contestant.library else {}
  return {**kept, **preload, **contestant.environment}


def start(command, contestant=None, timeout=None, **settings):
  """The process when it has ended, however it did; Failure where it did not."""
  try:
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=timeout,
                          env=environment_of(contestant), **settings)
  except subprocess.TimeoutExpired:
    raise Failure(f"did not end within {timeout:g} s") from None
  except (OSError, subprocess.SubprocessError) as failure:
    raise Failure(f"did not start: {failure}"[:150]) from None


def succeeded(done):
  """The same process, if it ended well."""
  if done.returncode < 0:
    raise Failure(f"was killed by {signal.Signals(-done.returncode).name}")
  if done.returncode != 0:
    said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
    raise Failure(f"ended with {done.returncode}: {said[:100]}")
  return done


def figures_of(done):
  """The JSON object that a program has printed."""
  try:
    return json.loads(succeeded(done).stdout)
  except ValueError:
    raise Failure(f"printed no figures, but {done.stdout[:60]!r}") from None


def instructions(command, within=None, **settings):
  """How many callgrind counts, in the functions of that name alone where there is one."""
  part = ("--collect-atstart=no", f"--toggle-collect={within}") if within else ()
  done = start(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *part, *command],
               **settings)
  found = re.search(r"Collected : (\d+)", done.stderr)
  if done.returncode != 0 or not found:
    raise Failure("valgrind cannot run it: "
                  + (done.stderr.strip().splitlines() or ["nothing said"])[-1][:100])
  return int(found.group(1))


# Rounds

def rounds(count):
  """Numbers of rounds; a line says that one is done."""
  for turn in range(count):
    yield turn
    say(f"round {turn + 1} of {count} is done")


def flat(samples):
  """Rounds as JSON can have them: [round, *key, figures] each."""
  return [[turn, *key, figures] for turn, row in enumerate(samples) for key, figures in row.items()]


def from_flat(rows):
  """The rounds that flat() was given."""
  samples = [{} for _ in range(1 + max((row[0] for row in rows), default=-1))]
  for turn, *key, figures in rows:
    samples[turn][tuple(key)] = figures
  return samples


def said_command():
  """The command line, with names instead of paths, which are those of one machine."""
  def shown(word):
    name, is_pair, path = word.rpartition("=")
    return f"{name}{is_pair}{Path(path).name if Path(path).is_absolute() else path}"
  return shlex.join([f"bench/{NAME}", *map(shown, sys.argv[1:])])


class Session:
  """Rounds: what was measured, what failed, and what a report says of both."""

  def __init__(self, options):
    self.options, self.samples, self.failures = options, [], []
    self.bystanders = machine.Bystanders()
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)

  def run_round(self, turn):
    raise NotImplementedError

  def fail(self, text):
    """Each failure is said once, and shown by the report."""
    if text not in self.failures:
      self.failures.append(text)
      say(text)

  def sample(self, key, measure, *words):
    """Adds to the round what measure(*words) returns; a failure says which key it is of."""
    try:
      self.samples[-1][key] = measure(*words)
    except (Failure, Unavailable, OSError) as failure:
      self.fail(f"{' '.join(map(str, key[:-1]))} with {key[-1]}: {failure}")

  def run(self):
    """All rounds; false where it is interrupted. What was measured until then counts."""
    # SIGINT is ignored in what a script starts in the background; both end with a report.
    for number in (signal.SIGINT, signal.SIGTERM):
      signal.signal(number, signal.default_int_handler)
    try:
      for turn in rounds(self.options.rounds):
        self.samples.append({})
        self.run_round(turn)
    except KeyboardInterrupt:
      say("interrupted; the report has what was measured")
      return False
    return True

  def record(self, **more):
    return {"machine": machine.describe(), "command": said_command(),
            "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
            "repetitions": len(self.samples), "bystanders": self.bystanders.cores(),
            "failures": self.failures, **more}

  def save(self, record, text):
    """Writes NAME.json and NAME.md."""
    samples = record.get("samples", self.samples)
    rows = flat(samples) if isinstance(samples, list) else {
        name: flat(of_one) for name, of_one in samples.items()}
    (self.options.output / f"{NAME}.json").write_text(
        json.dumps({**record, "samples": rows}) + "\n")
    (self.options.output / f"{NAME}.md").write_text(text)

  def write(self, record, text, kept=None):
    """Saves and says where; `kept`: a file of bench/ that is to be the same page."""
    self.save(record, text)
    if kept:
      (ROOT / "bench" / kept).write_text(text)
    say(f"{NAME}.json and {NAME}.md are in {os.path.relpath(self.options.output)}"
        + (f"; bench/{kept} is new" if kept else ""))


class Progress:
  """A bar on a terminal, nothing elsewhere."""

  def __init__(self, total):
    self.total, self.done, self.start = total, 0, time.monotonic()

  def step(self, label):
    self.done += 1
    if not sys.stderr.isatty():
      return
    left = int((time.monotonic() - self.start) / self.done * (self.total - self.done))
    filled = 30 * self.done // self.total
    end = "\r\033[K" if self.done == self.total else ""
    print(f"\r\033[K[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} "
          f"{left // 60}:{left % 60:02} left  {label}{end}", end="", file=sys.stderr, flush=True)


def main(run):
  """Runs a runner's main(): what is not to be had ends it with a line, not with a traceback."""
  try:
    sys.exit(run())
  except (Failure, Unavailable) as failure:
    sys.exit(f"{NAME}: {failure}")
