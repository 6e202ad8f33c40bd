# SPDX-License-Identifier: MIT
"""commands: what a command prints, of those whose output is read; tests as ctest lists them."""
import json
import pathlib
import shlex
import subprocess
import sys


def output_of(*command, **settings):
    """A command that fails ends the check with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, **settings)
    if done.returncode != 0:
        check = pathlib.Path(sys.argv[0]).name
        sys.exit(f"{check}: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def run(*command, **settings):
    """All that it prints, which is shown only if it fails; that ends the program."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **settings)
    if done.returncode != 0:
        print(done.stdout.rstrip())
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {shlex.join(command)} failed")
    return done.stdout


def tests_of(build, *selection):
    """The tests of a build folder; those that are built have a `command`."""
    said = run("ctest", "--test-dir", build, "--show-only=json-v1", *selection)
    return json.loads(said)["tests"]


def target_of(test):
    return test["name"].replace(".", "_")


def property_of(test, name):
    """A list; empty, where the test has no such property."""
    return next((p["value"] for p in test.get("properties", []) if p["name"] == name), [])


def environment_of(test):
    return dict(one.split("=", 1) for one in property_of(test, "ENVIRONMENT"))
