#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sites_test: in a program that is compiled without optimisation (sites.cpp), by each compiler that
# is there, a report of a block names the three lines at which it was allocated, freed and misused.
#
#   sites_test.sh PROJECT LIBRARIES      (CXX; clang++ too, where it is)
set -euo pipefail

program=$1/tests/heaps/sites.cpp libraries=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0

compilers=("${CXX:-c++}")
if command -v clang++ >/dev/null; then
  compilers+=(clang++)
else
  echo "sites_test: no clang++ here: only ${CXX:-c++} was tried"
fi

# The lines of the part `name` of the program that have to be named.
wanted() {
  awk -v name="\"$1\"" '/^    {"/ { here = index($0, name) } here && /\/\/ site/ { print FNR }' \
    "$program"
}

for compiler in "${compilers[@]}"; do
  "$compiler" -std=c++17 -O0 -g -Wall -Wextra -Werror -I "$1/include" "$program" -o "$work/sites" \
    -L "$libraries" "-Wl,-rpath,$libraries" -ltarn
  kinds=0
  for kind in $("$work/sites"); do
    { TARN_OPTIONS=xalloc_mode=1 "$work/sites" "$kind" 2>&1 || true; } 2>/dev/null |
      cat >"$work/said"
    # The outermost of the functions that were inlined at an address comes last.
    named=$(sed -n 's/.* at sites+\(0x[0-9a-f]*\).*/\1/p' "$work/said" |
      while read -r at; do addr2line -i -e "$work/sites" "$at" | tail -n 1; done |
      sed 's/ (discriminator .*//; s|.*/||')
    if [ "$named" != "$(wanted "$kind" | sed 's/^/sites.cpp:/')" ]; then
      echo "sites_test: $compiler: $kind: named are" $named >&2
      cat "$work/said" >&2
      exit 1
    fi
    kinds=$((kinds + 1))
  done
  echo "$compiler: $kinds kinds"
  [ "$kinds" -ge 10 ]
done
