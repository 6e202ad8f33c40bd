"""Cells, tables and plots of all reports.

SPDX-License-Identifier: MIT
"""
from contextlib import contextmanager
from statistics import median

from .figures import quartiles, values_of

NOTHING = "–"
# What is said of a target.
MET, MISSED, NEARLY = "met", "**missed**", "missed by less than the spread"


def table(header, lines):
  rows = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
  return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def with_figures(lines):
  """Those that have a figure beside their name."""
  return [line for line in lines if set(line[1:]) != {NOTHING}]


def cell(values, digits=2):
  """Median [quartiles]."""
  if not values:
    return NOTHING
  low, high = quartiles(values)
  text = f"{median(values):,.{digits}f}"
  return text if low == high else f"{text} [{low:,.{digits}f}, {high:,.{digits}f}]"


def range_cell(values, digits):
  """Median ± half the range."""
  if not values:
    return NOTHING
  text = f"{median(values):,.{digits}f}"
  half = (max(values) - min(values)) / 2
  return text if half == 0 else f"{text} ± {half:,.{digits}f}"


def percent_cell(values):
  """Median [quartiles], of shares."""
  if not values:
    return NOTHING
  low, high = quartiles(values)
  return f"{median(values) * 100:.1f} % [{low * 100:.0f}, {high * 100:.0f}]"


def met(is_met):
  return MET if is_met else MISSED


def verdict(values, most):
  """Whether the median is at most that, or misses it by less than the spread."""
  if median(values) > most >= quartiles(values)[0]:
    return NEARLY
  return met(median(values) <= most)


def matrix(rounds, names, columns):
  """Contestants down; `columns` are (heading, key without the contestant, figure, digits)."""
  lines = [[name, *[cell(values_of(rounds, (*key, name), figure), digits)
                    for _, key, figure, digits in columns]] for name in names]
  return table(["", *[heading for heading, *_ in columns]], with_figures(lines))


def tally(found, most):
  """Of (values, what they are of): the limit, how many medians meet it, and the worst."""
  worst = max(found, key=lambda each: median(each[0]))
  met_count = sum(median(values) <= most for values, _ in found)
  return [f"{most:.2f}", f"{met_count} of {len(found)}", f"{cell(worst[0])}: {worst[1]}"]


def listed(lines):
  return "".join(f"- {line}\n" for line in lines)


def colours(names):
  palette = ["#7f7f7f", "#1f77b4", "#17becf", "#2ca02c", "#9467bd", "#8c564b", "#e377c2",
             "#bcbd22", "#ff7f0e"]
  others = [name for name in names if name != "tarn"]
  return {"tarn": "#d62728", **dict(zip(others, palette * 2))}


def line_styles(names):
  """By name: tarn's line is the thickest, and in front."""
  return {name: {"color": colour, "linewidth": 2.2 if name == "tarn" else 1.1,
                 "zorder": 3 if name == "tarn" else 2} for name, colour in colours(names).items()}


@contextmanager
def drawing(path, rows, columns, **settings):
  """(figure, its panels): written as SVG, alike for the same figures. Or ImportError."""
  import matplotlib
  matplotlib.use("svg")
  from matplotlib import pyplot
  matplotlib.rcParams["svg.hashsalt"] = "tarn"
  figure, panels = pyplot.subplots(rows, columns, **settings)
  yield figure, panels
  figure.savefig(path, metadata={"Date": None})
  pyplot.close(figure)
