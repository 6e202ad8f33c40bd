"""Tables and plot of what bench/returns has measured.

record["samples"]: rounds, a dictionary each: (task or row, contestant) to figures. Cells are
medians over the rounds, with half the range where there are several.

SPDX-License-Identifier: MIT
"""
from .figures import ratios, values_of
from .machine import in_words, run_in_words
from .returns_suite import (BACKGROUND, DEMANDS, LIMIT_FACTOR, OURS, PEAKS, ROWS, SLOW_FACTOR,
                            SLOW_SECONDS, resident_at, tasks)
from .tables import NOTHING, drawing, line_styles, listed, met, range_cell, table, with_figures

BASELINE = "glibc"
TIMES = (1, 5, 12)  # Seconds after the peak.
PEAK_FACTOR = 1.05
# Of 512 MB freed: 12 s later; after a trim, or in the background.
SMALL_MIB, GIVEN_BACK_MIB = 64, 8


def names_in(record):
  return [name for name, _ in record["contestants"]]


def peak_mib(figures):
  return figures["peak_kib"] / 1024


def given_back_mib(figures):
  return figures["given_back_kib"] / 1024 if "given_back_kib" in figures else None


def reader_at(seconds):
  return lambda figures: resident_at(figures, seconds)


def found(record, task, name, read):
  return values_of(record["samples"], (task, name), read)


def task_table(record, read, digits=0):
  names = names_in(record)
  lines = [[task.name, *[range_cell(found(record, task.name, name, read), digits)
                         for name in names]] for task in tasks()]
  return table(["", *names], with_figures(lines))


def judged(text, values, most, digits=0):
  if not values:
    return []
  worst = max(values)
  return [[text, f"{most:g}", f"{worst:,.{digits}f}", met(worst <= most)]]


def targets(record):
  lines = []
  for task in tasks():
    lines += judged(f"{task.name}: peak, tarn's over glibc's",
                    ratios(record["samples"], (task.name, OURS), (task.name, BASELINE), peak_mib),
                    PEAK_FACTOR, 2)
  for peak in PEAKS:
    lines += judged(f"{peak}/small: MiB resident after {TIMES[-1]} s",
                    found(record, f"{peak}/small", OURS, reader_at(TIMES[-1])), SMALL_MIB)
  for peak in PEAKS:
    lines += judged(f"{peak}/idle: MiB resident after `malloc_trim`",
                    found(record, f"{peak}/idle", OURS, given_back_mib), GIVEN_BACK_MIB, 1)
    lines += judged(f"{peak}/idle: MiB resident after {TIMES[-1]} s, background",
                    found(record, f"{peak}/idle", BACKGROUND, reader_at(TIMES[-1])),
                    GIVEN_BACK_MIB, 1)
  return table(["", "at most", "the worst round", ""], lines)


def row_table(record, row):
  title, figures = ROWS[row]
  lines = [[name, *[range_cell([value / divisor for value in
                          found(record, row, name, key)], digits)
                    for key, _, divisor, digits in figures]] for name in names_in(record)]
  lines = with_figures(lines)
  if not lines:
    return ""
  return f"**{row}**: {title}\n\n" + table(["", *[words for _, words, *_ in figures]], lines)


def calls(record):
  names = {figures["given_back_by"] for row in record["samples"] for figures in row.values()
           if "given_back_by" in figures}
  return ", ".join(sorted(f"`{call}`" for call in names))


def failures(record):
  return listed(f"Not measured: {failure}" for failure in record["failures"])


def head(record):
  versions = ", ".join(f"{name} {version}" for name, version in record["contestants"])
  return (f"- Machine: {in_words(record['machine'], '-O3')}\n- Command: {run_in_words(record)}\n"
          f"- {record['tarn']}; {versions}\n{failures(record)}")


def seeds(record):
  """Which, and what one alone is worth."""
  first, count = record["seed"], record["repetitions"]
  if count == 1:
    return (f"**One seed only ({first}), so ratios to glibc say little**: whether glibc trims "
            "changes with the seed.\n")
  return f"Seeds {first} to {first + count - 1}; the worst is judged."


def busyness(record):
  """What seconds are worth where contestants ran together."""
  count = record.get("at_once", 1)
  return (f"\n{count} contestants of a task ran at a time: these are times of a busy machine.\n"
          if count > 1 else "")


def free_section(record):
  at = "".join(f"### {seconds} s after the peak\n\n{task_table(record, reader_at(seconds))}\n"
               for seconds in TIMES)
  rows = "\n".join(filter(None, (row_table(record, row) for row in ROWS)))
  return f"""{head(record)}
{seeds(record)} {record['mib']} MiB make each peak. Before *large* and *thread* take as \
much again there are \
{record['pause']:g} s. MiB are resident
memory (`statm`), peaks `VmHWM`. Default options, but for those *background*: \
`TARN_OPTIONS=background_purge=1`, and jemalloc's
`background_thread:true`, which its authors recommend.

## Targets

{targets(record)}
## Peak, MiB

{task_table(record, peak_mib)}
## Resident over time, MiB

Plot: `build/bench/returns.svg`.

{at}## After the call that gives all back, MiB

Each allocator's own: {calls(record)}. Called when the demand is over.

{task_table(record, given_back_mib, 1)}
## Page faults, thousands

{task_table(record, lambda figures: figures['faults'] / 1000, 1)}
## Seconds of work: the peak made and freed, and what the demand takes
{busyness(record)}
{task_table(record, lambda figures: figures['work_s'], 2)}
## Wall time, seconds, sleeps included

{task_table(record, lambda figures: figures['wall_s'], 2)}
## Single figures

{rows}"""


def limited_section(record):
  names = names_in(record)
  lines = []
  for task in tasks():
    limits = [limit / 2**20 for _, name, limit, _ in record["limits"] if name == task.name]
    ends = [found(record, task.name, name, "outcome") for name in names]
    if limits:
      lines.append([task.name, range_cell(limits, 0),
                    *[", ".join(dict.fromkeys(of_one)) or NOTHING for of_one in ends]])
  kinds = {kind for *_, kind in record["limits"]}
  charged = ("what a control group of its own was charged while glibc ran it" if kinds == {"group"}
             else "glibc's peak RSS, since this kernel does not say what a group was charged")
  return f"""## Limited to {LIMIT_FACTOR} times what glibc needs

{head(record)}
{seeds(record)} The limit of a task is {LIMIT_FACTOR} times {charged}, with the same seed, in the
same round: memory, page tables and page cache. Before memory is taken again there are \
{record['pause']:g} s. *Killed*: by the kernel; *refused*:
`malloc` returned null; *slow*: more than {SLOW_FACTOR:g} times the work time of glibc without a \
limit (and of {SLOW_SECONDS:g} s).

{table(["", "limit, MiB", *names], lines)}"""


def markdown(free, limited):
  parts = ["# Memory goes back\n\nMade by `bench/returns`; docs/design/bench.md (\"Returns\") says "
           "what is measured and how. Not edited.\n"]
  if free:
    parts.append(free_section(free))
  if limited:
    parts.append(limited_section(limited))
  return "\n".join(parts)


def plot_task(panel, peak, demand, first, styles):
  for (task, name), figures in first.items():
    if task == f"{peak}/{demand}":
      points = figures["samples"]
      panel.plot([ms / 1000 for ms, _ in points], [kib / 1024 for _, kib in points], label=name,
                 **styles[name])
  panel.set_title(f"{PEAKS[peak]}; {DEMANDS[demand]}", fontsize=8)
  panel.set_ylim(bottom=0)
  panel.grid(alpha=0.25)
  panel.tick_params(labelsize=7)


def plot(path, record):
  """A panel for each peak and demand, of the first round; False where nothing can draw."""
  names = names_in(record)
  try:
    with drawing(path, len(PEAKS), len(DEMANDS), figsize=(16, 14), squeeze=False) as (figure,
                                                                                      panels):
      for row, peak in zip(panels, PEAKS):
        for panel, demand in zip(row, DEMANDS):
          plot_task(panel, peak, demand, record["samples"][0], line_styles(names))
      lines = {label: line for panel in panels.flat
               for line, label in zip(*panel.get_legend_handles_labels())}
      shown = [name for name in names if name in lines]
      figure.legend([lines[name] for name in shown], shown, loc="lower center", ncol=5, fontsize=8)
      figure.supxlabel("seconds after the peak was freed", y=0.045, fontsize=9)
      figure.supylabel("resident, MiB", fontsize=9)
      figure.tight_layout(rect=(0.01, 0.06, 1, 1))
  except ImportError:
    return False
  return True
