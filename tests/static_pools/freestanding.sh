#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# freestanding: builds freestanding.cpp without any library, and looks at what it refers to and at
# where its pools lie; or compiles declarations of which each must be refused.
#
#   freestanding.sh symbols|refused PROJECT_FOLDER COMPILER...
set -euo pipefail

case_name=$1
root=$2
here=$root/tests/static_pools
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "freestanding.sh: $*" >&2
  exit 1
}

look_at_symbols() {
  local compiler=$1 level=$2
  "$compiler" -std=c++17 "$level" -ffreestanding -fno-exceptions -fno-rtti -Wall -Wextra \
    -Wconversion -Werror -fno-stack-protector "-I$root/include" -c "$here/freestanding.cpp" \
    -o "$folder/program.o"
  "$compiler" -nostdlib -static -Wl,-e,entry "$folder/program.o" -o "$folder/program" ||
    fail "$compiler $level: it does not link without libraries"
  local foreign
  foreign=$(nm --undefined-only "$folder/program.o" | awk '{print $NF}' |
    grep -vE '^(tarn_static_misuse|memcpy|memset|memmove|_GLOBAL_OFFSET_TABLE_)$' || true)
  [ -z "$foreign" ] || fail "$compiler $level: it needs $foreign"
  local name kind
  for name in $(grep -o 'bss_\w*' "$here/freestanding.cpp" | sort -u); do
    kind=$(nm "$folder/program.o" | awk -v name="$name" '$NF == name {print $2}')
    [ "$kind" = B ] || fail "$compiler $level: $name lies in '$kind', not in .bss"
  done
  ! readelf --sections --wide "$folder/program.o" | grep -qE '\.(init_array|ctors)' ||
    fail "$compiler $level: it has code that runs before main"
}

# A declaration, and a part of the message.
refuse() {
  local compiler=$1 declaration=$2 message=$3
  ! "$compiler" -std=c++17 -fsyntax-only "-I$root/include" -x c++ - 2>"$folder/errors" \
    <<<"#include \"tarn/pool/static_heap.hpp\"
#include \"tarn/heap/tlsf.h\"
#include \"tarn/heap/tlsf.hpp\"
#include \"tarn/pool/static_pool.h\"
using namespace tarn;
$declaration" || fail "$compiler: it compiles: $declaration"
  grep -q "$message" "$folder/errors" ||
    fail "$compiler: $declaration: $(head -n 20 "$folder/errors")"
}

for compiler in "${@:3}"; do
  case $case_name in
    symbols)
      for level in -O0 -O2 -Os; do look_at_symbols "$compiler" "$level"; done
      ;;
    refused)
      refuse "$compiler" 'StaticPool<0, 4, 1> pool;' 'at least 1 byte'
      refuse "$compiler" 'StaticPool<16, 0> pool;' 'at least 1 block'
      refuse "$compiler" 'StaticPool<16, 4, 24> pool;' 'an alignment is a power of two'
      refuse "$compiler" 'StaticPool<SIZE_MAX / 8 + 1, 5, 1> pool;' 'must fit into the address'
      refuse "$compiler" 'StaticPool<SIZE_MAX, 1, 64> pool;' 'must fit into the address space'
      refuse "$compiler" 'StaticHeap<Class<64, 4>, Class<16, 2>> heap;' 'ascend by their bytes'
      refuse "$compiler" 'StaticHeap<Class<16, 4>, Class<16, 2>> heap;' 'ascend by their bytes'
      refuse "$compiler" 'TARN_STATIC_POOL(pool, 16, 0)' 'at least 1 byte'
      refuse "$compiler" 'TARN_STATIC_POOL(pool, SIZE_MAX / 8 + 1, 5)' 'must fit into the address'
      refuse "$compiler" '#define SIZES(X) X(64, 2) X(16, 4)
TARN_STATIC_HEAP(heap, SIZES)' 'ascend by their bytes'
      refuse "$compiler" 'StaticTlsfHeap<63> heap;' '8 words at least'
      refuse "$compiler" 'StaticTlsfHeap<100, LockFree> heap;' 'no way without a lock'
      refuse "$compiler" 'BasicTlsfHeap<SIZE_MAX, NoLock, 0> heap;' 'TARN_TLSF_BYTES_MAX at most'
      refuse "$compiler" 'TARN_STATIC_TLSF(heap, 63)' '8 words at least'
      ;;
    *) fail "no case $case_name" ;;
  esac
done
