#!/usr/bin/env bash
# bare: tarn::bare, the pools and arenas without an OS: what its archive refers to, and an image
# with its files on a Cortex-M3 under QEMU.
#
#   bare.sh PROJECT_FOLDER libtarn_bare.a FILE...     the files that the archive is made of
#
# SPDX-License-Identifier: MIT
set -euo pipefail

root=$1 archive=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "bare.sh: $*" >&2
  exit 1
}

# Nothing is left open but what a compiler may always call, and what a program may define.
ld -r --whole-archive "$archive" -o "$folder/all.o"
open=$(nm --undefined-only "$folder/all.o" | awk '$1 == "U" { print $2 }' |
  grep -vxE 'mem(cpy|set|move|cmp)|_GLOBAL_OFFSET_TABLE_' || true)
[ -z "$open" ] || fail "the archive refers to $open"

common=(-mcpu=cortex-m3 -mthumb -O2 -ffreestanding -ffunction-sections -fdata-sections
  -Wall -Wextra -Wconversion -Werror "-I$root/include")
board=$root/tests/static_pools/cortex_m
for file in "$@"; do
  arm-none-eabi-g++ -std=c++20 -fno-exceptions -fno-rtti "${common[@]}" "-I$root/src" \
    -c "$root/src/$file" -o "$folder/${file//\//_}.o"
done
arm-none-eabi-gcc -std=c11 "${common[@]}" -c "$board/board.c" -o "$folder/board.o"
arm-none-eabi-g++ -std=c++17 -fno-exceptions -fno-rtti "${common[@]}" "-I$board" \
  -c "$root/tests/pools/bare.cpp" -o "$folder/bare.o"
rm "$folder/all.o"
arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -nostartfiles -Wl,--gc-sections \
  -Wl,--defsym=RAM_BYTES=12288 "-Wl,-T,$board/link.ld" "-Wl,-Map=$folder/map" \
  "$folder"/*.o -o "$folder/image"
arm-none-eabi-size "$folder/image"
! arm-none-eabi-nm "$folder/image" | grep -iE ' _?(m|c|re)alloc|sbrk|_Zn[wa]' ||
  fail "the image holds the above"

status=0
timeout 100 qemu-system-arm -M lm3s6965evb -display none -monitor none -serial null \
  -semihosting-config enable=on,target=native -kernel "$folder/image" >"$folder/out" 2>&1 \
  </dev/null || status=$?
cat "$folder/out"
[ "$status" = 7 ] || fail "the image ended with status $status, not by its report"
grep -qx 'passed' "$folder/out" || fail "the image did not come to its end"
grep -q '^tarn: double free: .*the pool "readings"$' "$folder/out" || fail "no report"
