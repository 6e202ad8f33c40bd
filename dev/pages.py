# SPDX-License-Identifier: MIT
"""pages: what stands in the pages that the benchmarks write (bench/*.md)."""
import re

NUMBER = r"(\d+(?:\.\d+)?)"
FIGURE = re.compile(rf"\*{{0,2}}{NUMBER}\*{{0,2}}(?: \[{NUMBER}, {NUMBER}\]| ±[\d.]+%)?")


def figure(cell):
    """(middle, least, most) of a cell; all the same where it has no interval. None: no figure."""
    found = FIGURE.fullmatch(cell)
    return tuple(float(part or found[1]) for part in found.groups()) if found else None


def number(cell):
    """The figure of a cell, without its spread; None where the cell has none."""
    found = figure(cell)
    return found[0] if found else None


class Wrong(Exception):
    """A page has not what it should have."""


class Page:
    def __init__(self, root, name):
        self.name = name
        try:
            self.text = (root / name).read_text()
        except UnicodeDecodeError as failure:
            raise Wrong(f"{name}: {failure}") from failure

    def title(self):
        return self.text.partition("\n")[0].removeprefix("# ")

    def said(self, what):
        """What its list says behind 'Machine: ', 'Command: ' or 'Rounds: '; empty: nothing."""
        found = re.search(rf"^- {what}: (.*)$", self.text, re.M)
        return found[1] if found else ""

    def section(self, heading):
        """What stands below a heading that begins so; empty where there is none."""
        found = re.search(rf"^## {re.escape(heading)}.*?\n(.*?)(?=^## |\Z)", self.text, re.S | re.M)
        return found[1] if found else ""

    def tables(self, heading):
        """The tables of a section: lists of rows, which are lists of as many cells; the headings
        first."""
        made, before = [], ""
        for line in self.section(heading).splitlines():
            if line.startswith("|"):
                if not before.startswith("|"):
                    made.append([])
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                if not all(set(cell) <= set("-:") and cell for cell in cells):
                    made[-1].append(cells)
                    if len(cells) != len(made[-1][0]):
                        raise Wrong(f"{self.name}: a row has {len(cells)} cells, its table has "
                                    f"{len(made[-1][0])}: {line}")
            before = line
        return made

    def table(self, heading):
        tables = self.tables(heading)
        if not tables:
            raise Wrong(f"no table '{heading}' in {self.name}")
        return tables[0]

    def columns(self, heading, wanted):
        """Of each row the cells in the order of `wanted`, wherever these stand."""
        names, *rows = self.table(heading)
        for column in wanted:
            if column not in names:
                raise Wrong(f"the table '{heading}' in {self.name} has no column '{column}'")
        return [[row[names.index(column)] for column in wanted] for row in rows]
