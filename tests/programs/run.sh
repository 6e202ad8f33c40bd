#!/bin/sh
# run: one real program on LD_PRELOAD=libtarn.so, its results compared, and tarn's presence proved.
#
# Usage: run.sh LIBTARN_SO CASE, where CASE.sh beside this file names the commands that it needs and
# defines run_case. Presence is proved by the account that tarn writes for each process
# (TARN_OPTIONS=account=DIR, see include/tarn/diagnose/account.h), not by the variable being set.
#
# TARN_TEST_MODE is the mode of malloc. TARN_TEST_ANY_MALLOC=1 lets the cases be tried on whatever
# LIBTARN_SO is, without that proof.
# Exit status 77: the program is not here, and installing it was not possible.
#
# SPDX-License-Identifier: MIT
set -eu

if [ $# -ne 2 ]; then
  echo "run: give the path of libtarn.so and the name of a case" >&2
  exit 2
fi
library=$1
case_name=$2
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d "${TMPDIR:-/tmp}/tarn-$case_name-XXXXXX")
accounts=$work/accounts
mkdir "$accounts"
trap 'clean_up' EXIT
trap 'exit 1' INT TERM

# A case that leaves something running replaces this.
stop_case() { :; }

clean_up() {
  stop_case || true
  rm -rf "$work"
}

fail() {
  echo "$case_name: $*" >&2
  exit 1
}

expect() {
  [ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"
}

# In which mode of malloc it is: TARN_TEST_MODE, or none.
options=account=$accounts${TARN_TEST_MODE:+,mode=$TARN_TEST_MODE}

# Runs a command on tarn. A shell's job in the background ignores SIGINT, which python's tests send.
on_tarn() {
  env --default-signal=INT,QUIT LD_PRELOAD="$library" TARN_OPTIONS="$options" "$@"
}

# The number of eight bytes at an offset of an account (see struct tarn_account).
account_number() {
  od -A n -t u8 -j "$2" -N 8 "$1" | tr -d ' '
}

# Fails unless a process whose program name matches the pattern $1 ran on tarn, allocated there and
# ended in good order.
expect_account() {
  [ -z "${TARN_TEST_ANY_MALLOC:-}" ] || return 0
  for file in "$accounts"/*; do
    [ -f "$file" ] || continue
    name=$(dd if="$file" bs=8 skip=5 count=8 2> "$work/dd" | tr -d '\000')
    case $name in $1) ;; *) continue ;; esac
    [ "$(account_number "$file" 0)" = 3635652172343833204 ] || fail "$file has no magic"
    if [ "$(account_number "$file" 16)" = 1 ] && [ "$(account_number "$file" 112)" -gt 0 ]; then
      return 0
    fi
  done
  fail "no process named '$1' ran on tarn to its end; accounts: $(ls "$accounts" | wc -l)"
}

needs=
. "$here/$case_name.sh"

for command in $needs; do
  if ! command -v "$command" > "$work/which"; then
    echo "$case_name: $command is missing; run 'dev/setup programs' as root" >&2
    exit 77
  fi
done
cd "$work"
run_case
echo "$case_name: all as expected"
