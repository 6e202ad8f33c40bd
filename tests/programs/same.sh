# same: the programs of same.txt, each without tarn and on it: the same output and status. With
# TARN_TEST_ONLY=NAME one of them.
#
# SPDX-License-Identifier: MIT
needs="awk cksum"

write_inputs() {
  awk 'BEGIN { srand(7); for (i = 1; i <= 20000; ++i) {
    w = ""
    for (n = 3 + int(rand() * 9); n > 0; --n) w = w substr("etaoinshrdlu", 1 + int(rand() * 12), 1)
    print i, w } }' > words
  awk 'BEGIN { printf "[" } { printf "%s{\"n\": %d, \"s\": \"%s\"}", (NR > 1 ? "," : ""), $1, $2 }
    END { print "]" }' words > numbers
  awk 'BEGIN { print "<page>" } NR <= 5000 { printf "<item n=\"%d\">%s</item>", $1, $2 }
    END { print "</page>" }' words > page.xml
}

# In a folder of its own: what it prints, then its status.
result_of() {
  mkdir "$1"
  cp words numbers page.xml "$1"
  (cd "$1" && shift && status=0 && { "$@" || status=$?; } && echo "status $status") 2>&1
}

run_case() {
  write_inputs
  count=0
  while read -r name line; do
    case $name in '' | '#'*) continue ;; esac
    [ -z "${TARN_TEST_ONLY:-}" ] || [ "$name" = "$TARN_TEST_ONLY" ] || continue
    if ! command -v "$name" > which; then
      echo "same: $name is not installed"
      [ -z "${TARN_TEST_ONLY:-}" ] || exit 77
      continue
    fi
    result_of "$name.plain" sh -c "$line" > plain < /dev/null
    rm -f "$accounts"/*
    result_of "$name.tarn" on_tarn sh -c "$line" > result < /dev/null
    grep -q '^status 0$' plain || fail "$name fails without tarn: $(tail -n 3 plain)"
    cmp -s plain result || fail "$name: $(diff plain result | head -n 5)"
    expect_account "$name*"
    count=$((count + 1))
  done < "$here/same.txt"
  [ "$count" -gt 0 ] || fail "no program of same.txt was run"
  echo "same: $count programs"
}
