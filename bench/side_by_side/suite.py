"""What is run: the workloads of our own and the real programs, each as a task.

A task knows its command line, what it needs installed and how to lay out its input. It does not
know which allocator it will run on, nor how it is measured.

SPDX-License-Identifier: MIT
"""
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from . import inputs
from .packages import need


VALIDATION = "validation"
THREADS = 2  # Of the tasks of the validation set: a count that every machine of ours has.


@dataclass
class Place:
  """Where things lie: the sources of the benchmarks, built programs, inputs, scratch."""
  bench: Path
  binaries: Path
  inputs: Path
  scratch: Path
  part: int = 1  # How much of the work is done: this part.
  seed: int = 1  # Of the validation set.

  def scaled(self, amount):
    return max(1, amount // self.part)


@dataclass
class Task:
  name: str
  group: str
  stress: str
  command: Callable[[Place], list]
  needs: tuple = ()  # (program, package, ...): all of them.
  prepare: Callable[[Place], None] = lambda place: None  # Once.
  freshen: Callable[[Place], None] = lambda place: None  # Before every run, not timed.
  environment: dict = field(default_factory=dict)
  client: Optional[Callable[[Place], list]] = None  # Set: the command is a server.
  socket: str = ""
  stop: Optional[Callable[[Place], list]] = None
  # A program linked against another malloc gets the C library's put in front of it, so that the
  # baseline is the baseline.
  linked_allocator: bool = False

  def install(self):
    for program, *packages in self.needs:
      need(program, *packages)


def workloads(place):
  """The workloads of our own and those of the validation set, as the executable lists them."""
  listing = subprocess.run([place.binaries / "workloads", "--list"], capture_output=True,
                           text=True, check=True).stdout
  for line in listing.splitlines():
    name, group, size, stress = line.split("\t")
    arguments = ["workloads", name, str(place.scaled(int(size)))]
    if group == VALIDATION:
      arguments += [str(THREADS), str(place.seed)]
    yield Task(name, group, stress,
               lambda place, arguments=arguments: [str(place.binaries / arguments[0]),
                                                   *arguments[1:]])


def script(name, program, packages, source, count, stress, environment=None):
  """An interpreter on one of bench/programs/records.*."""
  def command(place):
    return [program, str(place.bench / "programs" / source), str(place.scaled(count))]
  return Task(name, "program", stress, command, needs=((program, *packages),),
              environment=environment or {})


def interpreters():
  yield script("python", "/usr/bin/python3", ("python3",), "records.py", 90000,
               "CPython: JSON, patterns, objects (small ones in its own arenas)")
  yield script("python_malloc", "/usr/bin/python3", ("python3",), "records.py", 60000,
               "CPython with every object in malloc (PYTHONMALLOC=malloc)",
               {"PYTHONMALLOC": "malloc"})
  yield script("perl", "perl", ("perl",), "records.pl", 120000, "hashes, arrays, strings")
  yield script("ruby", "ruby", ("ruby",), "records.rb", 80000, "objects, JSON, patterns")
  yield script("lua", "lua5.4", ("lua5.4",), "records.lua", 200000, "tables; all by realloc")
  yield script("node", "node", ("nodejs",), "records.js", 150000,
               "V8 (its own heap), buffers and zlib in malloc")


def compiler(name, program, packages, shapes):
  def prepare(place):
    inputs.cxx_source(place.inputs / f"{name}.cpp", place.scaled(shapes))

  def command(place):
    return [program, "-std=c++17", "-O1", "-c", str(place.inputs / f"{name}.cpp"), "-o",
            str(place.scratch / f"{name}.o")]
  return Task(name, "program", "C++ compiler on a template-heavy source", command,
              needs=((program, *packages),), prepare=prepare)


def git_gc():
  def prepare(place):
    path = place.inputs / "history.git"
    if not path.exists():
      inputs.history(path, 300, place.scaled(60))

  def freshen(place):
    copy = place.scratch / "gc.git"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place.inputs / "history.git", copy)

  def command(place):
    return ["git", "-C", str(place.scratch / "gc.git"), "gc", "--aggressive", "--quiet"]
  return Task("git_gc", "program", "delta search over a generated history", command,
              needs=(("git", "git"),), prepare=prepare, freshen=freshen)


def generated(name, packages, suffix, write, command, stress, group="program",
              environment=None):
  """A program on one generated file."""
  def prepare(place):
    write(place.inputs / f"{name}.{suffix}", place)

  def full(place):
    return command(str(place.inputs / f"{name}.{suffix}"))
  program = command("")[0]
  return Task(name, group, stress, full, needs=((program, *packages),), prepare=prepare,
              environment=environment or {})


def redis():
  """A server on a socket file in the scratch folder, measured by its own benchmark, pipelined."""
  name = "redis.sock"  # Relative: a socket's path has a hundred characters at most.

  def command(place):
    return ["redis-server", "--port", "0", "--unixsocket", name, "--save", "", "--appendonly",
            "no", "--daemonize", "no", "--loglevel", "warning", "--jemalloc-bg-thread", "no"]

  def client(place):
    return ["redis-benchmark", "-s", name, "-q", "-c", "16", "-P", "32",
            "-r", "100000", "-d", "100", "-n", str(place.scaled(250000)),
            "-t", "set,get,lpush,rpop,hset,zadd"]

  def stop(place):
    return ["redis-cli", "-s", name, "shutdown", "nosave"]
  return Task("redis", "program", "server under its benchmark, pipelined; the server's memory",
              command, needs=(("redis-server", "redis-server"), ("redis-benchmark", "redis-tools"),
                              ("redis-cli", "redis-tools")),
              client=client, stop=stop, socket=name, linked_allocator=True)


def programs():
  yield from interpreters()
  yield compiler("cc1plus", "g++", ("g++",), 24)
  yield compiler("clang", "clang++-16", ("clang-16",), 24)
  yield generated("sqlite3", ("sqlite3",), "sql",
                  lambda path, place: inputs.sql_script(path, place.scaled(150000)),
                  lambda path: ["sqlite3", ":memory:", f".read {path}"],
                  "inserts into indexed tables in memory, joins")
  yield generated("z3", ("z3",), "smt2", lambda path, place: inputs.solver_puzzle(path, 160),
                  lambda path: ["z3", "rlimit=2500000", path], "solver on a bounded search")
  yield generated("ghostscript", ("ghostscript",), "ps",
                  lambda path, place: inputs.picture(path, place.scaled(12), 1500),
                  lambda path: ["gs", "-q", "-dNOPAUSE", "-dBATCH", "-dSAFER", "-sDEVICE=ppmraw",
                                "-r72", "-sOutputFile=/dev/null", path],
                  "PostScript rendered to pixels")
  yield git_gc()
  yield redis()


def validation_programs():
  """Programs of Debian that are never looked into, on inputs that the seed varies."""
  def row(name, package, suffix, write, command, stress, environment=None):
    return generated(name, (package,), suffix, write, command, stress, VALIDATION, environment)
  yield row("jq", "jq", "json",
            lambda path, place: inputs.json_records(path, place.scaled(60000), place.seed),
            lambda path: ["jq", "-c", "group_by(.kind) | map({kind: .[0].kind, "
                          "sum: (map(.amount) | add), names: (map(.name) | unique | length)})",
                          path],
            "JSON read, grouped and written")
  yield row("xsltproc", "xsltproc", "xml",
            lambda path, place: inputs.xml_records(path, place.scaled(12000), place.seed),
            lambda path: ["xsltproc", path.removesuffix("xml") + "xsl", path],
            "libxml2 and libxslt: a document sorted and grouped by keys")
  yield row("pdftoppm", "poppler-utils", "pdf",
            lambda path, place: inputs.pdf_pages(path, place.scaled(16), place.seed),
            lambda path: ["pdftoppm", "-r", "60", path],
            "poppler: pages of text and curves rendered")
  yield row("dot", "graphviz", "dot",
            lambda path, place: inputs.graph(path, place.scaled(420), place.seed),
            lambda path: ["dot", "-Tplain", path], "graphviz: a layered drawing of a graph")
  yield row("gawk", "gawk", "txt",
            lambda path, place: inputs.words(path, place.scaled(1200000), place.seed),
            lambda path: ["gawk", "{ for (i = 1; i <= NF; i++) { n[$i]++; at[$i] = at[$i] NR FS } }"
                          " END { for (w in n) if (n[w] > m) m = n[w]; print m, length(n) }",
                          path],
            "an index of words: associative arrays, strings that grow")
  yield row("php", "php-cli", "php",
            lambda path, place: inputs.php_script(path, place.scaled(150000), place.seed),
            lambda path: ["php", "-n", path],
            "PHP with every object in malloc (USE_ZEND_ALLOC=0)", {"USE_ZEND_ALLOC": "0"})


def tasks(place):
  return [*workloads(place), *programs(), *validation_programs()]
