"""Tables and plot of what bench/run has measured.

record["samples"]: rounds, a dictionary each: (task, allocator) to figures.

SPDX-License-Identifier: MIT
"""
from statistics import median

from . import counts
from .figures import relative_spread, values_of
from .machine import in_words
from .tables import NOTHING, colours, drawing, listed, table


def mean_cell(figure):
  if figure is None:
    return NOTHING
  if figure["low"] == figure["high"]:  # One round says nothing about spread.
    return f"{figure['mean']:.3f}"
  return f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def number_cell(value):
  return NOTHING if value is None else f"{value:.3f}"


def summary_table(record):
  summary = record["summary"]
  rows = []
  for entry in record["allocators"]:
    name = entry["name"]
    means, common = summary["means"][name], summary["common"][name]
    if means["wall"] is None:
      rows.append([name, entry["version"], *[NOTHING] * 7])
      continue
    both = [f"{common[metric]['mean']:.3f}" if common["wall"] else NOTHING
            for metric in ("wall", "rss")]
    rows.append([name, entry["version"], mean_cell(means["wall"]), number_cell(means["minima"]),
                 mean_cell(means["cpu"]), mean_cell(means["rss"]), *both,
                 str(means["wall"]["tasks"])])
  return table(["allocator", "version", "time", "time (minima)", "CPU", "peak RSS",
                "time (common)", "RSS (common)", "tasks"], rows)


def groups_section(record):
  """Time and memory of each allocator over the tasks of each group, where there are several."""
  groups = record["summary"]["groups"]
  if len(groups) < 2:
    return ""
  rows = [[entry["name"], *[mean_cell(groups[group][entry["name"]][metric]) for group in groups
                            for metric in ("wall", "rss")]] for entry in record["allocators"]]
  return "## By groups of tasks, against glibc\n" + table(
      ["allocator", *[f"{word}, {group}" for group in groups for word in ("time", "RSS")]],
      rows) + "\n"


def against_table(record):
  rows = [[name, mean_cell(row["wall"]), number_cell(row["minima"]), mean_cell(row["cpu"]),
           mean_cell(row["rss"])] for name, row in record["summary"]["against"].items()]
  return table(["peer", "time tarn / peer", "of minima", "CPU tarn / peer", "peak RSS tarn / peer"],
               rows)


def base_cell(record, task, metric):
  rows = values_of(record["samples"], (task, "glibc"), metric)
  if not rows:
    return None
  middle = median(rows)
  shown = {"rss": f"{middle / 1024:.1f} MiB", "wall": f"{middle:.2f} s"}
  return shown.get(metric, f"{middle:,.0f}") + spread_word(relative_spread(rows))


def spread_word(spread):
  """Half the range; nothing where it is nothing, as with what is counted once."""
  return f" ±{spread:.0%}" if spread else ""


def ratio_table(record, base_of, read):
  """A row a task: base_of(task) for glibc, and of each other allocator the ratio and its spread
  that `read` finds in its figures of the task. Either may be None. The best ratio is bold."""
  names = [entry["name"] for entry in record["allocators"] if entry["name"] != "glibc"]
  failed = {(failure["task"], failure["allocator"]) for failure in record["failures"]}

  def absent(task, name):
    return "**failed**" if (task, name) in failed else NOTHING
  rows = []
  for task, figures in record["summary"]["per_task"].items():
    found = {name: read(figures[name]) for name in names if name in figures}
    best = min((ratio for ratio, _ in filter(None, found.values())), default=None)
    row = [task, base_of(task) or absent(task, "glibc")]
    for name in names:
      if not found.get(name):
        row.append(absent(task, name))
        continue
      ratio, spread = found[name]
      row.append((f"**{ratio:.2f}**" if ratio == best else f"{ratio:.2f}") + spread_word(spread))
    rows.append(row)
  return table(["task", "glibc", *names], rows)


def task_table(record, metric):
  """Ratios against glibc, median ± half the range."""
  def read(figures):
    return (figures[metric]["median"], figures[metric]["spread"]) if metric in figures else None
  return ratio_table(record, lambda task: base_cell(record, task, metric), read)


def minima_table(record):
  """Ratios against glibc of the least time of all rounds."""
  def base_of(task):
    least = min(values_of(record["samples"], (task, "glibc"), "wall"), default=None)
    return None if least is None else f"{least:.2f} s"
  return ratio_table(record, base_of,
                     lambda figures: (figures["minima"], 0) if figures["minima"] else None)


def failures_section(record, has_common=True):
  """`has_common`: whether the page has columns of the tasks that all allocators ran."""
  lines = [f"{failure['allocator']} on {failure['task']}, round {failure['round']}: "
           f"{failure['reason']}" for failure in record["failures"]]
  lines += [f"{row['name']} was not measured: {row['reason']}" for row in record["missing"]]
  lines += [f"{row['task']} was not run: {row['reason']}" for row in record["skipped"]]
  if not lines:
    return "None: every allocator ran every task, with the same output.\n"
  if not record["failures"]:
    return listed(lines)
  common = "; the columns marked *common* hold only the tasks that all allocators ran"
  return listed(lines) + ("\nA task that an allocator failed is left out of that allocator's "
                          f"means{common if has_common else ''}.\n")


def markdown(record):
  return f"""# Allocators side by side

- Machine: {in_words(record['machine'])}
- Command: `{record['command']}`
- Rounds: {record['repetitions']}, interleaved; {record['date']}; {record['bystanders']:.2f} cores \
were busy with other things

Figures are medians of the ratios within each round; below 1 is better. Means are geometric, over \
the tasks; in brackets 95 % intervals (bootstrap over rounds).

## Against glibc
{summary_table(record)}
{groups_section(record)}## tarn against each
{against_table(record)}
## Time, ratio to glibc (median ± half the range)
{task_table(record, 'wall')}
## Time, ratio to glibc of the least of all rounds
{minima_table(record)}
## Peak RSS, ratio to glibc (median ± half the range)
{task_table(record, 'rss')}
## Page faults, ratio to glibc (median ± half the range)
{task_table(record, 'faults')}
## What failed or was left out
{failures_section(record)}"""


def counts_means_table(record):
  rows = []
  for entry in record["allocators"]:
    means = record["summary"]["means"][entry["name"]]
    rows.append([entry["name"], entry["version"],
                 *[mean_cell(means[metric]) for metric in counts.METRICS],
                 str(max((means[metric]["tasks"] for metric in counts.METRICS if means[metric]),
                         default=0))])
  return table(["allocator", "version", *counts.TITLES.values(), "tasks"], rows)


def counts_markdown(record):
  tables = "".join(f"\n## {title}, ratio to glibc\n{task_table(record, metric)}"
                   for metric, title in counts.TITLES.items())
  return f"""# Allocators side by side: counts

What noise cannot touch. cachegrind executes each task, one thread at a time, on one model of a
processor; docs/design/bench.md ("Counts") says how.

- Machine: {in_words(record['machine'])}
- Command: `{record['command']}`; {record['date']}; a {record['part']}th of the work

Below 1 is better. Means are geometric, over the tasks.

## Means, ratio to glibc
{counts_means_table(record)}{tables}
## What failed or was left out
{failures_section(record, has_common=False)}"""


def plot_times(panel, summary, colour):
  """Each task's time ratio, a dot per allocator."""
  from matplotlib import ticker
  tasks = list(reversed(summary["per_task"]))
  for name in colour:
    rows = [(summary["per_task"][task][name]["wall"], at) for at, task in enumerate(tasks)
            if name in summary["per_task"][task]]
    if name == "glibc" or not rows:
      continue
    big = name == "tarn"
    panel.scatter([row["median"] for row, _ in rows], [at for _, at in rows], label=name,
                  color=colour[name], s=70 if big else 28, marker="D" if big else "o",
                  alpha=1.0 if big else 0.75, zorder=3 if big else 2)
  panel.set_xscale("log")
  panel.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  panel.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
  panel.xaxis.set_minor_locator(ticker.NullLocator())
  panel.axvline(1.0, color="black", linewidth=0.8)
  panel.set_yticks(range(len(tasks)), tasks)
  panel.set_xlabel("time, ratio to glibc (log; left is faster)")
  panel.grid(axis="both", alpha=0.25)
  panel.legend(loc="best", fontsize=8)


def plot_means(panel, means, colour):
  """Mean time against mean RSS."""
  for name in colour:
    time, rss = means[name]["wall"], means[name]["rss"]
    if not time:
      continue
    panel.errorbar(time["mean"], rss["mean"],
                   xerr=[[time["mean"] - time["low"]], [time["high"] - time["mean"]]],
                   yerr=[[rss["mean"] - rss["low"]], [rss["high"] - rss["mean"]]],
                   fmt="D" if name == "tarn" else "o", color=colour[name], capsize=3)
    panel.annotate(name, (time["mean"], rss["mean"]), xytext=(6, 6),
                   textcoords="offset points", color=colour[name])
  panel.set_xlabel("time, geometric mean of ratios to glibc")
  panel.set_ylabel("peak RSS, geometric mean of ratios to glibc")
  panel.grid(alpha=0.25)


def plot(path, record):
  summary, machine = record["summary"], record["machine"]
  of_all = colours([entry["name"] for entry in record["allocators"]])
  colour = {entry["name"]: of_all[entry["name"]] for entry in record["allocators"]}
  with drawing(path, 1, 2, figsize=(14, 2.5 + 0.27 * len(summary["per_task"])),
               gridspec_kw={"width_ratios": [3, 2]}) as (figure, (left, right)):
    plot_times(left, summary, colour)
    plot_means(right, summary["means"], colour)
    figure.suptitle(f"{machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}; "
                    f"{record['repetitions']} interleaved rounds", fontsize=10)
    figure.tight_layout()
