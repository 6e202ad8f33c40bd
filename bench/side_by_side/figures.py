"""What is made of the samples: medians of per-round ratios, their spread, means over the suite.

Samples are a list of rounds: each a dictionary of a key, whose last word is the contestant, to the
figures of one run. Within a round all contestants run one after the other, so a ratio within a
round sees the same machine; ratios across rounds would not. Intervals are bootstrapped by drawing
rounds with replacement, each task on its own. The seed is fixed: the same samples give the same
interval.

SPDX-License-Identifier: MIT
"""
import math
import random
from statistics import median

TIMED = ("wall", "cpu", "rss", "faults")  # Of a run of bench/run; the first is what it is about.
# Added to both sides, so that a task which takes almost nothing of something has no wild ratio.
FLOORS = {"wall": 0.001, "cpu": 0.001, "faults": 50, "first": 1000, "last": 1000,
          "mispredicted": 1000, "calls": 20}
DRAWS = 1000


def figure_of(row, key, read):
  """Of a round; None where there is none. `read`: a figure's name, or what makes one of them."""
  found = row.get(key)
  if found is None:
    return None
  return read(found) if callable(read) else found.get(read)


def values_of(rounds, key, read):
  """A figure of each round that has it."""
  values = (figure_of(row, key, read) for row in rounds)
  return [value for value in values if value is not None]


def ratios(rounds, ours, theirs, read, floor=0):
  """Of each round in which both ran; `floor` is added to both sides."""
  pairs = ([figure_of(row, key, read) for key in (ours, theirs)] for row in rounds)
  return [(above + floor) / (below + floor) for above, below in pairs
          if above is not None and below is not None and below + floor]


def contestants_in(rounds, wanted=lambda key: True):
  """In the order in which they first ran."""
  return list(dict.fromkeys(key[-1] for row in rounds for key in row if wanted(key)))


def middle(values, share):
  """Lowest and highest of that share in the middle of a list."""
  ordered = sorted(values)
  last = len(ordered) - 1
  return ordered[round(last * (1 - share) / 2)], ordered[round(last * (1 + share) / 2)]


def quartiles(values):
  return middle(values, 0.5)


def interval(values):
  return middle(values, 0.95)


def geometric_mean(values):
  return math.exp(sum(map(math.log, values)) / len(values))


def relative_spread(values):
  """Half the range over the median."""
  centre = median(values)
  return (max(values) - min(values)) / 2 / centre if centre else 0


def median_ratio(rows, seed):
  """Median, its 95 % interval, and half the range: {'median', 'low', 'high', 'spread'}."""
  draw = random.Random(seed)
  drawn = [median(draw.choices(rows, k=len(rows))) for _ in range(DRAWS)]
  low, high = interval(drawn)
  return {"median": median(rows), "low": low, "high": high, "spread": relative_spread(rows)}


def mean_over(rows_by_task, seed):
  """Geometric mean of the tasks' median ratios, with its 95 % interval."""
  if not rows_by_task:
    return None
  draw = random.Random(seed)
  drawn = [geometric_mean([median(draw.choices(rows, k=len(rows))) for rows in rows_by_task])
           for _ in range(DRAWS)]
  low, high = interval(drawn)
  return {"mean": geometric_mean([median(rows) for rows in rows_by_task]), "low": low,
          "high": high, "tasks": len(rows_by_task)}


def task_ratios(rounds, task, allocator, base, metric):
  return ratios(rounds, (task, allocator), (task, base), metric, FLOORS.get(metric, 0))


def ratio_of_minima(rounds, task, allocator, base, metric):
  """None where one of them never ran. What disturbs a run only makes it slower."""
  least = [min(values_of(rounds, (task, name), metric), default=None) for name in (allocator, base)]
  if None in least:
    return None
  floor = FLOORS.get(metric, 0)
  return (least[0] + floor) / (least[1] + floor)


def mean_of_minima(rounds, tasks, allocator, base, metric):
  found = [ratio_of_minima(rounds, task, allocator, base, metric) for task in tasks]
  found = [ratio for ratio in found if ratio is not None]
  return geometric_mean(found) if found else None


def compare(rounds, tasks, allocator, base, metrics):
  """Of each metric the mean over the tasks that both ran."""
  rows = {metric: [task_ratios(rounds, task, allocator, base, metric) for task in tasks]
          for metric in metrics}
  return {**{metric: mean_over([row for row in of_one if row], f"{allocator}/{base}/{metric}")
             for metric, of_one in rows.items()},
          "minima": mean_of_minima(rounds, tasks, allocator, base, metrics[0])}


def summarise(rounds, failures, tasks, allocators, metrics=TIMED, groups=None):
  """Every figure of the report, as plain data. `groups`: {task: group}.

  per_task[task][allocator][metric]   median ratio against glibc, with interval and spread
  means[allocator][metric]            over all tasks that this allocator ran
  common[allocator][metric]           over the tasks that all of them ran
  against[peer][metric]               tarn / peer, over the tasks that both ran
  groups[group][allocator][metric]    as means, over the tasks of the group

  "minima" beside a metric: of the first metric, the ratio of the least figures of all rounds.
  """
  lost = {name: {f["task"] for f in failures if f["allocator"] == name} for name in allocators}
  shared = [task for task in tasks if not any(task in of_one for of_one in lost.values())]
  summary = {"per_task": {}, "means": {}, "common": {}, "against": {}, "common_tasks": shared,
             "groups": {group: {} for group in dict.fromkeys((groups or {}).values())}}
  for task in tasks:
    summary["per_task"][task] = {}
    for name in allocators:
      rows = {metric: task_ratios(rounds, task, name, "glibc", metric) for metric in metrics}
      if task not in lost[name] and any(rows.values()):
        summary["per_task"][task][name] = {
            "minima": ratio_of_minima(rounds, task, name, "glibc", metrics[0]),
            **{metric: median_ratio(of_one, f"{task}/{name}/{metric}")
               for metric, of_one in rows.items() if of_one}}
  for name in allocators:
    own = [task for task in tasks if task not in lost[name]]
    summary["means"][name] = compare(rounds, own, name, "glibc", metrics)
    summary["common"][name] = compare(rounds, shared, name, "glibc", metrics)
    for group, of_group in summary["groups"].items():
      of_group[name] = compare(rounds, [task for task in own if groups.get(task) == group], name,
                               "glibc", metrics)
    if "tarn" in allocators and name != "tarn":
      both = [task for task in own if task not in lost["tarn"]]
      summary["against"][name] = compare(rounds, both, "tarn", name, metrics)
  return summary
