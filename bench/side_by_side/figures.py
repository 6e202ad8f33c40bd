"""What is made of the samples: medians of per-round ratios, their spread, means over the suite.

Within a round all allocators run a task one after the other, so a ratio within a round sees the
same machine; ratios across rounds would not. Intervals are bootstrapped by drawing rounds with
replacement, each task on its own. The seed is fixed: the same samples give the same interval.

SPDX-License-Identifier: MIT
"""
import math
import random
from statistics import median

METRICS = ("wall", "cpu", "rss", "faults")
# Added to both sides, so that a task which takes almost nothing of something has no wild ratio.
FLOORS = {"wall": 0.001, "cpu": 0.001, "rss": 0, "faults": 50}
DRAWS = 1000


def ratios(samples, task, allocator, base, metric):
  """Per-round ratios, from the rounds in which both ran."""
  pairs = zip(samples[task].get(allocator, []), samples[task].get(base, []))
  floor = FLOORS[metric]
  return [(ours[metric] + floor) / (theirs[metric] + floor)
          for ours, theirs in pairs if ours and theirs]


def interval(values):
  """The middle 95 % of a list."""
  ordered = sorted(values)
  last = len(ordered) - 1
  return ordered[round(0.025 * last)], ordered[round(0.975 * last)]


def geometric_mean(values):
  return math.exp(sum(map(math.log, values)) / len(values))


def median_ratio(rows, seed):
  """Median, its 95 % interval, and half the range: {'median', 'low', 'high', 'spread'}."""
  draw = random.Random(seed)
  drawn = [median(draw.choices(rows, k=len(rows))) for _ in range(DRAWS)]
  low, high = interval(drawn)
  middle = median(rows)
  return {"median": middle, "low": low, "high": high,
          "spread": (max(rows) - min(rows)) / 2 / middle}


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


def complete(samples, failures, allocators):
  """The tasks that every allocator ran without a failure."""
  failed = {failure["task"] for failure in failures if failure["allocator"] in allocators}
  return [task for task in samples if task not in failed]


def compare(samples, tasks, allocator, base, metric):
  rows = [ratios(samples, task, allocator, base, metric) for task in tasks]
  return mean_over([row for row in rows if row], f"{allocator}/{base}/{metric}")


def summarise(samples, failures, allocators):
  """Every figure of the report, as plain data.

  per_task[task][allocator][metric]   median ratio against glibc, with interval and spread
  means[allocator][metric]            over all tasks that this allocator ran
  common[allocator][metric]           over the tasks that all of them ran
  against[peer][metric]               tarn / peer, over the tasks that both ran
  """
  lost = {name: {f["task"] for f in failures if f["allocator"] == name} for name in allocators}
  shared = complete(samples, failures, allocators)
  summary = {"per_task": {}, "means": {}, "common": {}, "against": {}, "common_tasks": shared}
  for task in samples:
    summary["per_task"][task] = {}
    for name in allocators:
      rows = {metric: ratios(samples, task, name, "glibc", metric) for metric in METRICS}
      if task not in lost[name] and rows["wall"]:
        summary["per_task"][task][name] = {
            metric: median_ratio(rows[metric], f"{task}/{name}/{metric}") for metric in METRICS}
  for name in allocators:
    own = [task for task in samples if task not in lost[name]]
    summary["means"][name] = {m: compare(samples, own, name, "glibc", m) for m in METRICS}
    summary["common"][name] = {m: compare(samples, shared, name, "glibc", m) for m in METRICS}
    if "tarn" in allocators and name != "tarn":
      both = [task for task in own if task not in lost["tarn"]]
      summary["against"][name] = {m: compare(samples, both, "tarn", name, m) for m in METRICS}
  return summary
