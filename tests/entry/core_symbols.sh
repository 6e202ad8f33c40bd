#!/bin/sh
# core_symbols: no object of the archive refers to what an allocator must not call.
#
# Usage: core_symbols.sh ARCHIVE... . Everything but entry/new (whose objects are named new*) has
# to do without malloc, operator new, exceptions, streams and the C library's mutexes: each of
# them may allocate, or wait for a lock that a forked child can never get. (fprintf is for
# malloc_info, whose caller brings the stream.)
#
# SPDX-License-Identifier: MIT
set -eu

forbidden='^(malloc|calloc|realloc|free|reallocarray|posix_memalign|aligned_alloc|memalign|valloc'
forbidden="$forbidden"'|pvalloc|strdup|strndup|asprintf|vasprintf|getline|open_memstream'
forbidden="$forbidden"'|_Zn[wa].*|_Zd[la].*|__cxa_(throw|rethrow|allocate_exception|begin_catch'
forbidden="$forbidden"'|end_catch|guard_.*|thread_atexit)|__gxx_personality_v0|_Unwind_Resume'
forbidden="$forbidden"'|_ZN?K?St.*|_ZS[tiosabd].*|_ZT[IVS].*|stdout|stderr|stdin|printf|fopen'
forbidden="$forbidden"'|pthread_(mutex|rwlock|spin|cond)_.*|pthread_once|__tls_get_addr)$'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
objects=0

for archive in "$@"; do
  case $archive in /*) ;; *) archive=$PWD/$archive ;; esac
  nm -A --undefined-only "$archive" |
    sed -n 's/^[^:]*:\([^:]*\):.* U \(.*\)$/\1 \2/p' > "$work/undefined"
  objects=$((objects + $(ar t "$archive" | wc -l)))
  awk '$1 !~ /^new/ { print }' "$work/undefined" |
    awk -v pattern="$forbidden" '$2 ~ pattern { print }' | sort -u > "$work/found"
  if [ -s "$work/found" ]; then
    echo "core_symbols: $(basename "$archive") has references that the core must not have" >&2
    sed 's/^/  /' "$work/found" >&2
    status=1
  fi
done

if [ "$objects" -eq 0 ]; then
  echo "core_symbols: give the archives to look at" >&2
  exit 2
fi
[ "$status" -eq 0 ] && echo "core_symbols: $objects objects, none with a forbidden reference"
exit "$status"
