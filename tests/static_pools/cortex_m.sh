#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cortex_m: builds an image of cortex_m/ with the cross compiler, asks its link map for anything of
# a heap, and runs it under QEMU.
#
#   cortex_m.sh CASE PROJECT_FOLDER
#
# CASE: lock_free, masked, cortex_m0, budget, no_swap; unprotected, which must fail: it shows that
# the others can; steps and steps_m0, which count the instructions of an operation; tlsf and
# tlsf_m0, which try TLSF heaps and count theirs.
set -euo pipefail

case_name=$1
root=$2
here=$root/tests/static_pools/cortex_m
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

processor=cortex-m3 machine=lm3s6965evb shift=3 bound=40 ram=8192 lock=tarn::LockFree
sources=("$here/image.cpp" "$here/c_pools.c")
case $case_name in
  masked) lock=CriticalSection ;;
  unprotected) lock=tarn::NoLock ;;
  cortex_m0) lock=CriticalSection processor=cortex-m0 machine=microbit shift=0 ;;
  steps) ram=16384 sources=("$here/steps.cpp") ;;
  steps_m0) ram=16384 sources=("$here/steps.cpp") processor=cortex-m0 machine=microbit shift=0
    bound=60 ;;
  tlsf) ram=16384 bound=270 sources=("$here/tlsf.cpp") ;;
  tlsf_m0) ram=16384 sources=("$here/tlsf.cpp") processor=cortex-m0 machine=microbit shift=0
    bound=480 ;;
  budget) ram=2000 sources=("$here/budget.cpp") ;;
esac

fail() {
  echo "cortex_m.sh: $*" >&2
  exit 1
}

common=("-mcpu=$processor" -mthumb -O2 -ffreestanding -ffunction-sections -fdata-sections
  -Wall -Wextra -Wconversion -Werror "-I$root/include")
compile() {
  local object=$folder/$(basename "$1").o
  case $1 in
    *.c) arm-none-eabi-gcc -std=c11 "${common[@]}" -c "$1" -o "$object" ;;
    *) arm-none-eabi-g++ -std=c++17 -fno-exceptions -fno-rtti "${common[@]}" "${@:2}" -c "$1" \
      -o "$object" ;;
  esac
}

if [ "$case_name" = no_swap ]; then
  echo '#include "tarn/pool/static_pool.hpp"
tarn::StaticPool<16, 8, 8, tarn::LockFree> pool;' >"$folder/no_swap.cpp"
  common[0]=-mcpu=cortex-m0
  compile "$folder/no_swap.cpp" 2>"$folder/errors" && fail "LockFree compiles for Cortex-M0"
  grep -q 'give the pool a lock that masks interrupts' "$folder/errors" ||
    fail "another error: $(head -n 20 "$folder/errors")"
  exit 0
fi

for source in "$here/board.c" "${sources[@]}"; do
  compile "$source" "-DTARN_TEST_LOCK=$lock"
done
# With the C and the C++ library at hand: nothing may be taken out of them that allocates.
arm-none-eabi-g++ "-mcpu=$processor" -mthumb -nostartfiles -Wl,--gc-sections \
  "-Wl,--defsym=RAM_BYTES=$ram" "-Wl,-T,$here/link.ld" "-Wl,-Map=$folder/map" \
  "$folder"/*.o -o "$folder/image"
arm-none-eabi-size "$folder/image"
grep -q 'bss_end = ' "$folder/map" || fail "no link map"
! grep -nE '\b(_?(m|c|re)alloc(_r)?|_?free(_r)?|_?sbrk(_r)?|_Zn[wa][jm]|_Zd[la]Pv\w*)\b' \
  "$folder/map" || fail "the link map names the above"
! arm-none-eabi-nm "$folder/image" | grep -iE 'alloc$|_r$|sbrk|_Zn[wa]|_Zd[la]' ||
  fail "the image holds the above"

# One instruction at a time, so that an interrupt can come between any two; counted time, so that
# every run is the same; a shift makes the tick slow enough for its handler.
status=0
trace=()
case $case_name in steps* | tlsf*) trace=(-d "nochain,exec" -D "$folder/trace") ;; esac
timeout 100 qemu-system-arm -M "$machine" -display none -monitor none -serial null \
  -semihosting-config enable=on,target=native -singlestep -icount "shift=$shift" \
  "${trace[@]}" -kernel "$folder/image" >"$folder/out" 2>&1 </dev/null || status=$?
cat "$folder/out"
if [ "$case_name" = unprotected ]; then
  [ "$status" = 1 ] && grep -q 'failed: ' "$folder/out" || fail "no harm seen without a lock"
  exit 0
fi
[ "$status" = 0 ] || fail "the image ended with status $status"
grep -q '^passed$' "$folder/out" || fail "the image did not come to its end"
if [ -n "${trace[*]}" ]; then
  arm-none-eabi-nm -S "$folder/image" >"$folder/symbols"
  python3 "$here/count_steps.py" "$folder/trace" "$folder/symbols" "$bound"
fi
