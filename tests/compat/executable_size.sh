#!/bin/bash
# SPDX-License-Identifier: MIT
# executable_size: pools of 80 MB lie in .bss, not in the executable.
#
#   executable_size.sh PROJECT LIBRARY_FOLDER      (CC, CXX)
set -euo pipefail

project=$1 libraries=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

expect_small() {
  local bytes
  bytes=$(stat --format=%s "$1")
  ((bytes < 100000)) || { echo "executable_size: $1 has $bytes bytes" >&2; exit 1; }
  ./"$1"
}

cat > pool.cpp <<'END'
#include "Allocator.h"
static AllocatorPool<char[8192], 10000> pool("large");
static AllocatorPool<char[8192], 10000> unnamed;
int main() {
  return pool.Allocate(8192) != nullptr && unnamed.Allocate(1) != nullptr ? 0 : 1;
}
END
for level in -O0 -O2; do
  ${CXX:-c++} -std=c++17 $level -I "$project/include/tarn/compat" pool.cpp -o pool \
    -L "$libraries" -Wl,-rpath,"$libraries" -ltarn
  expect_small pool
done

cat > static.c <<'END'
#include "xallocator.h"
int main(void) { return xmalloc(4096) != NULL ? 0 : 1; }
END
${CC:-cc} -std=c11 -O2 -DSTATIC_POOLS -DMAX_BLOCKS=10000 -I "$project/include/tarn/compat" \
  static.c "$project/include/tarn/compat/xallocator_static.c" -o static
expect_small static
