# bash: pipelines with many forks, process substitution, arrays and a coprocess.
#
# SPDX-License-Identifier: MIT
needs=bash

run_case() {
  cat > script.bash << 'END'
set -euo pipefail
declare -A squares
for ((i = 0; i < 300; ++i)); do squares[$i]=$(echo $((i * i))); done
sum=0
for key in "${!squares[@]}"; do sum=$((sum + squares[$key])); done
echo "squares $sum"
echo "lines $(seq 30000 | grep -v 7 | sort -r | tr 0-9 a-j | sort -u | wc -l)"
echo "common $(comm -12 <(seq 1000 | sort) <(seq 500 1500 | sort) | wc -l)"
mapfile -t lines < <(seq 20000)
echo "mapped ${#lines[@]} ${lines[19999]}"
for i in {1..40}; do (echo "$i" | cat | cat | cat) & done | sort -n | tail -n 1
wait
coproc bc_like { while read -r a b; do echo $((a * b)); done; }
echo "6 7" >&"${bc_like[1]}"
read -r answer <&"${bc_like[0]}"
echo "coprocess $answer"
text=$(printf 'x%.0s' {1..100000})
echo "text ${#text} ${text//x/yy}" | wc -c
trap 'echo trapped' EXIT
END
  plain=$(bash script.bash)
  expect "the output" "$(on_tarn bash script.bash)" "$plain"
  expect "the first line" "$(printf '%s\n' "$plain" | head -n 1)" "squares 8955050"
  expect "the last line" "$(printf '%s\n' "$plain" | tail -n 1)" trapped
  expect_account bash
  expect_account sort
}
