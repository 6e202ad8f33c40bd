#!/bin/bash
# documents_test: the programs in C and C++ do what is expected of them, and the same.
#
#   documents_test.sh CASE FOLDER OF THE PROGRAMS
#
# SPDX-License-Identifier: MIT
set -euo pipefail
case_name=$1
programs=("$2/documents_c" "$2/documents_cpp")
cd "$(dirname "$0")/test"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$case_name: $*"
  exit 1
}

# same STATUS WORDS...: both end like that, and print the same; it is in $folder/out and err then.
same() {
  local status=$1 i got
  shift
  for i in 0 1; do
    got=0
    "${programs[i]}" "$@" >"$folder/out.$i" 2>"$folder/err.$i" || got=$?
    [ "$got" = "$status" ] || fail "${programs[i]} ${*:1:9}: $got: $(head -5 "$folder/err.$i")"
  done
  for stream in out err; do
    diff "$folder/$stream.0" "$folder/$stream.1" || fail "C and C++ differ in $stream for ${*:1:9}"
    cp "$folder/$stream.0" "$folder/$stream"
  done
}

says() {  # says TEXT: that alone is what the programs said on standard error.
  [ "$(cat "$folder/err")" = "$1" ] || fail "said '$(cat "$folder/err")' instead of '$1'"
}

many() {  # many COUNT: documents of different sizes, in $folder/many.
  mkdir -p "$folder/many"
  for ((i = 0; i < $1; ++i)); do
    for ((k = 0; k <= i % 7; ++k)); do
      printf '# Part %d.%d\nWords *of* it[^n].\n\n<!-- no -->\n## Below\n- x\n  - y\n\n' "$i" "$k"
    done >"$folder/many/$i.md"
    printf '[toc]\n[^n]: Note %d.\n[^unused]: x\n' "$i" >>"$folder/many/$i.md"
  done
}

case $case_name in
  expected)
    for name in book marks; do
      same 0 $name.md
      diff $name.html "$folder/out" || fail "another output for $name.md"
      says ''
    done
    : >"$folder/empty.md"
    same 0 "$folder/empty.md"
    grep -q '<title></title>' "$folder/out" || fail 'an empty document'
    [ "$(wc -l <"$folder/out")" = 6 ] || fail 'an empty document has no words'
    same 0 book.md marks.md
    cat book.html marks.html | diff - "$folder/out"
    # More than a buffer, from a pipe, and CR LF.
    { for ((i = 0; i < 5000; ++i)); do printf 'line %d\r\n\r\n' "$i"; done; } >"$folder/long.md"
    same 0 "$folder/long.md"
    [ "$(grep -cE '^<p>line [0-9]+</p>$' "$folder/out")" = 5000 ] || fail 'lines are lost'
    "${programs[0]}" <(cat "$folder/long.md") | diff - "$folder/out" || fail 'a pipe'
    ;;
  options)
    same 0 --without First book.md
    diff without.html "$folder/out" || fail 'sections that are left out'
    same 0 --comments book.md
    diff book.html "$folder/out" >"$folder/diff" || true
    [ "$(grep -c '^>' "$folder/diff")" = 2 ] && grep -q '^> <!-- a comment' "$folder/diff" ||
      fail "comments: $(cat "$folder/diff")"
    for program in "${programs[@]}"; do
      "$program" --report book.md 2>"$folder/err" | diff book.html - || fail "report: output"
      # Sizes are the allocator's, and not of interest here.
      sed -E 's/[0-9,]+ (bytes|overhead)/N \1/g' "$folder/err" | diff report.txt - ||
        fail 'another report'
    done
    # docs/trees.md shows this report.
    sed -n '/^book.md: /,/^```/p' ../../../docs/trees.md | sed -E '/^```/d
      s/[0-9,]+ (bytes|overhead)/N \1/g' | diff report.txt - || fail 'docs/trees.md has another one'
    same 2
    grep -q '^documents: no files' "$folder/err" || fail 'no files'
    for words in --frob '--threads' '--threads x book.md' '--threads 65 book.md' --output; do
      # shellcheck disable=SC2086
      same 2 $words
      grep -q '^usage: documents' "$folder/err" || fail "no usage for $words"
    done
    ;;
  problems)  # Each is said, and the others are converted all the same.
    printf 'good\n\nbad \xff letter' >"$folder/latin.md"
    printf 'a\0b' >"$folder/zero.md"
    printf '\xed\xa0\x80' >"$folder/half.md"
    printf 'one\n\ntwo[^x]\n' >"$folder/cite.md"
    printf 'one\n```\ncode' >"$folder/code.md"
    printf '```\nx\n```\n<!-- a\n -->\n<!-- b' >"$folder/comment.md"
    for ((i = 0; i < 40; ++i)); do printf '%*s- item\n' $((2 * i)) ''; done >"$folder/deep.md"
    { echo; for ((i = 0; i < 40; ++i)); do printf '*a **b '; done
      for ((i = 0; i < 40; ++i)); do printf 'c** d* '; done; } >"$folder/marks.md"
    same 1 book.md "$folder"/{none,latin,zero,half,cite,code,comment,deep,marks}.md marks.md
    cat book.html marks.html | diff - "$folder/out" || fail 'good ones are lost'
    says "documents: $folder/none.md: No such file or directory
documents: $folder/latin.md: not UTF-8 at byte 10
documents: $folder/zero.md: not UTF-8 at byte 1
documents: $folder/half.md: not UTF-8 at byte 0
documents: $folder/cite.md:3: there is no note [^x]
documents: $folder/code.md:2: code without end
documents: $folder/comment.md:6: a comment without end
documents: $folder/deep.md:33: nested more than 32 deep
documents: $folder/marks.md:2: nested more than 32 deep"
    same 1 "$folder"
    says "documents: $folder: Is a directory"
    for program in "${programs[@]}"; do
      ! "$program" book.md >/dev/full 2>"$folder/err" || fail 'a full disk'
      grep -q 'No space left' "$folder/err" || fail "a full disk: $(cat "$folder/err")"
    done
    ;;
  folders)
    mkdir "$folder/out_c" "$folder/out_cpp" "$folder/other"
    "${programs[0]}" --output "$folder/out_c" book.md marks.md
    "${programs[1]}" --output "$folder/out_cpp" book.md marks.md
    diff -r "$folder/out_c" "$folder/out_cpp" || fail 'C and C++ differ'
    [ "$(ls "$folder/out_c")" = $'book.html\nmarks.html' ] || fail "$(ls "$folder/out_c")"
    diff book.html "$folder/out_c/book.html"
    cp book.md "$folder/other/book.md"
    same 2 --output "$folder/out_c" book.md "$folder/other/book.md"
    same 0 book.md "$folder/other/book.md"
    same 1 --output "$folder/none" book.md
    says "documents: book.md: cannot be written: No such file or directory"
    ;;
  threads)  # The order is that of the command line, whoever was first.
    many 60
    files=("$folder"/many/*.md)
    export TARN_OPTIONS=check_tree_threads=1  # Who touches another's tree is reported.
    same 0 "${files[@]}"
    cp "$folder/out" "$folder/alone"
    for threads in 1 2 5 16; do
      same 0 --threads $threads "${files[@]}"
      cmp "$folder/alone" "$folder/out" || fail "$threads threads"
      same 1 --threads $threads "$folder/none.md" "${files[@]}" "$folder/none.md"
      cmp "$folder/alone" "$folder/out" || fail "$threads threads, and files that are not there"
    done
    ;;
  nothing_left)
    programs=("$2/documents_c_left" "$2/documents_cpp_left")
    many 20
    printf 'cite[^x]' >"$folder/many/bad.md"
    printf '<!-- ' >"$folder/many/worse.md"
    same 0 --without First book.md marks.md
    says 'left: 0 blocks'
    same 1 --threads 3 --without Below "$folder"/many/*.md
    [ "$(tail -1 "$folder/err")" = 'left: 0 blocks' ] || fail "$(cat "$folder/err")"
    ;;
  *) fail 'no such case' ;;
esac
