#!/bin/sh
# shells: LD_PRELOAD reaches shells, their pipelines, their children and grandchildren, and every
# one of them computes what it should.
#
# It runs with libtarn.so preloaded. TARN_TEST_ANY_MALLOC lets it be tried without.
#
# SPDX-License-Identifier: MIT
set -eu

fail() {
  echo "shells: $*" >&2
  exit 1
}

expect() {
  [ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"
}

on_tarn() {
  [ -n "${TARN_TEST_ANY_MALLOC:-}" ] || grep -q libtarn "$1"
}

on_tarn /proc/self/maps || fail "a child of the shell does not run on tarn"
on_tarn "/proc/$$/maps" || fail "the shell itself does not run on tarn"
sh -c 'sh -c "sh -c \"cat /proc/self/maps\""' > "${TMPDIR:-/tmp}/shells.$$"
trap 'rm -f "${TMPDIR:-/tmp}/shells.$$"' EXIT
on_tarn "${TMPDIR:-/tmp}/shells.$$" || fail "a great-grandchild does not run on tarn"

for shell in sh dash bash; do
  command -v "$shell" > /dev/null || continue
  expect "$shell, pipeline" "$($shell -c 'seq 20000 | sort -r | sort -n | tail -n 1')" 20000
  expect "$shell, substitutions" "$($shell -c '
    i=0; sum=0
    while [ $i -lt 200 ]; do i=$((i + 1)); sum=$((sum + $(echo $i))); done
    echo $sum')" 20100
  expect "$shell, background jobs" "$($shell -c '
    for i in 1 2 3 4 5 6 7 8; do (seq 1000 | wc -l) & done
    wait' | sort -u)" 1000
  expect "$shell, here-document" "$($shell -c 'cat <<END | tr a-z A-Z
tarn
END')" TARN
  expect "$shell, exec" "$($shell -c 'exec echo done')" done
  status=0
  $shell -c 'exit 7' || status=$?
  expect "$shell, exit status" "$status" 7
done

expect "awk" "$(seq 100000 | awk '{ a[$1] = $1 "x" } END { n = 0; for (k in a) ++n; print n }')" \
  100000
expect "xargs" "$(seq 300 | xargs -n 3 echo | wc -l | tr -d ' ')" 100
echo "shells: all as expected"
