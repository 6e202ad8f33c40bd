#!/bin/bash
# words_test: both programs count the words of a text as sort and uniq do.
#
#   words_test.sh TEXT PROGRAM...
#
# SPDX-License-Identifier: MIT
set -euo pipefail
export LC_ALL=C
text=$1
shift
expected=$(tr 'A-Z' 'a-z' <"$text" | grep -oE '[a-z]+' | sort | uniq -c |
  sort -k1,1nr -k2,2 | awk 'NR <= 10 { printf "%6u %s\n", $1, $2 }')  # Reads all: no SIGPIPE.
[ "$(wc -l <<<"$expected")" = 10 ]
for program in "$@"; do
  printed=$("$program" <"$text")
  if [ "$(head -10 <<<"$printed")" != "$expected" ]; then
    printf '%s printed\n%s\ninstead of\n%s\n' "$program" "$printed" "$expected"
    exit 1
  fi
done
long=$(printf 'x%.0s' {1..5000})
for program in "$@"; do
  [ "$("$program" <<<"$long" | awk 'NR == 1')" = "     1 $long" ]
  [ "$("$program" </dev/null)" = '0 words, 0 bytes of strings' ]
done
