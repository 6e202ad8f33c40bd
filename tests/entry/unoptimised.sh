#!/bin/sh
# unoptimised: what the standard library's headers make visible stays in libtarn.so when nothing is
# inlined: a program that has the same function must not stand in for it below malloc.
#
# Usage: unoptimised.sh TARN_MAP          (CXX: the compiler)
#
# SPDX-License-Identifier: MIT
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/part.cpp" << 'END'
#include <algorithm>
#include <array>
#include <atomic>
#include <new>

struct Part {
  std::array<int, 8> numbers{};
  std::atomic<int> count{0};
};
extern "C" int tarn_part(void* memory, Part* other) {
  Part* const part = new (memory) Part;
  std::sort(other->numbers.begin(), other->numbers.end(), [](int a, int b) { return b < a; });
  std::copy_backward(other->numbers.begin(), other->numbers.end(), part->numbers.end());
  int* const more = new (other) int[2];
  return part->count.fetch_add(part->numbers.at(1)) + (more != nullptr);
}
END
"${CXX:-c++}" -std=c++17 -O0 -fPIC -fvisibility=hidden -c "$work/part.cpp" -o "$work/part.o"
"${CXX:-c++}" -shared "$work/part.o" -Wl,--version-script="$1" -o "$work/libpart.so"
seen=$(nm "$work/part.o" | grep -c ' [WV] ') || true
[ "$seen" -gt 10 ] || { echo "unoptimised: the compiler inlined what this test needs" >&2; exit 1; }
# But for the versions and the linker's _init and _fini.
shown=$(nm -D --defined-only "$work/libpart.so" | awk '$2 != "A" { print $3 }' |
  grep -vE '^(tarn_|_init$|_fini$)') || true
[ -z "$shown" ] || { printf 'unoptimised: exported:\n%s\n' "$shown" >&2; exit 1; }
