#!/bin/bash
# watched_test: what Valgrind and AddressSanitizer say of wrong uses of blocks of pools, in
# programs that were built without knowing of either: the pool's name is in the report.
#
#   watched_test.sh FOLDER-OF-CRIMES
#
# SPDX-License-Identifier: MIT
set -u
crimes=$1/pools_crimes
faults=0

# expect TOOL CRIME PATTERN...: each pattern is in the report, and the tool found something.
expect() {
  local tool=$1 crime=$2
  shift 2
  local -a command=("$crimes" "$crime")
  [ "$tool" = valgrind ] && command=(valgrind --quiet --error-exitcode=99 "${command[@]}")
  [ "$tool" = asan ] && command=("$crimes"_asan "$crime")
  local report status
  report=$("${command[@]}" 2>&1)
  status=$?
  if [ "$status" = 0 ]; then
    echo "$tool, $crime: nothing was found"
    faults=$((faults + 1))
  fi
  local pattern
  for pattern in "$@"; do
    if ! grep -qE -- "$pattern" <<<"$report"; then
      printf '%s, %s: no "%s" in:\n%s\n' "$tool" "$crime" "$pattern" "$report"
      faults=$((faults + 1))
    fi
  done
}

expect_clean() {
  local report
  if ! report=$("$@" 2>&1) || [ -n "$report" ]; then
    printf '%s:\n%s\n' "$*" "$report"
    faults=$((faults + 1))
  fi
}

expect_clean valgrind --quiet --error-exitcode=99 "$crimes" nothing
expect_clean valgrind --quiet --error-exitcode=99 "$crimes" outlive
expect valgrind use-after-free 'Invalid write of size 1' 'use_after_free' 'the pool "nodes"'
expect valgrind overrun 'Invalid write of size 1' 'write_behind' 'the pool "nodes"'
expect valgrind double-free 'tarn: double free: .*the pool "nodes"' 'Invalid free' 'free_twice'
expect valgrind uninitialised 'depends on uninitialised value' 'read_fresh'

# Other tools of Valgrind's see the program as it is: a pool there is a fast one, and says nothing.
expect_clean valgrind --quiet --tool=none "$crimes" uninitialised
if ! valgrind --quiet --tool=none "$crimes" use-after-free; then
  echo "valgrind's other tools get checked pools"
  faults=$((faults + 1))
fi

if [ -x "$crimes"_asan ]; then
  expect_clean "$crimes"_asan nothing
  expect_clean "$crimes"_asan outlive
  expect asan use-after-free 'AddressSanitizer: use-after-poison' 'use_after_free' \
    'free since, 5 bytes into a block of 40 bytes of the pool "nodes"' 'freed at pools_crimes'
  expect asan overrun 'AddressSanitizer: use-after-poison' 'write_behind' \
    '41 bytes into a block of 40 bytes of the pool "nodes"' 'allocated at pools_crimes'
  expect asan double-free 'tarn: double free: .*the pool "nodes"' 'AddressSanitizer' 'free_twice'
fi
[ "$faults" = 0 ] && echo "watched: ok"
exit "$faults"
