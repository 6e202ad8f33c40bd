#!/bin/bash
# SPDX-License-Identifier: MIT
# standards: the C headers are C99 and C++11, and all that came after; so are the compat headers of
# sources that were C++11. Without a warning.
#
#   standards.sh PROJECT      (CC, CXX; clang too, where it is)
set -euo pipefail

project=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$project/include/tarn"

# Hooks of libraries that are not installed have no header to include.
cpp_headers=(./compat/Allocator.h ./compat/{stl_allocator,xlist,xmap,xset,xqueue}.h
  ./compat/{xstring,xsstream,xmake_shared}.h ./compat/array_pool.hpp ./pool/array_pool.hpp
  ./standard/array_allocator.hpp ./compat/smrtheap.hpp)
mapfile -t c_headers < <(find . -name '*.h' ! -path './hooks/*' | sort |
  grep -vxF "$(printf '%s\n' "${cpp_headers[@]}")")
warnings=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$project/include")

compile() {  # COMPILER LANGUAGE STANDARD HEADER...
  local compiler=$1 language=$2 standard=$3
  shift 3
  { printf '#include "%s"\n' "${@/#./$PWD}"; echo "int nothing;"; } >"$work/all"
  "$compiler" "${warnings[@]}" -x "$language" "-std=$standard" "$work/all" ||
    { echo "standards: $compiler -std=$standard: ${*: -1} and what is named above" >&2; exit 1; }
}

compilers=("${CC:-cc} ${CXX:-c++}")
if command -v clang >/dev/null && command -v clang++ >/dev/null; then
  compilers+=("clang clang++")
else
  echo "standards: skipped: there is no clang"
fi
for pair in "${compilers[@]}"; do
  read -r c cpp <<<"$pair"
  for standard in c99 c11 c17; do compile "$c" c $standard "${c_headers[@]}"; done
  for standard in c++11 c++14 c++17 c++20; do
    compile "$cpp" c++ $standard "${c_headers[@]}" "${cpp_headers[@]}"
  done
done
for header in "${c_headers[@]}"; do  # Each by itself.
  compile "${CC:-cc}" c c99 "$header"
  compile "${CXX:-c++}" c++ c++11 "$header"
done
echo "standards: ${#c_headers[@]} C headers, ${#compilers[@]} compilers"
