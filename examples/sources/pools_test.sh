#!/bin/sh
# pools_test: the example says what it should, twice: the second time the file is there.
#
# Usage: pools_test.sh PROGRAM
#
# SPDX-License-Identifier: MIT
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$1" "$work/file" > "$work/first"
"$1" "$work/file" > "$work/second"
cat "$work/second"
grep -q '^static buffer of 2000 bytes: [1-9][0-9]* readings$' "$work/first"
grep -q '^file, run 1: 100000 readings$' "$work/first"
grep -q '^file, run 4: 100000 readings$' "$work/second"
grep -q '^at most 300000 bytes of it: [1-9][0-9]* readings in [1-9].*, 0 left$' "$work/second"
if "$1" "$work/no/folder" 2> "$work/error"; then exit 1; fi
grep -q ': there is no file of this name$' "$work/error"
