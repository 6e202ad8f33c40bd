#!/bin/bash
# watched_test: what a tool says of wrong and of right uses of blocks of header-only pools and
# heaps, in programs that were compiled for it.
#
#   watched_test.sh FOLDER-OF-PROGRAMS asan|memcheck crimes|innocent|innocent_unoptimised
#
# SPDX-License-Identifier: MIT
set -u
folder=$1 tool=$2 case=$3
faults=0
run=()
[ "$tool" = memcheck ] && run=(valgrind --quiet --error-exitcode=99)

if [ "$case" != crimes ]; then
  [ "$tool" = memcheck ] && run+=(--leak-check=full)
  for plain in 0 1; do
    # Once without the tool, where memcheck's requests do nothing.
    [ "$plain" = 1 ] && run=()
    if ! report=$("${run[@]}" "$folder/watched_${case}_$tool" 2>&1) || [ -n "$report" ]; then
      printf '%s:\n%s\n' "$tool" "$report"
      faults=$((faults + 1))
    fi
  done
  [ "$faults" = 0 ] && echo "watched: ok"
  exit "$faults"
fi

# learn KIND CRIME...: commits the crimes, each in a process of its own.
learn() {
  kind=$1
  if ! reports=$("${run[@]}" "$folder/watched_crimes_$tool" "$@" 2>&1); then
    printf '%s, %s: the program failed:\n%s\n' "$tool" "$kind" "$reports"
    faults=$((faults + 1))
  fi
}

# found CRIME PATTERN...: each pattern is in its report, and it did not end well.
found() {
  local crime=$1 report pattern
  shift
  report=$(awk -v begin="--- begin $crime" \
    '/^--- end / { p = 0 } p { print } $0 == begin { p = 1 }' <<<"$reports")
  if ! grep -qF -- "--- end $crime: badly" <<<"$reports"; then
    echo "$tool, $kind, $crime: nothing was found"
    faults=$((faults + 1))
  fi
  for pattern in "$@"; do
    if ! grep -qE -- "$pattern" <<<"$report"; then
      printf '%s, %s, %s: no "%s" in:\n%s\n' "$tool" "$kind" "$crime" "$pattern" "$report"
      faults=$((faults + 1))
    fi
  done
}

kinds="static_pool locked_pool lock_free_pool static_heap array_pool exact_pool frames inside_heap
  region c_static_pool c_lock_free_pool c_static_heap c_frames c_tlsf"
for kind in $kinds; do
  crimes=(use-after-free use-in-the-middle double-free overrun neighbour)
  [ "$tool" = memcheck ] && crimes+=(uninitialised)
  # Nobody knows of a lock-free pool's blocks before they were freed once.
  [[ $kind = *lock_free* ]] || crimes+=(fresh)
  learn "$kind" "${crimes[@]}"
  if [ "$tool" = asan ]; then
    wrong='AddressSanitizer: use-after-poison'
    place="global variable '$kind'" # Of the pool, or of its blocks.
    found use-after-free "$wrong" 'WRITE of size 1' ' in use_after_free ' "$place"
    found use-in-the-middle "$wrong" 'READ of size 1' ' in use_in_the_middle ' "$place"
    found double-free 'tarn: double free' "$place" ' in free_twice '
  else
    wrong='Invalid write of size 1'
    freed='inside a block of size (20|24|32) free.d'
    found use-after-free "$wrong" ': use_after_free ' " 0 bytes $freed"
    found use-in-the-middle 'Invalid read of size 1' 'use_in_the_middle' " 13 bytes $freed"
    found double-free 'tarn: double free' ': free_twice ' " 0 bytes $freed"
    found uninitialised 'depends on uninitialised value' ': uninitialised '
    place="data symbol \".*$kind"
  fi
  found overrun "$wrong" '\boverrun '
  found neighbour "$wrong" '\bneighbour '
  [[ $kind = *lock_free* ]] || found fresh "$wrong" '\bfresh ' "$place"
done
if [ "$tool" = memcheck ]; then
  learn c_static_pool named
  found named 'Address .* is 1 bytes inside a pool of orders of size 24' \
    'Address .* is 2 bytes inside a block of size 20 free.d'
fi
[ "$faults" = 0 ] && echo "watched: ok"
exit "$faults"
