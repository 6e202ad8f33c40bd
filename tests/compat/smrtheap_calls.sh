#!/bin/bash
# SPDX-License-Identifier: MIT
# smrtheap_calls: the program of all calls, in each language and by each line that docs/migration.md
# names for it, by the compilers that there are.
#
#   smrtheap_calls.sh PROJECT LIBRARY_FOLDER      (CC, CXX; clang too, where it is)
set -euo pipefail

project=$1 lib=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$project/tests/compat/smrtheap_calls.c
compile=(-O1 -Wall -Wextra -Wpedantic -Werror -I "$project/include/tarn/compat" -c "$program")
runs=0

fail() {
  echo "smrtheap_calls: $*" >&2
  exit 1
}

try() {  # COMPILER STANDARD ARGUMENT LIBRARY...
  local compiler=$1 standard=$2 argument=$3
  shift 3
  "$compiler" "$work/calls.o" "-L$lib" "-Wl,-rpath,$lib" "$@" -o "$work/calls" ||
    fail "$compiler -std=$standard does not link $*"
  "$work/calls" $argument || fail "$compiler -std=$standard, $*"
  runs=$((runs + 1))
}

compilers=("${CC:-cc} ${CXX:-c++}")
if command -v clang >/dev/null && command -v clang++ >/dev/null; then
  compilers+=("clang clang++")
else
  echo "smrtheap_calls: skipped: there is no clang"
fi
for pair in "${compilers[@]}"; do
  read -r c cpp <<<"$pair"
  for standard in c99 c11 c17; do
    "$c" "-std=$standard" "${compile[@]}" -o "$work/calls.o" || fail "$c -std=$standard"
    try "$c" $standard "" -ltarn_plain -pthread
    try "$c" $standard "" -ltarn
  done
  for standard in c++11 c++14 c++17 c++20; do
    "$cpp" -x c++ "-std=$standard" "${compile[@]}" -o "$work/calls.o" || fail "$cpp -std=$standard"
    try "$cpp" $standard delete -ltarn_new -ltarn_plain -pthread
    try "$cpp" $standard delete -ltarn
    try "$cpp" $standard "" -ltarn_plain -pthread
  done
done
echo "smrtheap_calls: $runs programs, ${#compilers[@]} compilers"
