"""Tables and plots of what bench/scaling has measured: series of points, for each allocator.

Samples are rounds, a dictionary each: (series, point, contestant) to figures. What a series of one
run says as a list (uptime) is taken apart into points first; None is of who has no such thing.

SPDX-License-Identifier: MIT
"""
from dataclasses import dataclass
from statistics import median
from typing import Callable

from .figures import contestants_in, values_of
from .machine import in_words, run_in_words
from .tables import NOTHING, drawing, line_styles, listed, table

PERIODS = 96
MIB = 2**20


def bytes_label(count):
  for unit, size in (("GiB", 2**30), ("MiB", MIB), ("KiB", 2**10)):
    if count >= size:
      return f"{count // size} {unit}"
  return f"{count} B"


@dataclass(frozen=True)
class Series:
  name: str
  what: str  # The heading, and the axis.
  points: tuple
  label: Callable = lambda point: f"{point:,}"
  bytes_at: Callable = lambda point: 0  # About what a run takes.
  logarithmic: bool = True


SERIES = (
    Series("live", "live memory", (1, 4, 16, 64, 256, 1024, 4096, 8192),
           lambda point: bytes_label(point * MIB), lambda point: int(1.3 * point * MIB)),
    Series("size", "size of a block", tuple(2**power for power in range(3, 31, 3)),
           bytes_label, lambda point: 2 * max(point, 64 * MIB)),
    Series("threads", "threads", (1, 2, 4, 8, 16, 32, 64), bytes_at=lambda point: 4 * MIB * point),
    Series("uptime", "periods of a server", (PERIODS,), logarithmic=False),
    Series("heaps", "heaps", (1, 10, 100, 1000, 10_000, 100_000, 1_000_000),
           bytes_at=lambda point: 20_000 * point),
)
BY_NAME = {series.name: series for series in SERIES}
FIGURES = {"ns": ("ns", 1), "overhead": ("resident / live", 2)}
MORE = {"fill_ns": ("ns, filling", 1), "create_ns": ("ns, creating", 0),
        "destroy_ns": ("ns, destroying", 0), "heap_bytes": ("bytes a heap", 0)}


def spread_out(rounds):
  """The same rounds: a list of figures becomes points from 1 on."""
  return [{key: figures for key_, figures_ in row.items()
           if figures_ is not None for key, figures in apart(key_, figures_)} for row in rounds]


def apart(key, figures):
  if not isinstance(figures["ns"], list):
    return [(key, figures)]
  series, _, contestant = key
  return [((series, i + 1, contestant), dict(zip(figures, at)))
          for i, at in enumerate(zip(*figures.values()))]


def points_in(rounds, series):
  return sorted({key[1] for row in rounds for key in row if key[0] == series.name})


def medians(rounds, series, name, figure):
  """Of each point that has it: {point: median}."""
  found = {point: values_of(rounds, (series.name, point, name), figure)
           for point in points_in(rounds, series)}
  return {point: median(values) for point, values in found.items() if values}


def steepest(of_points):
  """The largest growth from one point to the next: (ratio, the latter); None of a single point."""
  points = sorted(of_points)
  return max(((of_points[after] / of_points[before], after)
              for before, after in zip(points, points[1:])), default=None)


def shown_points(points):
  """All, or where there are very many the first, the last, and some between."""
  return points if len(points) <= 12 else sorted({points[round(i * (len(points) - 1) / 11)]
                                                  for i in range(12)})


def names_in(rounds):
  """Whoever ran, in an order that does not change with the rounds."""
  return sorted(contestants_in(rounds), key=lambda name: (name != "glibc", name != "tarn", name))


def series_table(rounds, series, figure, digits):
  names = names_in(rounds)
  found = {name: medians(rounds, series, name, figure) for name in names}
  names = [name for name in names if found[name]]
  if not names:
    return ""
  lines = [[series.label(point), *[f"{found[name][point]:,.{digits}f}" if point in found[name]
                                   else NOTHING for name in names]]
           for point in shown_points(points_in(rounds, series))]
  steep = [steepest(found[name]) for name in names]
  lines.append(["*steepest step*", *[f"{each[0]:.2f} at {series.label(each[1])}" if each
                                     else NOTHING for each in steep]])
  return table([series.what, *names], lines)


def section(rounds, series):
  parts = [f"## {series.what[0].upper()}{series.what[1:]} (`{series.name}`)\n"]
  for figure, (heading, digits) in {**FIGURES, **MORE}.items():
    if found := series_table(rounds, series, figure, digits):
      parts.append(f"{heading}:\n\n{found}")
  return "\n".join(parts)


def markdown(record, rounds):
  rounds = spread_out(rounds)
  sections = [section(rounds, series) for series in SERIES if points_in(rounds, series)]
  versions = ", ".join(f"{name} {version}" for name, version in record["contestants"])
  head = [
      "# How the cost of a block grows", "",
      "Made by `bench/scaling`; bench/scaling_tasks/main.cpp says what is measured. Not edited.",
      "",
      f"- Machine: {in_words(record['machine'])}",
      f"- Command: {run_in_words(record)}",
      f"- {record['tarn']}; {versions}",
      "- Cells are medians over the rounds. ns: processor time of a deallocation and allocation, "
      "both ends of the", "block written. resident / live: memory of blocks and their records over "
      "what was asked for and is", "live. The steepest step is the largest growth from one point "
      "to the next: a cliff would show there.",
      "", listed(f"Not measured: {failure}" for failure in record["failures"])]
  return "\n".join(head + sections)


def plot(path, rounds):
  """A row for each series, time and memory; False where nothing can draw."""
  rounds = spread_out(rounds)
  wanted = [series for series in SERIES if points_in(rounds, series)]
  names = names_in(rounds)
  try:
    with drawing(path, len(wanted), len(FIGURES), figsize=(12, 3.2 * len(wanted)),
                 squeeze=False) as (figure, panels):
      for series, row in zip(wanted, panels):
        for panel, (what, (heading, _)) in zip(row, FIGURES.items()):
          draw(panel, rounds, series, what, heading, names)
      figure.legend(*panels[0][0].get_legend_handles_labels(), loc="lower center", ncol=8,
                    fontsize=8)
      figure.tight_layout(rect=(0, 0.03, 1, 1))
  except ImportError:
    return False
  return True


def draw(panel, rounds, series, what, heading, names):
  styles = line_styles(names)
  for name in names:
    if found := medians(rounds, series, name, what):
      panel.plot(list(found), list(found.values()), label=name, **styles[name],
                 marker="." if series.logarithmic else None)
  if series.logarithmic:
    panel.set_xscale("log", base=2)
    points = points_in(rounds, series)
    panel.set_xticks(points, [series.label(point) for point in points], fontsize=6, rotation=30)
    panel.minorticks_off()
  if what == "ns":
    panel.set_yscale("log")
  panel.set_title(f"{series.what}: {heading}", fontsize=9)
  panel.grid(alpha=0.25)
  panel.tick_params(labelsize=7)
