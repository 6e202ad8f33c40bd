# SPDX-License-Identifier: MIT
"""golden: files of counts that are agreed on, a line for each name, for one compiler."""
import re

from commands import output_of


def compiler_of(library):
    text = output_of("readelf", "--string-dump=.comment", str(library))
    return " + ".join(sorted(set(re.findall(r"\]\s+(.*\S)", text)))) or "unknown"


def row(name, count, columns, width):
    return f"{name:{width}}" + "".join(f" {key}={count[key]}" for key in columns)


def read(path):
    """The compiler, and {name: {column: count}}."""
    compiler, golden = None, {}
    for line in path.read_text().splitlines():
        if line.startswith("compiler:"):
            compiler = line.partition(":")[2].strip()
        elif line.strip() and not line.startswith("#"):
            name, *pairs = line.split()
            golden[name] = {key: int(n) for key, n in (pair.split("=") for pair in pairs)}
    return compiler, golden


def write(path, head, compiler, rows):
    """`head`: the lines that say what the file is."""
    lines = ["# SPDX-License-Identifier: MIT", *(f"# {line}" for line in head),
             f"compiler: {compiler}", *rows]
    path.write_text("\n".join(lines) + "\n")
