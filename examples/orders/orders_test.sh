#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# orders_test: what the books say of three customers, and of a line that is none.
set -euo pipefail
orders=$1
out=$(printf 'ann bread 2.50\nbob milk 1.20\n\nann cheese 10.00\ncarl-with-a-long-name tea 3.05\n' |
  "$orders")
expected='ann             12.50
bob              1.20
carl-with-a-long-name     3.05
4 orders, the last of 3.05'
[ "$(head -n 4 <<<"$out")" = "$expected" ] || { echo "it said: $out" >&2; exit 1; }
# Three customers, their three nodes in the map, and the names that are too long for a string.
grep -q '^8 blocks in the heap of customers, none of the day$' <<<"$out"
if printf 'ann bread\n' | "$orders" 2>err.$$; then exit 1; fi
grep -q 'orders: line 1: write CUSTOMER ITEM PRICE, not: ann bread' err.$$
rm -f err.$$
