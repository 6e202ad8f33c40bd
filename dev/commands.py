# SPDX-License-Identifier: MIT
"""commands: what a command prints, of those whose output the checks read."""
import pathlib
import subprocess
import sys


def output_of(*command, **settings):
    """A command that fails ends the check with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, **settings)
    if done.returncode != 0:
        check = pathlib.Path(sys.argv[0]).name
        sys.exit(f"{check}: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
