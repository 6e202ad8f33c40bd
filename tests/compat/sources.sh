#!/bin/bash
# SPDX-License-Identifier: MIT
# sources: the programs to the five sources' interfaces (tests/compat/sources), in each language
# that they are for, by each compiler that is there, linked by each line that the guides name.
#
#   sources.sh PROJECT LIBRARIES [PROGRAM...]     (CC, CXX; clang too, where it is)
set -euo pipefail

project=$1 libraries=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of each program: its languages, and its link lines. `functions` is with the file that makes
# functions of the names.
declare -A standards=([c]="c99 c11 c++11 c++14 c++17 c++20" [cpp]="c++11 c++14 c++17 c++20")
declare -A lines=(
  [array_pool.cpp]="none"
  [allocator.cpp]="plain malloc"
  [fixed_pool.c]="plain malloc functions"
  [smrtheap.c]="plain new malloc functions"
  [unalloc.c]="plain malloc functions"
  [xallocator.c]="plain malloc functions"
)
declare -A link=([none]="" [plain]="-ltarn_plain" [new]="-ltarn_new -ltarn_plain" [malloc]="-ltarn"
  [functions]="-ltarn_plain")

flags=(-O1 -Wall -Wextra -Wpedantic -Werror -pthread -I "$project/include/tarn/compat")
compilers=("${CC:-cc} ${CXX:-c++}")
if command -v clang >/dev/null && command -v clang++ >/dev/null; then
  compilers+=("clang clang++")
else
  echo "sources: no clang here: only ${CXX:-c++} was tried"
fi

failed() {  # PROGRAM COMPILER STANDARD LINE
  echo "sources: $1: $2 -std=$3, $4" >&2
  exit 1
}

# Compiles a program once for all lines, and once more for `functions`.
run() {  # PROGRAM COMPILER STANDARD
  local program=$1 compiler=$2 standard=$3 line
  local source=$project/tests/compat/sources/$program
  local -a compile=("$compiler" -x c++ "-std=$standard" "${flags[@]}" -c)
  [[ $standard == c++* ]] || compile[2]=c
  "${compile[@]}" "$source" -o "$work/program.o" || failed "$@" "each line"
  for line in ${lines[$program]}; do
    local -a objects=("$work/program.o")
    if [ "$line" = functions ]; then
      objects=("$work/with_names.o" "$work/names.o")
      "${compile[@]}" -DAS_FUNCTIONS "$source" -o "${objects[0]}" &&
        "${compile[@]}" "$project/include/tarn/compat/$program" -o "${objects[1]}" ||
        failed "$@" "$line"
    fi
    # shellcheck disable=SC2086
    "$compiler" "${objects[@]}" -pthread -o "$work/program" -L "$libraries" \
      "-Wl,-rpath,$libraries" ${link[$line]} &&
      timeout 60 "$work/program" "$line" >/dev/null || failed "$@" "$line"
    count=$((count + 1))
  done
}

programs=("$@")
[ $# -gt 0 ] || programs=("${!lines[@]}")
count=0
for program in "${programs[@]}"; do
  for pair in "${compilers[@]}"; do
    read -r c cpp <<<"$pair"
    for standard in ${standards[${program##*.}]}; do
      compiler=$cpp
      [[ $standard == c++* ]] || compiler=$c
      run "$program" "$compiler" "$standard"
    done
  done
done
echo "sources: $count programs"
