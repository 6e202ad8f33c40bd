#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# files_test: what dev/amalgamate writes is the same each time, needs no other file, and is taken by
# both compilers.
#
#   files_test.sh SOURCE_FOLDER MADE_FOLDER
set -euo pipefail

source=$1
made=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "files_test: $*" >&2
  exit 1
}

"$source/dev/amalgamate" "$folder/again"
for file in tarn.hpp tarn.cpp tarn.h; do
  cmp "$made/$file" "$folder/again/$file" || fail "$file is not what dev/amalgamate writes now"
done
cd "$folder/again"
! grep -nE '^[ \t]*#[ \t]*include[ \t]*"' ./* | grep -v '"tarn.hpp"' || fail "these are not inside"
! grep -nF "$source" ./* || fail "these lines name the folder they come from"
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wundef -Werror -fsyntax-only -I.)
for compiler in g++ clang++-16; do
  command -v "$compiler" >/dev/null || continue
  for standard in c++17 c++20; do
    "$compiler" "-std=$standard" "${warnings[@]}" -x c++ - <<<'#include "tarn.hpp"'
  done
  "$compiler" -std=c++17 -fsanitize=address "${warnings[@]}" -x c++ - <<<'#include "tarn.hpp"'
  # Somebody's header may have included tarn.h already.
  "$compiler" -std=c++17 "${warnings[@]}" -x c++ - <<<'#include "tarn.h"
#include "tarn.hpp"
extern tarn::Heap heap;'
done
gcc -std=c11 "${warnings[@]}" -x c - <<<'#include "tarn.h"'
command -v clang++-16 >/dev/null || exit 0
clang++-16 -std=c++20 -fno-exceptions -fno-rtti -fsyntax-only tarn.cpp
clang++-16 -std=c++20 -DTARN_DROP_IN -fsyntax-only tarn.cpp
