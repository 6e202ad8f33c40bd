#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lists_test: one case of the tests of the exerciser.
#
#   lists_test.sh CASE LISTS [LIBRARY TO PRELOAD]
set -euo pipefail

case_name=$1
lists=$2
library=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "lists_test: $*" >&2
  exit 1
}

field() {  # field NAME FILE: a number out of the JSON
  python3 -c 'import json,sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"
}

left_overs() {
  find /sys/fs/cgroup -maxdepth 4 -type d -name 'tarn-lists-*' 2>/dev/null || true
  find "$folder" -name 'tarn-lists-*.swap'
  grep tarn-lists /proc/swaps || true
}

case $case_name in
  same_work)  # Both mallocs end with the same strings, and the preloaded one was really used.
    "$lists" --iterations 20000 --json "$folder/system.json" >/dev/null
    [ -n "$library" ] || exit 3
    LD_PRELOAD=$library "$lists" --iterations 20000 --json "$folder/tarn.json" >/dev/null
    left=$(field strings_left "$folder/system.json")
    [ "$left" = "$(field strings_left "$folder/tarn.json")" ] ||
      fail "the two runs did not do the same work"
    case $(field malloc "$folder/tarn.json") in
      libtarn*) ;;
      *) fail "LD_PRELOAD ran on $(field malloc "$folder/tarn.json")" ;;
    esac
    ;;
  json)  # 5 lists x 20000 operations, 80 % up and 20 % down: close to 60000 strings remain.
    "$lists" --iterations 20000 --seed 7 --json "$folder/a.json" | grep -q 'Overall application' ||
      fail "no table"
    left=$(field strings_left "$folder/a.json")
    [ "$left" -gt 58000 ] && [ "$left" -lt 62000 ] || fail "$left strings remain"
    [ "$(field seed "$folder/a.json")" = 7 ] || fail "seed not recorded"
    [ "$(field peak_rss_bytes "$folder/a.json")" -gt 3000000 ] || fail "peak RSS not recorded"
    ! "$lists" --iterations 10 --json "$folder/no/such" >/dev/null 2>"$folder/err" ||
      fail "wrote into a folder that is not there"
    grep -q 'writable folder' "$folder/err" || fail "$(cat "$folder/err")"
    ;;
  bad_options)  # Each is refused with status 2 and a word on what to give.
    for words in '--iterations 0' '--iterations x' '--seed -1' '--memory-limit 1M' \
      '--memory-limit 9999999999G' '--memory-limit some' 'more' '--unknown'; do
      status=0
      # shellcheck disable=SC2086
      "$lists" $words >/dev/null 2>"$folder/err" || status=$?
      [ $status -eq 2 ] || fail "$words: status $status"
      grep -Eq 'give|--help' "$folder/err" || fail "$words: $(cat "$folder/err")"
    done
    ;;
  limit)  # The limited run swaps, ends well, and leaves nothing behind. 3: cannot be done here.
    "$lists" --iterations 100000 --memory-limit half --swap-dir "$folder" --json "$folder/a.json"
    limit=$(field memory_limit_bytes "$folder/a.json")
    [ "$limit" -gt 8000000 ] || fail "a limit of $limit bytes"
    [ "$(field peak_rss_bytes "$folder/a.json")" -le $((limit + 4194304)) ] ||
      fail "the limit did not hold"
    [ "$(field faults_major "$folder/a.json")" -gt 100 ] || fail "nothing was swapped"
    [ -z "$(left_overs)" ] || fail "left behind: $(left_overs)"
    ;;
  cleanup)  # Interrupted in the middle, it still leaves nothing behind, and dies of the signal.
    "$lists" --iterations 100 --memory-limit 16M --swap-dir "$folder" >/dev/null
    "$lists" --iterations 30000000 --memory-limit 64M --swap-dir "$folder" >/dev/null &
    runner=$!
    for _ in $(seq 100); do
      [ -z "$(left_overs)" ] || break
      sleep 0.1
    done
    [ -n "$(left_overs)" ] || fail "it did not set up anything"
    sleep 0.5
    kill -TERM $runner
    status=0
    wait $runner || status=$?
    [ $status -eq 143 ] || fail "status $status, expected 143"
    [ -z "$(left_overs)" ] || fail "left behind: $(left_overs)"
    ;;
  *) fail "no case $case_name" ;;
esac
