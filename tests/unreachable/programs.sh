#!/bin/sh
# programs: searches in real programs on LD_PRELOAD=libtarn.so, made by a thread of the seeker's
# (seeker.c), which frees all that is found but for what it has lost itself. The programs go on
# undisturbed, and each search finds what was lost.
#
# Usage: programs.sh LIBTARN_SO SEEKER_SO python|redis|git. Exit status 77: the program is not here.
#
# SPDX-License-Identifier: MIT
set -eu

preload="$1 $2"
case_name=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/tarn-seeker-XXXXXX")
server=
trap 'clean_up' EXIT
trap 'exit 1' INT TERM

clean_up() {
  [ -z "$server" ] || kill "$server" 2> "$work/kill" || true
  rm -rf "$work"
}

fail() {
  echo "$case_name: $*" >&2
  exit 1
}

needs() {
  for command in "$@"; do
    command -v "$command" > "$work/which" || exit 77
  done
}

# Runs a command with the seeker in it.
sought() {
  env LD_PRELOAD="$preload" TARN_SEEKER_FILE="$work/searches" "$@"
}

# At least $1 searches, each of which found what was lost; $2 blocks were live once; in not more
# than $3 of 100 a thread was missed, and nothing freed.
check_searches() {
  awk -v least="$1" -v live_least="$2" -v missed_most="$3" '
    $1 != "found" || $2 != 1 { print "not found: " $0; wrong = 1 }
    { if ($8 > live) live = $8; others += $4; missed += $12 > 0; if ($14 > pause) pause = $14 }
    END {
      printf "%d searches, %d blocks live, %d others, %d missed threads, longest pause %d us\n",
             NR, live, others, missed, pause / 1000
      exit wrong || NR < least || live < live_least || missed * 100 > NR * missed_most
    }' "$work/searches" || fail "searches: $(head -n 5 "$work/searches")"
}

run_python() {
  needs /usr/bin/python3
  sought PYTHONMALLOC=malloc /usr/bin/python3 "$here/objects.py" 4000 > "$work/out" 2>&1 ||
    fail "$(cat "$work/out")"
  check_searches 3 100000 50
}

run_redis() {
  needs redis-server redis-cli redis-benchmark
  . "$here/../programs/redis_server.sh"
  start_server LD_PRELOAD="$preload" TARN_SEEKER_FILE="$work/searches"
  ask eval 'for i = 1, 5000 do redis.call("set", "k" .. i, string.rep("v", i % 500)) end' 0 \
    > "$work/filled"
  redis-benchmark -s "$work/socket" -q -P 16 -n 4000 -r 500 -d 100 \
    -t set,lpush,lpop,sadd,hset,zadd > "$work/benchmark" 2>&1 ||
    fail "redis-benchmark: $(tail -n 3 "$work/benchmark")"
  [ "$(ask get k499 | tr -d '\n' | wc -c)" = 499 ] || fail "k499 is not what was set"
  digest=$(ask debug digest 2> "$work/digest" || true)
  ask save > "$work/saved"
  [ "$(ask debug digest 2> "$work/digest" || true)" = "$digest" ] || fail "the keys have changed"
  ask shutdown nosave > "$work/shutdown" 2>&1 || true
  status=0
  wait "$server" || status=$?
  server=
  [ "$status" = 0 ] || fail "the server's exit status: $status"
  check_searches 3 5000 100  # Its jemalloc, idle there, has a thread that blocks all signals.
}

run_git() {
  needs git
  export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
  export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
  git init -q "$work/r"
  cd "$work/r"
  i=0
  while [ "$i" -lt 400 ]; do
    { seq "$i" $((i + 400)); cat "$here/objects.py"; } > "file$i"
    i=$((i + 1))
  done
  git add .
  git commit -q -m one
  for f in file1*; do tr 1 2 < "$f" > t && mv t "$f"; done
  git commit -q -a -m two
  sought git repack -q -a -d -f --threads=2 --window=200 --depth=50 > "$work/out" 2>&1 ||
    fail "$(cat "$work/out")"
  sought git fsck --full > "$work/out" 2>&1 || fail "$(cat "$work/out")"
  [ "$(git rev-list --objects --all | wc -l)" -gt 500 ] || fail "objects are gone"
  check_searches 3 100 50
}

"run_$case_name"
