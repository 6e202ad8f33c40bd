# python_processes: the interpreter's tests of processes that are made by fork alone.
#
# They take a minute, most of it spent asleep: beside python.sh rather than after it.
#
# SPDX-License-Identifier: MIT
needs=/usr/bin/python3

run_case() {
  /usr/bin/python3 -c 'import test.test_json' 2> "$work/import" || exit 77
  /usr/bin/python3 -c 'import socket; socket.getaddrinfo("localhost", 0)' 2> "$work/resolve" || {
    echo "python_processes: its tests bind to localhost, which has no address here (/etc/hosts)" >&2
    exit 77
  }
  on_tarn /usr/bin/python3 -m test test_multiprocessing_fork > "$work/output" 2>&1 || {
    tail -n 40 "$work/output" >&2
    fail "the tests failed"
  }
  grep -Eq '^Result: SUCCESS|^Tests result: SUCCESS|^1 test OK' "$work/output" ||
    fail "the tests should have run"
  expect_account 'python3*'
}
