#!/bin/sh
# parts: a static program has only the parts of the library that it uses: the search for unreachable
# blocks, with all that stops the other threads for it, is linked into those that call it.
#
# Usage: parts.sh LIBTARN_A INCLUDE. CC says which compiler.
#
# SPDX-License-Identifier: MIT
set -eu

archive=$1 include=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "parts: $*" >&2
  exit 1
}

# members NAME TEXT: the archive's members in a program of that text.
members() {
  printf '%s\n' '#include <tarn/tarn.h>' '#include <stdlib.h>' "$2" > "$work/$1.c"
  "${CC:-cc}" -I"$include" "$work/$1.c" "$archive" -pthread -Wl,-Map,"$work/$1.map" -o "$work/$1"
  "$work/$1" > "$work/$1.said" 2>&1 || fail "$1 fails: $(cat "$work/$1.said")"
  sed -n 's/^[^ ]*libtarn\.a(\([^)]*\)).*/\1/p' "$work/$1.map" | sort -u
}

plain='int main(void) {
  tarn_heap heap = tarn_heap_create(NULL);
  void* in_heap = tarn_heap_allocate(heap, 100);
  free(malloc(100));
  tarn_free(tarn_malloc(200000));
  tarn_free(in_heap);
  tarn_heap_destroy(heap);
  return 0;
}'
search='int main(void) {
  free(malloc(100));
  return tarn_find_unreachable(NULL, NULL, NULL, NULL);
}'

members plain "$plain" > "$work/of_plain"
members search "$search" > "$work/of_search"

grep -q '^malloc\.cpp' "$work/of_plain" || fail "the map of the linker says nothing of $archive"
for part in block_index mark nodes roots search unreachable standstill registers; do
  grep -q "^$part\.cpp" "$work/of_search" || fail "$part is in no program that searches"
  ! grep "^$part\.cpp" "$work/of_plain" || fail "a program that does not search has it"
done
echo "parts: the search is in the program that calls it, and not in the other"
