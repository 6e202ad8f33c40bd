"""Installs Debian packages that a benchmark needs and the machine lacks, and says so.

SPDX-License-Identifier: MIT
"""
import os
import shutil
import subprocess
import sys


class Unavailable(Exception):
  """Something cannot be had here; the text is the reason that tables show."""


def apt(*arguments):
  """Runs apt-get, by sudo where the user is not root."""
  prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
  # RUNLEVEL keeps packages of servers from starting them.
  settings = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"]
  command = [*prefix, *settings, "apt-get", "-o", "DPkg::Lock::Timeout=600", *arguments]
  try:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
  except FileNotFoundError as missing:
    raise Unavailable(f"{missing.filename} is not installed: this needs Debian or Ubuntu") from None
  if done.returncode != 0:
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    raise Unavailable(f"apt-get {arguments[0]} failed: {lines[-1][:100] if lines else 'silently'}")


def install(*names):
  """Installs packages; the package lists are refreshed only when the first try fails."""
  print(f"bench: installing {' '.join(names)} from Debian", flush=True)
  arguments = ["install", "-y", "--no-install-recommends", *names]
  try:
    apt(*arguments)
  except Unavailable:
    apt("update")
    apt(*arguments)


def version(package):
  """Of an installed package, "PACKAGE VERSION"; "no PACKAGE"; None where nobody knows."""
  try:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], text=True,
                          capture_output=True, check=False)
  except FileNotFoundError:
    return None
  return f"{package} {done.stdout}" if done.returncode == 0 else f"no {package}"


def need(program, *packages):
  """Makes sure that a program is there; the first package that brings it is taken."""
  if shutil.which(program):
    return
  reason = "no package is known for it"
  for package in packages:
    try:
      install(package)
    except Unavailable as failure:
      reason = failure
    if shutil.which(program):
      return
  raise Unavailable(f"{program} is missing and could not be installed: {reason}")


def want(package, is_there):
  """Like need(), of a package that a benchmark can do without; what it then lacks is said."""
  if is_there:
    return
  try:
    install(package)
  except Unavailable as failure:
    print(f"bench: goes on without {package}: {failure}", file=sys.stderr)
