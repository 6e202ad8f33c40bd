# SPDX-License-Identifier: MIT
"""golden: files of counts that are agreed on, a line for each name, for one compiler."""
import pathlib
import re
import sys

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


def add_options(parser, path):
    parser.add_argument("--update", action="store_true", help="write the golden file")
    parser.add_argument("--golden", type=pathlib.Path, default=path)


def differences(check, path, compiler, compare, otherwise):
    if not path.exists():
        return [f"{path}: not there; write it with dev/{check} --update"]
    golden_compiler, agreed = read(path)
    if golden_compiler != compiler:
        print(f"{check}: golden is for {golden_compiler}, this is {compiler}: {otherwise}")
        return []
    return list(compare(agreed))


def settle(options, head, compiler, rows, compare, faults=(), otherwise="nothing is compared"):
    """Prints the rows, writes them with --update, and ends the check.

    `compare`: is given the counts of the golden file, and says how these differ. `faults`: what is
    wrong whatever that file says. `otherwise`: what holds where it is another compiler's.
    """
    check = pathlib.Path(sys.argv[0]).name
    print("\n".join(rows))
    if options.update:
        write(options.golden, head, compiler, rows)
    bad = [*faults, *differences(check, options.golden, compiler, compare, otherwise)]
    print("\n".join(f"{check}: {fault}" for fault in bad) or f"{check}: ok")
    sys.exit(bool(bad))
