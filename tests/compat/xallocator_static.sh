#!/bin/sh
# xallocator_static: the static pools of compat/xallocator_static.c refer to nothing but what a
# compiler may always call, and two weak functions of a program; the headers of compat/ need no
# other folder.
#
#   xallocator_static.sh PROJECT_FOLDER      (CC and CXX name the compilers)
#
# SPDX-License-Identifier: MIT
set -eu

folder=$1/include/tarn/compat
: "${CC:=cc}" "${CXX:=c++}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wconversion -Wundef -Werror -pedantic"

for how in "" -DXALLOCATOR_LOCK_FREE -DXALLOCATOR_SPILL=1; do
  # shellcheck disable=SC2086
  $CC -std=c11 $warnings -ffreestanding -O2 $how -c "$folder/xallocator_static.c" -o "$work/c.o"
  # shellcheck disable=SC2086
  $CXX -std=c++17 -x c++ $warnings -ffreestanding -fno-exceptions -O2 $how \
    -c "$folder/xallocator_static.c" -o "$work/cpp.o"
  for object in c cpp; do
    open=$(nm --undefined-only "$work/$object.o" | awk '{ print $2 }' |
      grep -vxE 'mem(cpy|set|move)|_GLOBAL_OFFSET_TABLE_|tarn_static_misuse|write' || true)
    [ -z "$open" ] || { echo "xallocator_static: $object.o refers to $open" >&2; exit 1; }
  done
done

for names in "" -DXALLOCATOR_NO_LOCK_NAMES -DXALLOCATOR_OWN_LOCK; do
  for pools in "" -DSTATIC_POOLS; do
    # shellcheck disable=SC2086
    $CC -std=c11 $warnings $names $pools -I "$folder" -include xallocator.h -fsyntax-only \
      -x c /dev/null
  done
done
# shellcheck disable=SC2086
for standard in c++11 c++17 c++20; do
  for header in xallocator.h Allocator.h; do
    $CXX -std=$standard $warnings -I "$folder" -include "$header" -fsyntax-only -x c++ /dev/null
  done
  $CXX -std=$standard $warnings -fno-exceptions -fno-rtti -I "$folder" -include xallocator.h \
    -include Allocator.h -fsyntax-only -x c++ /dev/null
done
# A wrong free of a program with a C library: a line, and SIGABRT.
cat >"$work/twice.c" <<'END'
#include "xallocator.h"
int main(void) {
  void* const p = xmalloc(100);
  xfree(p);
  xfree(p);
  return 0;
}
END
for how in "" -DXALLOCATOR_NO_LOCK; do
  # shellcheck disable=SC2086
  $CC -std=c11 $warnings $how -DSTATIC_POOLS -I "$folder" "$work/twice.c" \
    "$folder/xallocator_static.c" -o "$work/twice"
  status=0
  (ulimit -c 0; exec "$work/twice") 2>"$work/said" || status=$?
  if [ "$status" != 134 ] || ! grep -q '^tarn: double free: deallocate(0x' "$work/said"; then
    echo "xallocator_static: a double free ends with $status: $(cat "$work/said")" >&2
    exit 1
  fi
done
echo "xallocator_static: nothing but $(nm --undefined-only "$work/c.o" | wc -l) names is open"
