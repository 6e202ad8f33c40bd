"""Writes what was measured: results.json, results.md and results.svg.

SPDX-License-Identifier: MIT
"""
import json
from statistics import median

from .machine import in_words


def write_json(path, record):
  path.write_text(json.dumps(record, indent=1) + "\n")


def mean_cell(figure):
  if figure is None:
    return "–"
  if figure["low"] == figure["high"]:  # One round says nothing about spread.
    return f"{figure['mean']:.3f}"
  return f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def table(header, rows):
  lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
  return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def summary_table(record):
  summary = record["summary"]
  rows = []
  for entry in record["allocators"]:
    name = entry["name"]
    means, common = summary["means"][name], summary["common"][name]
    if means["wall"] is None:
      rows.append([name, entry["version"], *["–"] * 6])
      continue
    both = ["–", "–"] if not common["wall"] else [f"{common[metric]['mean']:.3f}"
                                                  for metric in ("wall", "rss")]
    rows.append([name, entry["version"], mean_cell(means["wall"]), mean_cell(means["cpu"]),
                 mean_cell(means["rss"]), *both, str(means["wall"]["tasks"])])
  return table(["allocator", "version", "time", "CPU", "peak RSS", "time (common)",
                "RSS (common)", "tasks"], rows)


def against_table(record):
  rows = [[name, mean_cell(row["wall"]), mean_cell(row["cpu"]), mean_cell(row["rss"])]
          for name, row in record["summary"]["against"].items()]
  return table(["peer", "time tarn / peer", "CPU tarn / peer", "peak RSS tarn / peer"], rows)


def base_cell(record, task, metric):
  rows = [row[metric] for row in record["samples"][task].get("glibc", []) if row]
  if not rows:
    return "–"
  middle = median(rows)
  spread = (max(rows) - min(rows)) / 2 / middle if middle else 0
  shown = {"rss": f"{middle / 1024:.1f} MiB", "faults": f"{middle:.0f}"}
  return f"{shown.get(metric, f'{middle:.2f} s')} ±{spread:.0%}"


def task_table(record, metric):
  """Ratios against glibc, median ± half the range; the best of a row is bold."""
  names = [entry["name"] for entry in record["allocators"] if entry["name"] != "glibc"]
  failed = {(failure["task"], failure["allocator"]) for failure in record["failures"]}
  rows = []
  for task, figures in record["summary"]["per_task"].items():
    shown = [figures[name][metric]["median"] for name in names if name in figures]
    best = min(shown, default=None)
    row = [task, base_cell(record, task, metric)]
    for name in names:
      if name not in figures:
        row.append("**failed**" if (task, name) in failed else "–")
        continue
      figure = figures[name][metric]
      text = f"{figure['median']:.2f}"
      row.append((f"**{text}**" if figure["median"] == best else text)
                 + f" ±{figure['spread']:.0%}")
    rows.append(row)
  return table(["task", "glibc", *names], rows)


def failures_section(record):
  lines = [f"- {failure['allocator']} on {failure['task']}, round {failure['round']}: "
           f"{failure['reason']}" for failure in record["failures"]]
  lines += [f"- {row['name']} was not measured: {row['reason']}" for row in record["missing"]]
  lines += [f"- {row['task']} was not run: {row['reason']}" for row in record["skipped"]]
  if not lines:
    return "None: every allocator ran every task, with the same output.\n"
  return "\n".join(lines) + ("\n\nA task that an allocator failed is left out of that allocator's "
                             "means; the columns marked *common* hold only the tasks that all "
                             "allocators ran.\n")


def markdown(record):
  return f"""# Allocators side by side

- Machine: {in_words(record['machine'])}
- Command: `{record['command']}`
- Rounds: {record['rounds']}, interleaved; {record['date']}; {record['bystanders']:.2f} cores \
were busy with other things

Figures are medians of the ratios within each round; below 1 is better. Means are geometric, over \
the tasks; in brackets 95 % intervals (bootstrap over rounds).

## Against glibc
{summary_table(record)}
## tarn against each
{against_table(record)}
## Time, ratio to glibc (median ± half the range)
{task_table(record, 'wall')}
## Peak RSS, ratio to glibc (median ± half the range)
{task_table(record, 'rss')}
## Page faults, ratio to glibc (median ± half the range)
{task_table(record, 'faults')}
## What failed or was left out
{failures_section(record)}"""


def colours(names):
  palette = ["#7f7f7f", "#1f77b4", "#17becf", "#2ca02c", "#9467bd", "#8c564b", "#e377c2",
             "#bcbd22", "#ff7f0e"]
  others = [name for name in names if name != "tarn"]
  return {"tarn": "#d62728", **dict(zip(others, palette * 2))}


def plot(path, record):
  """Left: each task's time ratio, a dot per allocator. Right: mean time against mean RSS."""
  import matplotlib
  matplotlib.use("svg")
  from matplotlib import pyplot, ticker
  matplotlib.rcParams["svg.hashsalt"] = "tarn"
  summary = record["summary"]
  names = [entry["name"] for entry in record["allocators"]]
  colour = colours(names)
  tasks = list(reversed(summary["per_task"]))
  figure, (left, right) = pyplot.subplots(
      1, 2, figsize=(14, 2.5 + 0.27 * len(tasks)), gridspec_kw={"width_ratios": [3, 2]})
  for name in names:
    rows = [(summary["per_task"][task][name]["wall"], at) for at, task in enumerate(tasks)
            if name in summary["per_task"][task]]
    if name == "glibc" or not rows:
      continue
    big = name == "tarn"
    left.scatter([row["median"] for row, _ in rows], [at for _, at in rows], label=name,
                 color=colour[name], s=70 if big else 28, marker="D" if big else "o",
                 alpha=1.0 if big else 0.75, zorder=3 if big else 2)
  left.set_xscale("log")
  left.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  left.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
  left.xaxis.set_minor_locator(ticker.NullLocator())
  left.axvline(1.0, color="black", linewidth=0.8)
  left.set_yticks(range(len(tasks)), tasks)
  left.set_xlabel("time, ratio to glibc (log; left is faster)")
  left.grid(axis="both", alpha=0.25)
  left.legend(loc="best", fontsize=8)
  for name in names:
    means = summary["means"][name]
    if not means["wall"]:
      continue
    time, rss = means["wall"], means["rss"]
    right.errorbar(time["mean"], rss["mean"],
                   xerr=[[time["mean"] - time["low"]], [time["high"] - time["mean"]]],
                   yerr=[[rss["mean"] - rss["low"]], [rss["high"] - rss["mean"]]],
                   fmt="D" if name == "tarn" else "o", color=colour[name], capsize=3)
    right.annotate(name, (time["mean"], rss["mean"]), xytext=(6, 6),
                   textcoords="offset points", color=colour[name])
  right.set_xlabel("time, geometric mean of ratios to glibc")
  right.set_ylabel("peak RSS, geometric mean of ratios to glibc")
  right.grid(alpha=0.25)
  machine = record["machine"]
  figure.suptitle(f"{machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}; "
                  f"{record['rounds']} interleaved rounds", fontsize=10)
  figure.tight_layout()
  figure.savefig(path, metadata={"Date": None})
  pyplot.close(figure)


def write_all(folder, record):
  """Writes the three files; returns the line that says where, or why there is no picture."""
  write_json(folder / "results.json", record)
  (folder / "results.md").write_text(markdown(record))
  try:
    plot(folder / "results.svg", record)
  except ImportError:
    return "no plot: python3-matplotlib is not installed"
  return f"results.json, results.md and results.svg are in {folder}"
