# SPDX-License-Identifier: MIT
"""golden: what stopped.golden says: the programs, in their order, and the modes that stop each."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))
from side_by_side.driver import MODES  # noqa: E402 (after the line that says where it is)

__all__ = ["GOLDEN", "MODES", "read"]
GOLDEN = HERE / "stopped.golden"


def read():
    rows = (line.split() for line in GOLDEN.read_text().splitlines() if not line.startswith("#"))
    return {case: set(modes) for case, *modes in rows}
