# python: the interpreter's own tests; with PYTHONMALLOC=malloc every object is a block of tarn's.
#
# SPDX-License-Identifier: MIT
needs=/usr/bin/python3

run_tests() {
  label=$1
  count=$2
  shift 2
  on_tarn "$@" > "$work/$label" 2>&1 || {
    tail -n 40 "$work/$label" >&2
    fail "$label: the tests failed"
  }
  grep -q "^All $count tests OK" "$work/$label" || fail "$label: $count tests should have run"
}

run_case() {
  /usr/bin/python3 -c 'import test.test_json' 2> "$work/import" || exit 77
  run_tests malloc 2 env PYTHONMALLOC=malloc /usr/bin/python3 -m test test_json test_re
  expect_account 'python3*'
  run_tests threads 3 /usr/bin/python3 -m test test_json test_re test_threading
  on_tarn /usr/bin/python3 -c '
import os
print(os.environ.get("TARN_TEST_ANY_MALLOC") or "libtarn" in open("/proc/self/maps").read())' \
    > "$work/maps"
  [ "$(cat "$work/maps")" != False ] || fail "the interpreter does not run on tarn"
}
