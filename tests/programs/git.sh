# git: a repository of 10,000 objects is made, checked, repacked and checked again; its contents are
# those that git writes without tarn.
#
# SPDX-License-Identifier: MIT
needs="git awk"

# 3,400 commits of one file each in nested folders: a blob, a commit and some trees each.
history() {
  awk 'BEGIN {
    for (i = 1; i <= 2600; ++i) {
      text = ""
      for (j = 0; j < i % 60; ++j) text = text "line " j " of file " i "\n"
      printf "commit refs/heads/main\ncommitter T <t@example.org> %d +0000\n", 1000000000 + i
      printf "data 2\nc\nM 100644 inline folder%d/file%d\n", i % 7, i % 500
      printf "data %d\n%s\n", length(text), text
    }
  }'
}

run_case() {
  export GIT_CONFIG_NOSYSTEM=1 HOME="$work"
  history > history
  git -c init.defaultBranch=main init -q --bare plain
  git -C plain fast-import --quiet < history
  on_tarn git -c init.defaultBranch=main init -q --bare repository
  on_tarn git -C repository fast-import --quiet < history
  expect "the commit" "$(git -C repository rev-parse main)" "$(git -C plain rev-parse main)"
  objects=$(on_tarn git -C repository rev-list --objects --all | wc -l)
  [ "$objects" -ge 10000 ] || fail "the repository has $objects objects; 10,000 are wanted"

  on_tarn git -C repository fsck --full --strict > fsck 2>&1 || fail "fsck: $(cat fsck)"
  on_tarn git -C repository -c pack.threads=2 gc --quiet --prune=now || fail "gc failed"
  on_tarn git -C repository -c pack.threads=2 repack -adfq --depth=50 || fail "repack failed"
  on_tarn git -C repository fsck --full --strict > fsck 2>&1 || fail "fsck after gc: $(cat fsck)"
  expect "objects after gc" "$(git -C repository rev-list --objects --all | wc -l)" "$objects"
  expect "the packed objects" \
    "$(git -C repository count-objects -v | sed -n 's/^in-pack: //p')" "$objects"
  expect "the log" "$(on_tarn git -C repository log --stat main | cksum)" \
    "$(git -C plain log --stat main | cksum)"
  on_tarn git clone -q repository clone
  expect "the clone's files" "$(git -C clone ls-files | wc -l)" \
    "$(git -C plain ls-tree -r main | wc -l)"
  expect_account git
}
