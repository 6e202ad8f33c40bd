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

run() {  # run MEMORY NAME: what it did must be what was done before.
  "$lists" --iterations 20000 --checksum --memory "$1" --json "$folder/$2.json" >/dev/null
  [ "$(field memory "$folder/$2.json")" = "$1" ] || fail "$2: ran on another memory"
  [ "${checksum:=$(field checksum "$folder/$2.json")}" = "$(field checksum "$folder/$2.json")" ] ||
    fail "$2: other strings"
  [ "${left:=$(field strings_left "$folder/$2.json")}" = \
    "$(field strings_left "$folder/$2.json")" ] || fail "$2: another number of strings"
}

left_overs() {
  find /sys/fs/cgroup -maxdepth 4 -type d -name 'tarn-lists-*' 2>/dev/null || true
  find "$folder" -name 'tarn-lists-*.swap'
  grep tarn-lists /proc/swaps || true
}

checksum= left=
case $case_name in
  same_work)  # From every memory the same strings, and the preloaded malloc was really used.
    for memory in malloc heap smartheap bump; do
      run "$memory" "$memory"
    done
    "$lists" --iterations 20000 --checksum --seed 7 --json "$folder/seed.json" >/dev/null
    [ "$(field checksum "$folder/seed.json")" != "$checksum" ] || fail "the checksum of any list"
    [ -n "$library" ] || exit 0
    for memory in malloc heap; do
      LD_PRELOAD=$library run "$memory" "$memory.preloaded"
      case $(field malloc "$folder/$memory.preloaded.json") in
        libtarn*) ;;
        *) fail "LD_PRELOAD ran on $(field malloc "$folder/$memory.preloaded.json")" ;;
      esac
    done
    ;;
  quoted)  # docs/heaps.md shows the two memories as they are.
    source=$(dirname "$0")
    for memory in malloc heap; do
      python3 - "$source/${memory}_memory.hpp" "$source/../../docs/heaps.md" <<'CHECK' ||
import re, sys
code, page = (open(name).read() for name in sys.argv[1:])
sys.exit(re.search(r"^class .*?^};$", code, re.M | re.S).group(0) not in page)
CHECK
        fail "docs/heaps.md does not quote ${memory}_memory.hpp as it is; copy the class into it"
    done
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
      '--memory-limit 9999999999G' '--memory-limit some' '--memory pool' '--memory' \
      '--checksum=all' 'more' '--unknown'; do
      status=0
      # shellcheck disable=SC2086
      "$lists" $words >/dev/null 2>"$folder/err" || status=$?
      [ $status -eq 2 ] || fail "$words: status $status"
      grep -Eq 'give|--help' "$folder/err" || fail "$words: $(cat "$folder/err")"
    done
    ;;
  limit)  # Limited runs swap, do the same work, and leave nothing behind. 3: cannot be done here.
    for memory in malloc heap bump; do
      "$lists" --iterations 100000 --checksum --memory "$memory" --memory-limit half \
        --swap-dir "$folder" --json "$folder/$memory.json"
      limit=$(field memory_limit_bytes "$folder/$memory.json")
      [ "$limit" -gt 8000000 ] || fail "$memory: a limit of $limit bytes"
      [ "$(field peak_rss_bytes "$folder/$memory.json")" -le $((limit + 4194304)) ] ||
        fail "$memory: the limit did not hold"
      [ "$(field faults_major "$folder/$memory.json")" -gt 100 ] || fail "$memory: did not swap"
      [ -z "$(left_overs)" ] || fail "$memory: left behind: $(left_overs)"
      "$lists" --iterations 100000 --checksum --memory "$memory" --json "$folder/free.json"
      [ "$(field checksum "$folder/free.json")" = "$(field checksum "$folder/$memory.json")" ] ||
        fail "$memory: other strings under a limit"
    done
    ;;
  near_limit)  # Under a limit near the size of the data the kernel must not give up.
    "$lists" --json "$folder/free.json"
    peak=$(field peak_rss_bytes "$folder/free.json")
    "$lists" --memory-limit $((peak / 100 * 88)) --swap-dir "$folder" \
      --json "$folder/limited.json" 2>"$folder/err"
    # Version 2 cannot stop the child, so that it may be started again there.
    [ ! -e /sys/fs/cgroup/memory/memory.oom_control ] || [ ! -s "$folder/err" ] ||
      fail "$(cat "$folder/err")"
    [ "$(field strings_left "$folder/free.json")" = \
      "$(field strings_left "$folder/limited.json")" ] || fail "other work under a limit"
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
