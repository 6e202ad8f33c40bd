"""Tables of what bench/misuse has counted.

Samples are rounds, a dictionary each: (case, contestant) to an outcome of misuse_suite.

SPDX-License-Identifier: MIT
"""
from .figures import contestants_in
from .machine import in_words, run_in_words
from .driver import MODES, name_of
from .misuse_suite import OUTCOMES, STOPPED, family
from .tables import NOTHING, listed, table

def cases_in(rounds):
  return list(dict.fromkeys(case for row in rounds for case, _ in row))


def names_in(rounds):
  """tarn's modes, glibc, the others."""
  first = [*map(name_of, MODES), "glibc"]
  names = contestants_in(rounds)
  return [*(name for name in first if name in names), *sorted(set(names) - set(first))]


def worst(rounds, case, name):
  """Of all rounds; None where it never ran. What is not always stopped is not stopped."""
  found = [row[case, name] for row in rounds if (case, name) in row]
  return max(found, key=OUTCOMES.index) if found else None


def count(rounds, cases, name, outcomes):
  return sum(worst(rounds, case, name) in outcomes for case in cases)


def families(rounds):
  """How many of each family are stopped, and what came of the others."""
  names, cases = names_in(rounds), cases_in(rounds)
  lines = []
  for kind in dict.fromkeys(map(family, cases)):
    own = [case for case in cases if family(case) == kind]
    lines.append([kind.replace("_", " "), str(len(own)),
                  *(str(count(rounds, own, name, STOPPED)) for name in names)])
  lines.append(["**all**", str(len(cases)),
                *(f"**{count(rounds, cases, name, STOPPED)}**" for name in names)])
  for outcome in ("reported", "harmed", "leaked", "unnoticed", "hangs"):
    lines.append([f"*{outcome}*", "", *(str(count(rounds, cases, name, (outcome,)))
                                        for name in names)])
  return table(["stopped, of", "programs", *names], lines)


def word(outcome):
  return "**reported**" if outcome == "reported" else outcome or NOTHING


def every_case(rounds):
  names = names_in(rounds)
  lines = [[case, *(word(worst(rounds, case, name)) for name in names)]
           for case in cases_in(rounds)]
  return table(["family / mistake / bytes", *names], lines)


def markdown(record, rounds):
  return "\n".join([
      "# Misuse: which programs are stopped", "",
      "Made by `bench/misuse`; tests/misuse/ has the programs. Not edited.", "",
      f"- Machine: {in_words(record['machine'])}", f"- {run_in_words(record)}",
      f"- {record['tarn']}; {', '.join(record['peers']) or 'no peers'}", "",
      "Each program makes one mistake, goes on as if nothing had happened, and looks whether its "
      "own memory is as it left it. It is stopped when the allocator says what is wrong and ends "
      "it (*reported*) or the processor does; *harmed*: memory of its own has changed, or two "
      "blocks overlap; *leaked*: it read what it should not have seen; *unnoticed*: neither. The "
      "worst of all rounds counts. Peers run with default options.", "",
      families(rounds), listed(record["failures"]), "## Each program", "", every_case(rounds)])
