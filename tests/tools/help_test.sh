#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# help_test: the completions in the shells that they are for, and the manual pages under mandoc.
#
#   help_test.sh bash|zsh|fish|manual COMMAND SOURCE_FOLDER
set -euo pipefail

case_name=$1
command=$2
source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
touch account.json
# Found as `tarn`, as a user has it.
mkdir bin
ln -s "$command" bin/tarn
printf '#!/bin/sh\n' >bin/tarn_subject
chmod +x bin/tarn_subject
export PATH=$folder/bin:$PATH HOME=$folder

fail() {
  echo "help_test: $*" >&2
  exit 1
}

# What is offered for a command line, a word a line, against what is expected.
expect() {
  local line=$1
  shift
  offered "$line" | sort >out
  printf '%s\n' "$@" | sed '/^$/d' | sort | diff - out >&2 || fail "for '$line'"
}

expect_all() {
  expect 'tarn ru' run
  expect 'tarn run --st' --stats
  expect 'tarn run --no' --no-color
  expect 'tarn classes --code ' c c++
  expect 'tarn classes --st' ''
  expect 'tarn help op' options
  expect 'tarn completion ' bash fish zsh
  expect 'tarn run --json acc' account.json
  expect 'tarn run --quiet -- tarn_sub' tarn_subject
}

need() {
  command -v "$1" >/dev/null || { echo "help_test: no $1" >&2; exit 77; }
}

case $case_name in
  bash)
    eval "$(tarn completion bash)"
    complete -p tarn | grep -q -e '-o default .*-F _tarn' || fail "$(complete -p tarn)"
    offered() {
      read -ra COMP_WORDS <<<"$1"
      [[ $1 != *' ' ]] || COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      COMPREPLY=()
      _tarn || true
      # As readline does with `-o default`.
      if ((${#COMPREPLY[@]} == 0)); then
        compgen -f -- "${COMP_WORDS[COMP_CWORD]}" || true
      else
        printf '%s\n' "${COMPREPLY[@]}"
      fi
    }
    expect_all
    expect 'tarn classes acc' account.json
    expect 'tarn completion --h' --help
    expect 'tarn -' --help --version -V -h
    ;;
  fish)
    need fish
    tarn completion fish >tarn.fish
    offered() {
      fish --no-config -c "source tarn.fish; complete -C '$1'" | cut -f 1
    }
    expect_all
    ;;
  zsh)  # What the function asks zsh's own to offer.
    need zsh
    tarn completion zsh >_tarn
    cat >ask.zsh <<'EOF'
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -D
[[ $_comps[tarn] = _tarn ]] || { echo "tarn is not completed"; exit 1 }
_describe() { print -l -- $verbs }
_arguments() {
  if [[ $1 = -C ]]; then
    (( $#words == 1 )) && state=verb || state=arguments
  else
    print -l -- "$@"
  fi
}
words=(${=1})
_tarn
EOF
    zsh -f ask.zsh '' >out 2>&1 || fail "$(cat out)"
    zsh -f ask.zsh tarn | grep -qx "run:Run a program on tarn's malloc" || fail "no verbs"
    zsh -f ask.zsh 'run x' >out
    grep -qx -e '--stats\[Show allocations.*\]' out || fail "$(cat out)"
    grep -qx -e '--json\[.*\]:FILE:_files' out || fail "$(cat out)"
    grep -qxF '*::program: _normal' out || fail "$(cat out)"
    zsh -f ask.zsh 'classes x' | grep -qF ':c|c++:(c c++)' || fail "no languages"
    ;;
  manual)
    need mandoc
    tarn manual >tarn.1
    mandoc -Tlint -Wwarning tarn.1 "$source/docs/man/libtarn.3" || fail "see above"
    mandoc -Tascii tarn.1 | sed 's/.\x08//g' >text
    for words in 'tarn run \[OPTIONS\] -- PROGRAM' '--compare N' 'purge_delay_ms (0 to' \
      'tarn run --compare 10 -- ./my_program'; do
      grep -q -e "$words" text || fail "the page lacks: $words"
    done
    ;;
  *) fail "no case $case_name" ;;
esac
