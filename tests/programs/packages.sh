#!/bin/sh
# packages: has dev/setup install the programs that the cases run, where that is allowed.
#
# Where it is not (not root, or no apt-get) this says what is missing and succeeds: the cases that
# lack something are then skipped, each with its own word on it.
#
# SPDX-License-Identifier: MIT
set -eu

setup=$(cd "$(dirname "$0")/../.." && pwd)/dev/setup
if [ "$(id -u)" -eq 0 ] && command -v apt-get > /dev/null; then
  exec "$setup" build programs
fi
"$setup" --list build programs || echo "packages: the cases that need these are skipped"
