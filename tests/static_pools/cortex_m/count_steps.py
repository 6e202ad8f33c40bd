#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""count_steps: the most instructions of one call of a function, from QEMU's list of all that ran.

  count_steps.py LIST SYMBOLS BOUND     LIST: of -singlestep -d nochain,exec; SYMBOLS: of nm -S

Counts calls of allocate_* and deallocate_*, what they call with them, until the caller goes on.
Fails when a function was never called, or one that is not shared takes more than BOUND.
"""
import collections
import re
import sys


def read_symbols(path):
    """Returns {first address: name} and the addresses of all code that calls these."""
    watched, callers = {}, []
    for line in open(path):
        fields = line.split()
        if len(fields) != 4 or fields[2] not in "tTwW":
            continue
        start, size = int(fields[0], 16) & ~1, int(fields[1], 16)
        if re.match(r"(de)?allocate_", fields[3]):
            watched[start] = fields[3]
        elif re.match(r"main$|.*exercise", fields[3]):
            callers.append(range(start, start + size))
    return watched, callers


def count(path, watched, callers):
    most, calls = collections.Counter(), collections.Counter()
    inside, steps = None, 0
    for match in re.finditer(r"^Trace 0: 0x\w+ \[\w+/(\w+)/", open(path).read(), re.M):
        address = int(match.group(1), 16)
        if inside and any(address in caller for caller in callers):
            most[inside] = max(most[inside], steps)
            inside = None
        if not inside and address in watched:
            inside, steps = watched[address], 0
            calls[inside] += 1
        steps += 1
    return most, calls


def main():
    watched, callers = read_symbols(sys.argv[2])
    most, calls = count(sys.argv[1], watched, callers)
    bound, good = int(sys.argv[3]), bool(watched)
    for name in sorted(watched.values()):
        within = most[name] <= bound or "shared" in name
        good = good and within and calls[name] > 30 and most[name] > 3
        print(f"{name:36} {most[name]:5} instructions at most, {calls[name]} calls")
    sys.exit(not good)


if __name__ == "__main__":
    main()
