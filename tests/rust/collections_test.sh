#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# collections_test: the tests of rust/allocator-api2, which needs crates of others; fetched at the
# first run, and 77 where that fails.
#
#   collections_test.sh CARGO CRATE_FOLDER TARGET_FOLDER
set -euo pipefail

cargo=$1 manifest=$2/Cargo.toml target=$3
if ! "$cargo" fetch --offline --manifest-path "$manifest" >/dev/null 2>&1 &&
  ! timeout 100 "$cargo" fetch --manifest-path "$manifest"; then
  echo "collections_test: its crates cannot be fetched here"
  exit 77
fi
exec "$cargo" test --offline --quiet --manifest-path "$manifest" --target-dir "$target"
