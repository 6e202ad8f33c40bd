#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# language_test: in a language that is too old each public header gives one error, which says what
# is needed; and the umbrella headers in C++17 have no part that needs more.
#
#   language_test.sh PROJECT_FOLDER      (CC and CXX name the compilers)
set -euo pipefail

cd "$1/include"
: "${CC:=cc}" "${CXX:=c++}"
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# one_error HEADER TEXT COMPILER...: a program with that header alone fails by that error alone.
one_error() {
  local header=$1 text=$2
  shift 2
  ! printf '#include <%s>\n' "$header" | "$@" -I. -fsyntax-only - 2>"$said" ||
    { echo "language_test: $* takes $header" >&2; exit 1; }
  [ "$(grep -c 'error:' "$said")" = 1 ] && grep -q "error:.*$text" "$said" ||
    { echo "language_test: $*: $header" >&2; cat "$said" >&2; exit 1; }
}

# These are C++11, as the C headers are.
early=" compat/array_pool.hpp compat/smrtheap.hpp compat/xallocator_class.hpp detail/align.hpp
 detail/array_indices.hpp detail/class_operators.hpp detail/errors.hpp detail/lock.hpp
 pool/array_pool.hpp standard/array_allocator.hpp "
for header in $(find tarn -name '*.h' -o -name '*.hpp' | sort); do
  needs='C++17 for this header'
  case $header in
    */Allocator.h | */stl_allocator.h | */compat/x[lmqs]*.h) needs='C99 or C++11' ;;
    *.h) needs='C99 or C++11'; one_error "$header" "$needs" "$CC" -std=c89 -x c ;;
    *) [[ ${early//$'\n'/} != *" ${header#tarn/} "* ]] || needs='C99 or C++11' ;;
  esac
  one_error "$header" "$needs" "$CXX" -std=c++98 -x c++
  [[ $needs != 'C++17'* ]] || one_error "$header" "$needs" "$CXX" -std=c++14 -x c++
done
for header in source/adaptors source/concepts standard/coroutine detail/small_lock; do
  one_error "tarn/$header.hpp" "$header.hpp needs C++20" "$CXX" -std=c++17 -x c++
done
for header in tarn/tarn.h tarn/tarn.hpp; do
  "$CXX" -std=c++17 -I. -fsyntax-only -x c++ - <<<"#include <$header>"
done
"$CC" -std=c11 -I. -fsyntax-only -x c - <<<"#include <tarn/tarn.h>"
