"""Tables of what bench/hooks has measured: SQLite's speed test, and closing, in three forms.

Samples are rounds, a dictionary each: (row, contestant) to figures.
closing: rows -> instructions, SQLite's and ours.

SPDX-License-Identifier: MIT
"""
from .figures import ratios, values_of
from .machine import in_words, run_in_words
from .tables import cell, table

CONTESTANTS = ("SQLite's malloc", "tarn as malloc", "a heap for the connection")
THEIRS, OURS = CONTESTANTS[0], CONTESTANTS[2]
SHOWN = "in memory"  # The row of which the heap's own words are shown.


def speeds(rounds):
  rows = dict.fromkeys(row for each in rounds for row, _ in each)
  lines = [[f"{row}, {unit}",
            *(cell(values_of(rounds, (row, name), figure), digits) for name in CONTESTANTS),
            cell(ratios(rounds, (row, OURS), (row, THEIRS), figure))]
           for figure, digits, unit in (("seconds", 2, "s"), ("mib", 1, "MiB at most"))
           for row in rows]
  return table(["", *CONTESTANTS, "the heap's ratio to SQLite's malloc"], lines)


def closings(closing):
  lines = [[f"{rows:,}", f"{theirs:,}", f"{ours:,}"] for rows, (theirs, ours) in closing.items()]
  return table(["rows of 2,000 bytes", THEIRS, OURS], lines)


def markdown(record, rounds, closing):
  return f"""# SQLite with a heap for its connection

Made by `bench/hooks`. Not edited.

- Machine: {in_words(record['machine'], '-O2')}
- Command: {run_in_words(record)}
- {record['tarn']}; {record['sqlite']}, shared, as Debian builds it; its speedtest1.c, \
--size {record['size']}

Medians [quartiles]; seconds are of the processor; the ratio is of each round.

## The speed test

{speeds(rounds)}
*In memory*: `--memdb`. *In a file*: `--nosync --journal wal`. *Parsing*: `--memdb --testset cte`.

Before the connection was closed its heap said, in each of these runs (here {SHOWN}, the last one):

```text
{values_of(rounds, (SHOWN, OURS), 'told')[-1].strip()}
```

`equal`: blocks and bytes of all heaps together are SQLite's SQLITE_STATUS_MALLOC_COUNT and
SQLITE_STATUS_MEMORY_USED.

## Closing a database in memory

Instructions of `sqlite3_close`, and of `tarn_sqlite3_close`:

{closings(closing)}"""
