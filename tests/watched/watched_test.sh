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

# commit KIND CRIME PATTERN...: each pattern is in the report, and the program did not end well.
commit() {
  local kind=$1 crime=$2 report status
  shift 2
  report=$("${run[@]}" "$folder/watched_crimes_$tool" "$kind" "$crime" 2>&1)
  status=$?
  if [ "$status" = 0 ] || [ "$status" = 2 ]; then
    echo "$tool, $kind, $crime: nothing was found"
    faults=$((faults + 1))
  fi
  local pattern
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
  if [ "$tool" = asan ]; then
    wrong='AddressSanitizer: use-after-poison'
    place="global variable '$kind'" # Of the pool, or of its blocks.
    commit "$kind" use-after-free "$wrong" 'WRITE of size 1' ' in use_after_free ' "$place"
    commit "$kind" use-in-the-middle "$wrong" 'READ of size 1' ' in use_in_the_middle ' "$place"
    commit "$kind" double-free 'tarn: double free' "$place" ' in free_twice '
  else
    wrong='Invalid write of size 1'
    freed='inside a block of size (20|24|32) free.d'
    commit "$kind" use-after-free "$wrong" ': use_after_free ' " 0 bytes $freed"
    commit "$kind" use-in-the-middle 'Invalid read of size 1' 'use_in_the_middle' " 13 bytes $freed"
    commit "$kind" double-free 'tarn: double free' ': free_twice ' " 0 bytes $freed"
    commit "$kind" uninitialised 'depends on uninitialised value' ': uninitialised '
    place="data symbol \".*$kind"
  fi
  commit "$kind" overrun "$wrong" '\boverrun '
  commit "$kind" neighbour "$wrong" '\bneighbour '
  # Nobody knows of a lock-free pool's blocks before they were freed once.
  [[ $kind = *lock_free* ]] || commit "$kind" fresh "$wrong" '\bfresh ' "$place"
done
if [ "$tool" = memcheck ]; then
  commit c_static_pool named 'Address .* is 1 bytes inside a pool of orders of size 24' \
    'Address .* is 2 bytes inside a block of size 20 free.d'
fi
[ "$faults" = 0 ] && echo "watched: ok"
exit "$faults"
