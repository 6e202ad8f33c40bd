#!/bin/sh
# exports: libtarn.so shows the names that users rely on and nothing else, and needs little to run.
#
# Usage: exports.sh LIBTARN_SO [--update]. exports.golden has every name with its version; --update
# writes it. A change is argued in review. The lists below are the ones pinned in the architecture:
# the malloc family, operators new and delete, tarn_*, namespace tarn, the migration names, dlopen,
# dlmopen.
#
# SPDX-License-Identifier: MIT
set -eu

library=$1
golden=$(dirname "$0")/exports.golden
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "exports: $*" >&2
  failures=$((failures + 1))
}

cat > "$work/family" << 'END'
malloc calloc realloc free reallocarray posix_memalign aligned_alloc memalign valloc pvalloc
malloc_usable_size malloc_trim mallinfo mallinfo2 malloc_stats malloc_info mallopt
free_sized free_aligned_sized dlopen dlmopen
_Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t _ZnamSt11align_val_t
_ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
_ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
_ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
_ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
END
tr ' ' '\n' < "$work/family" | sort > "$work/required"

# The names of the sources' own interfaces, as far as the library has them.
migration='^(Mem[A-Z][A-Za-z]*|GetPool|PoolAlloc|PoolFree|DeletePool|GetArena|ArenaAlloc'
migration="$migration"'|DeleteArena|un(alloc|free|realloc|calloc)|x(malloc|free|realloc)'
migration="$migration"'|xalloc_[a-z]+|lock_(init|get|release|destroy))$'

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  sort -u > "$work/exported"
comm -13 "$work/exported" "$work/required" > "$work/missing"
comm -23 "$work/exported" "$work/required" |
  grep -Ev '^tarn_|^_ZN?K?T?[IVS]?N?K?4tarn|'"$migration" > "$work/surplus" || true

[ -s "$work/exported" ] || fail "$library exports nothing"
while read -r name; do fail "$name is missing from $library"; done < "$work/missing"
while read -r name; do fail "$name is exported and should be hidden"; done < "$work/surplus"
grep -qx 'tarn_malloc' "$work/exported" || fail "tarn_malloc is missing from $library"

readelf -dW "$library" > "$work/dynamic"
grep -q 'SONAME.*libtarn\.so' "$work/dynamic" || fail "$library has no soname"
if sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' "$work/dynamic" |
  grep -Ev '^(libc|ld-linux.*)\.so' > "$work/needed"; then
  fail "$library needs $(tr '\n' ' ' < "$work/needed")at run time; only the C library is allowed"
fi
readelf -VW "$library" | grep -q "section '.gnu.version_d'" ||
  fail "$library defines no symbol versions"

# A reference to __tls_get_addr, or a relocation for it, would let a first access to thread-local
# data allocate from within malloc.
nm -D --undefined-only "$library" | grep -q '__tls_get_addr' &&
  fail "$library refers to __tls_get_addr; its thread-local data must be initial-exec"
readelf -rW "$library" | grep -Eq 'DTPMOD|DTPOFF|TLSDESC' &&
  fail "$library has relocations for dynamic thread-local data"

{
  echo "# SPDX-License-Identifier: MIT"
  echo "# What libtarn.so exports, and its version, if it has one: tests/entry/exports.sh."
  nm -D --defined-only --with-symbol-versions "$library" |
    awk '$2 != "A" { sub(/@+/, " ", $3); print $3 }' | LC_ALL=C sort -u
} > "$work/golden"
[ "${2-}" != --update ] || cp "$work/golden" "$golden"
if ! diff -u "$golden" "$work/golden" >&2; then
  fail "other names than in exports.golden; if they are meant, run this with --update"
fi

[ "$failures" -eq 0 ] || exit 1
echo "exports: $(wc -l < "$work/exported") names, each of them allowed"
