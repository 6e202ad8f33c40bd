"""Tables of what bench/pools has measured: medians, quartiles, targets met or missed.

Samples are rounds, a dictionary each: (task, size, contestant) to figures.

SPDX-License-Identifier: MIT
"""
from statistics import median

from .figures import contestants_in, ratios, values_of
from .machine import in_words, run_in_words
from .pool_suite import (BLOCK_BYTES, FLOOR, GAINERS, LISTS, SIZES, STATES, STORY_MAKERS, TARGETS)
from .tables import NOTHING, cell, listed, matrix, table, tally, verdict, with_figures


def pair_ratios(rounds, task, size, target, state):
  return ratios(rounds, (task, size, target.ours), (task, size, target.theirs), state)


def names_in(rounds, tasks):
  """Contestants in the order in which the first round has them, the floor first."""
  names = contestants_in(rounds[:1], lambda key: key[0] in tasks)
  return sorted(names, key=lambda name: (name != FLOOR, not name.startswith("hand"),
                                         not name.startswith("tarn"), name))


def targets(rounds, only_missed=False):
  lines = []
  for target in TARGETS:
    for task, size in target.rows:
      for state in STATES:
        values = pair_ratios(rounds, task, size, target, state)
        if not values or (only_missed and median(values) <= target.most):
          continue
        lines.append([f"{target.ours} / {target.theirs}", f"{task} {size:,}, {state}",
                      f"{target.most:.2f}", cell(values), verdict(values, target.most)])
  return table(["ratio", "row", "at most", "median [quartiles]", ""], lines)


def overview(rounds):
  """A line for each target: how many of its rows are met, and the worst of them."""
  lines = []
  for target in TARGETS:
    rows = [(values, f"{task} {size:,}, {state}")
            for task, size in target.rows for state in STATES
            if (values := pair_ratios(rounds, task, size, target, state))]
    if rows:
      lines.append([f"{target.ours} / {target.theirs}", *tally(rows, target.most)])
  return table(["ratio", "at most", "rows that meet it", "worst row"], lines)


def grid(rounds, tasks, columns, names=None, digits=2):
  """`columns` are (heading, task, size, figure)."""
  return matrix(rounds, names or names_in(rounds, tasks),
                [(heading, key, figure, digits) for heading, *key, figure in columns])


def growth(rounds):
  parts = []
  for task in LISTS:
    for figure in (*STATES, *(["scattered"] if task == LISTS[0] else [])):
      columns = [(f"n = {size:,}", task, size, figure) for size in SIZES]
      parts.append(f"{task}, {figure}: ns a push\n\n{grid(rounds, (task,), columns)}")
  for figure in ("regrown_walk", "scattered_walk", "regrown_clear", "random_frees"):
    tasks = LISTS if figure.startswith("regrown") else LISTS[:1]
    label = {"regrown_walk": "A walk along the regrown list",
             "scattered_walk": "A walk along the list that was grown after random frees",
             "regrown_clear": "The list cleared",
             "random_frees": "n blocks freed in random order"}[figure]
    for task in tasks:
      columns = [(f"n = {size:,}", task, size, figure) for size in SIZES]
      names = [name for name in names_in(rounds, (task,))
               if figure not in ("regrown_clear", "random_frees") or name != FLOOR]
      parts.append(f"{label}, {task}: ns an element\n\n"
                   f"{grid(rounds, (task,), columns, names)}")
  return parts


def slots(rounds):
  columns = [(f"{task} {size}, {state}", task, size, state)
             for task in ("slots", "bare", "batches") for size in BLOCK_BYTES for state in STATES]
  return [grid(rounds, ("slots",), columns[start:start + 4]) for start in (0, 4, 8)]


def best_peer(libraries, task, size, figure):
  """(name, its rounds) of the fastest preloaded malloc that is neither glibc's nor tarn's."""
  peers = {name: values for name, rounds in libraries.items() if name not in ("glibc", "tarn")
           if (values := values_of(rounds, (task, size, "malloc"), figure))}
  return min(peers.items(), key=lambda item: median(item[1])) if peers else None


def ratio_cell(above, below):
  found = [a / b for a, b in zip(above, below) if b]
  return cell(found, 1 if found and median(found) >= 10 else 2)


def gains(libraries, rounds, task, figure):
  """S3.8's table: each over the floor of its own process, and glibc over the pools."""
  lines = []
  glibc_rounds = libraries.get("glibc", [])
  for size in SIZES:
    floor = values_of(glibc_rounds, (task, size, FLOOR), "regrown" + figure)
    glibc = values_of(glibc_rounds, (task, size, "malloc"), "regrown" + figure)
    ours, pool = (values_of(glibc_rounds, (task, size, name), "regrown" + figure)
                  for name in GAINERS)
    if not floor or not glibc:
      continue
    best = best_peer(libraries, task, size, "regrown" + figure)
    best_cell = NOTHING
    if best:
      own_floor = values_of(libraries[best[0]], (task, size, FLOOR), "regrown" + figure)
      best_cell = f"{best[0]}: {ratio_cell(best[1], own_floor)}"
    preloaded = libraries.get("tarn", [])
    lines.append([f"{size:,}", cell(floor), ratio_cell(glibc, floor), best_cell,
                  ratio_cell(values_of(preloaded, (task, size, "malloc"), "regrown" + figure),
                             values_of(preloaded, (task, size, FLOOR), "regrown" + figure)),
                  ratio_cell(ours, floor), ratio_cell(pool, floor), ratio_cell(glibc, ours),
                  ratio_cell(best[1], ours) if best else NOTHING])
  return table(["n", "floor, ns", "glibc", "best peer", "tarn's malloc", *GAINERS,
                f"glibc / {GAINERS[0]}", f"best peer / {GAINERS[0]}"], lines)


def mallocs(libraries, task, figure):
  columns = [(f"n = {size:,}", task, size, figure) for size in SIZES]
  lines = [[name, *[cell(values_of(rounds, (task, size, "malloc"), figure))
                    for _, task, size, figure in columns]] for name, rounds in libraries.items()]
  return table(["", *[heading for heading, *_ in columns]],
               with_figures(lines))


def destroy(rounds):
  sizes = sorted({size for row in rounds for task, size, _ in row if task == "destroy"})
  if not sizes:
    return ""
  columns = [(f"{size:,} objects", "destroy", size, "each") for size in sizes]
  held = []
  for name in names_in(rounds, ("destroy",)):
    full, empty = (values_of(rounds, ("destroy", sizes[-1], name), figure)
                   for figure in ("full_bytes", "empty_bytes"))
    if full and max(full) > 0:
      held.append([name, f"{median(full) / 1024:,.0f}", f"{median(empty) / 1024:,.0f}"])
  text = f"ns an object\n\n{grid(rounds, ('destroy',), columns)}\n"
  if held:
    text += (f"KiB held of the source, {sizes[-1]:,} objects\n\n"
             + table(["", "live", "all destroyed"], held))
  return text


def destroy_peer(rounds):
  lines = [[name, f"{size:,}", cell(values_of(rounds, ("destroy", size, name), "ms"), 1)]
           for row in rounds[:1] for _, size, name in row]
  return table(["", "objects", "ms in all"], lines) if lines else ""


def initialise(rounds):
  columns = [(heading, "initialise", 256 << 20, figure)
             for heading, figure in (("minor faults", "faults"), ("µs", "us"))]
  return grid(rounds, ("initialise",), columns, digits=0)


def story(rounds):
  lines = []
  for name in STORY_MAKERS:
    size = next((size for row in rounds for task, size, who in row if who == name), 0)
    clean, holed = (values_of(rounds, (task, size, name), "each")
                    for task in ("story_clean", "story"))
    if clean and holed:
      held = [cell([value / 1024 for value in values_of(rounds, ("story", size, name), figure)], 0)
              for figure in ("built_bytes", "holed_bytes", "ended_bytes", "trimmed_bytes")]
      first = values_of(rounds, ("story", size, name), "first")
      lines.append([name, cell(clean), cell(holed), ratio_cell(holed, clean), cell(first), *held])
  return table(["", "ns a request, without holes", "with 10,000 holes", "ratio", "the first 200",
                "KiB: objects", "every other freed", "all freed", "trimmed"], lines)


def counts(rounds):
  columns = [("push_front", "count_forward_list", 128, "push"),
             ("its clear", "count_forward_list", 128, "clear"),
             ("push_back", "count_list", 128, "push"), ("its clear", "count_list", 128, "clear"),
             ("bare slots", "count_bare", 128, "step")]
  return grid(rounds, ("count_forward_list",), columns, digits=0)


def heading(record):
  left_out = listed(f"Left out: {line}" for line in record["failures"])
  return f"""# Pools and arenas beside others

Made by `bench/pools`; docs/design/bench.md ("Pools") says what is measured and how. Not edited.

- Machine: {in_words(record['machine'], '-O2')}
- Command: {run_in_words(record)}
- tarn {record['tarn']}; {'; '.join(record['peers'])}
{left_out}
Cells are medians [quartiles]; ratios are medians of the rounds' ratios. *fresh*: a new contestant
over memory that was written before; *regrown*: the same one, after the list was cleared."""


def markdown(record, rounds, libraries):
  """`rounds`: of each task of bench/pools; `libraries`: those of its task malloc, of each."""
  timed = [{**a, **b} for a, b in zip(rounds["growth"], rounds["slots"])] or rounds["growth"] \
      or rounds["slots"]
  parts = [heading(record), "## Targets", overview(timed),
           "Rows that do not meet theirs:\n\n" + targets(timed, only_missed=True)]
  parts += ["## Lists beside malloc (S3.8)",
            "Regrown, in the process that malloc was preloaded to: time over that of the warm bump "
            "pointer there. The last columns are what ArrayPool's allocator gains."]
  for task, name in zip(LISTS, ("push_front", "push_back")):
    parts.append(f"{task}::{name}\n\n" + gains(libraries, rounds, task, ""))
    parts.append("A walk along it\n\n" + gains(libraries, rounds, task, "_walk"))
    parts.append(f"Each malloc, ns a {name}\n\n" + mallocs(libraries, task, "regrown"))
  parts.append("A walk after n blocks were freed in random order, forward_list, ns an element\n\n"
               + mallocs(libraries, LISTS[0], "scattered_walk"))
  parts += ["## Lists beside other pools", *growth(timed), "## 1,024 slots", "ns for a free and an "
            "allocation; blocks of 32 and 128 bytes, touched", *slots(timed)]
  parts += ["## Instructions", "One by one, when regrown", counts(rounds["count"])]
  parts += ["## Objects destroyed in random order", destroy(rounds["destroy"]),
            destroy_peer(rounds["destroy_peer"])]
  parts += ["## A pool of 256 MiB is made, in blocks of 256 bytes", initialise(
      rounds["initialise"])]
  parts += ["## Small holes everywhere, then requests of 512 bytes (S1.9, S1.11)",
            story(rounds["story"])]
  return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
