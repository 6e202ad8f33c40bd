#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install_test: installs a build into a prefix of its own, and uses it as a stranger would.
#
#   install_test.sh CASE BUILD_FOLDER CONSUMER_FOLDER      (CC and CXX name the compilers)
set -euo pipefail

case_name=$1
build=$2
consumer=$3
: "${CC:=cc}" "${CXX:=c++}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
cmake --install "$build" --prefix "$prefix" >"$folder/install.log" ||
  { cat "$folder/install.log" >&2; exit 1; }
lib=$(dirname "$(find "$prefix" -name libtarn.so)")
unset LD_LIBRARY_PATH LD_PRELOAD

fail() {
  echo "install_test: $*" >&2
  exit 1
}

# Each program says who served it, and fails if that was not tarn.
run() {
  "$@" >"$folder/out" || fail "$1 failed: $(cat "$folder/out")"
  grep -q 'tarn [0-9]' "$folder/out" || fail "$1 printed: $(cat "$folder/out")"
}

needs() { readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

use_cmake() {
  cmake -S "$consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$1" -DCMAKE_BUILD_TYPE=Release \
    >"$folder/log" 2>&1 || fail "configure: $(tail -n 20 "$folder/log")"
  cmake --build "$folder/build" >"$folder/log" 2>&1 || fail "build: $(tail -n 20 "$folder/log")"
  local name
  for name in drop_in drop_in_c drop_in_static all_static beside two_pools; do
    run "$folder/build/$name"
  done
  needs "$folder/build/drop_in" | grep -q '^libtarn\.so\.[0-9]' || fail "drop_in lacks the soname"
  needs "$folder/build/drop_in_c" | grep -q 'libstdc++' && fail "the C program needs libstdc++"
  needs "$folder/build/drop_in_static" | grep -q libtarn && fail "drop_in_static needs libtarn.so"
  needs "$folder/build/beside" | grep -Eq 'libtarn|libstdc' && fail "beside needs a C++ library"
  needs "$folder/build/two_pools" | grep -q libtarn && fail "two_pools needs libtarn.so"
  [ -z "$(needs "$folder/build/all_static")" ] || fail "all_static is not static"
  true
}

use_pkg_config() {
  export PKG_CONFIG_PATH=$lib/pkgconfig
  [ "$(pkg-config --modversion tarn)" != "" ] || fail "no version"
  local flags
  read -ra flags <<<"$(pkg-config --cflags --libs tarn) -Wl,-rpath,$lib"
  "$CXX" -std=c++17 "$consumer/drop_in.cpp" "${flags[@]}" -o "$folder/drop_in"
  "$CC" -std=c11 "$consumer/drop_in_c.c" "${flags[@]}" -o "$folder/drop_in_c"
  run "$folder/drop_in"
  run "$folder/drop_in_c"
  read -ra flags <<<"$(pkg-config --static --cflags --libs tarn)"
  "$CXX" -std=c++17 -static "$consumer/drop_in.cpp" "${flags[@]}" -o "$folder/static"
  run "$folder/static"
  # tarn's functions alone: the program needs no library of tarn's, and keeps its malloc.
  read -ra flags <<<"$(pkg-config --cflags --libs tarn-plain)"
  "$CC" -std=c11 "$consumer/beside.c" "${flags[@]}" -o "$folder/beside_pc"
  run "$folder/beside_pc"
  ! needs "$folder/beside_pc" | grep -q libtarn || fail "beside_pc needs libtarn.so"
  # Operators new and delete besides, as the guides write the line without pkg-config, too.
  read -ra flags <<<"$(pkg-config --cflags --libs tarn-new)"
  local compat="-I$(pkg-config --variable=includedir tarn-plain)/tarn/compat"
  "$CXX" -std=c++17 "$consumer/two_pools.cpp" "$compat" "${flags[@]}" -o "$folder/two_pools"
  run "$folder/two_pools"
  flags=("-L$lib" -ltarn_new -ltarn_plain -pthread)
  "$CXX" -std=c++17 "$consumer/two_pools.cpp" "$compat" "${flags[@]}" -o "$folder/two_pools"
  run "$folder/two_pools"
}

case $case_name in
  files)
    for file in include/tarn/tarn.h include/tarn/tarn.hpp include/tarn/diagnose/account.h; do
      [ -f "$prefix/$file" ] || fail "$file is not installed"
    done
    for name in libtarn.so libtarn.a libtarn_plain.a libtarn_new.a libtarn_bare.a \
      pkgconfig/tarn.pc pkgconfig/tarn-plain.pc pkgconfig/tarn-new.pc; do
      [ -f "$lib/$name" ] || fail "$name is not installed"
    done
    find "$prefix/share/doc" -name LICENSE | grep -q /tarn/ || fail "LICENSE is not installed"
    if [ -x "$build/bin/tarn" ]; then
      [ -x "$prefix/bin/tarn" ] || fail "bin/tarn is not installed"
      # The installed command finds the installed library, wherever it is called from.
      for file in share/man/man1/tarn.1 share/man/man3/libtarn.3 share/doc/tarn/options.md \
        share/bash-completion/completions/tarn share/zsh/site-functions/_tarn \
        share/fish/vendor_completions.d/tarn.fish; do
        [ -s "$prefix/$file" ] || fail "$file is not installed"
      done
      mv "$prefix" "$folder/elsewhere"
      (cd / && "$folder/elsewhere/bin/tarn" run -- "$(command -v true)") ||
        fail "the installed command does not run a program"
      (cd / && "$folder/elsewhere/bin/tarn" classes -- "$(command -v ls)" / >"$folder/out" 2>&1) ||
        fail "the installed command does not count sizes: $(cat "$folder/out")"
    fi
    # Nothing that was installed remembers where it was built.
    ! grep -rlI -e "$build" -e "$(dirname "$consumer")" "$folder"/*/lib* "$folder"/*/include ||
      fail "the files above name the build folder"
    ;;
  uninstall)  # Takes away what was installed, and nothing else.
    sources=$(dirname "$consumer")/..
    touch "$prefix/include/tarn/of_somebody_else.h" "$prefix/bin/tarnish"
    mkdir "$folder/top" "$prefix/share/empty"
    uninstall() { cmake -DPREFIX="$1" -P "$sources/cmake/uninstall.cmake" >"$folder/out" 2>&1; }
    uninstall "$prefix" || fail "$(cat "$folder/out")"
    (cd "$prefix" && find . -type f) | sort | diff - <(printf '%s\n' ./bin/tarnish \
      ./include/tarn/of_somebody_else.h) || fail "these were left, or are gone"
    ! find "$prefix" -type l -o -type d -name tarn -empty | grep . || fail "these were left"
    [ -d "$prefix/share/empty" ] || fail "an empty folder of somebody else is gone"
    ! uninstall "$prefix" || fail "what is not there was removed"
    grep -q 'tarn was not installed there' "$folder/out" || fail "$(cat "$folder/out")"
    # A package is put together elsewhere; and a prefix may have any name.
    export DESTDIR="$folder/top"
    cmake --install "$build" --prefix /opt/tarn/a >"$folder/out" || fail "$(cat "$folder/out")"
    ! grep -q ldconfig "$folder/out" || fail "a package asks for ldconfig"
    uninstall /opt/tarn/a || fail "$(cat "$folder/out")"
    [ -d "$DESTDIR/opt/tarn/a" ] || fail "the prefix is gone"
    ! find "$DESTDIR" -type f | grep . || fail "these were left"
    ;;
  loader)  # What is to be done so that programs find libtarn.so is said.
    grep -q "The dynamic loader does not look in $lib: link with -Wl,-rpath,$lib," \
      "$folder/install.log" || fail "$(cat "$folder/install.log")"
    [ -d /usr/local/lib ] && grep -rqs '^/usr/local/lib$' /etc/ld.so.conf.d || exit 77
    cat >"$folder/told.cmake" <<EOF
set(CMAKE_INSTALL_PREFIX $folder/told)
set(tarn_data_folder share)
set(tarn_library_folder /usr/local/lib)
include($(dirname "$consumer")/../cmake/after_install.cmake)
EOF
    cmake -P "$folder/told.cmake" >"$folder/out"
    grep -q 'Run `ldconfig` once, as root, so that programs find libtarn.so in /usr/local/lib' \
      "$folder/out" || fail "$(cat "$folder/out")"
    ;;
  cmake) use_cmake "$prefix" ;;
  moved)  # A prefix may be packed and unpacked somewhere else.
    mv "$prefix" "$folder/elsewhere"
    lib=$folder/elsewhere${lib#"$prefix"}
    use_cmake "$folder/elsewhere"
    use_pkg_config
    ;;
  pkg_config) use_pkg_config ;;
  subdirectory)  # In a project that has tarn's tree inside of its own: its targets, and no more.
    mkdir "$folder/project"
    cat >"$folder/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(outer C CXX)
add_subdirectory($(dirname "$consumer")/.. tarn)
foreach(name IN ITEMS tarn new malloc malloc_static bare)
  add_executable(use_\${name} $consumer/beside.c)
  target_link_libraries(use_\${name} PRIVATE tarn::\${name})
endforeach()
if(TARGET tarn_command OR TARGET bench_workloads OR CMAKE_CXX_STANDARD)
  message(FATAL_ERROR "more than the library came")
endif()
EOF
    cmake -S "$folder/project" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release >"$folder/log" 2>&1 ||
      fail "configure: $(tail -n 20 "$folder/log")"
    # The outer project's warnings are its own affair.
    grep -q system_malloc "$folder/build/compile_commands.json" || fail "no commands"
    ! grep -q -e -Werror "$folder/build/compile_commands.json" || fail "warnings are errors"
    ;;
  folders)  # Of other names and depths than the usual ones; nothing is built.
    mkdir -p "$folder/own/lib/of/machine/pkgconfig" "$folder/own/include/of/version"
    cmake -S "$(dirname "$consumer")/.." -B "$folder/build" -DCMAKE_INSTALL_PREFIX="$folder/first" \
      -DCMAKE_INSTALL_LIBDIR=lib/of/machine -DCMAKE_INSTALL_INCLUDEDIR=include/of/version \
      -DTARN_BUILD_TOOLS=OFF >"$folder/log" 2>&1 || fail "configure: $(tail -n 20 "$folder/log")"
    cp "$folder/build/tarn.pc" "$folder/own/lib/of/machine/pkgconfig"
    export PKG_CONFIG_PATH=$folder/own/lib/of/machine/pkgconfig
    for name in libdir includedir prefix; do
      realpath "$(pkg-config --variable=$name tarn)" >>"$folder/out"
    done
    printf '%s\n' "$folder"/own/{lib/of/machine,include/of/version,} | sed 's#/$##' |
      diff - "$folder/out" || fail "tarn.pc leads elsewhere"
    grep -rq 'INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/of/version"' \
      "$folder/build/CMakeFiles/Export" || fail "the targets lead to other headers"
    ;;
  cargo)  # A program in Rust over the installed library.
    command -v cargo >/dev/null || { echo "install_test: no cargo" >&2; exit 77; }
    mkdir -p "$folder/program/src"
    cat >"$folder/program/Cargo.toml" <<EOF
[package]
name = "program"
version = "1.0.0"
edition = "2021"
[dependencies]
tarn = { path = "$(realpath "$(dirname "$consumer")/../rust")" }
EOF
    cat >"$folder/program/src/main.rs" <<'EOF'
#[global_allocator]
static ALLOCATOR: tarn::Tarn = tarn::Tarn;
fn main() {
    let heap = tarn::Heap::new("program").unwrap();
    let text = heap.alloc_str("in a heap");
    println!("tarn {} has {} blocks, one {}", tarn::version(), heap.stats().live_blocks, text);
}
EOF
    cd "$folder/program"
    # CC may name a wrapper, too.
    TARN_LIB_DIR=$lib CC="env $CC" cargo run --offline --quiet >"$folder/out" 2>&1 ||
      fail "cargo run: $(cat "$folder/out")"
    grep -q '^tarn [0-9.]* has 1 blocks, one in a heap$' "$folder/out" ||
      fail "printed: $(cat "$folder/out")"
    # cargo and rustc would look for it from different folders.
    TARN_LIB_DIR=lib cargo build --offline --quiet >"$folder/out" 2>&1 && fail "lib was found"
    grep -q 'TARN_LIB_DIR: lib is no absolute path' "$folder/out" || fail "$(cat "$folder/out")"
    ;;
  amalgamation)  # What lies in share/tarn is all that a project needs to copy.
    cp "$prefix"/share/tarn/tarn.* "$folder"
    parts=$(dirname "$consumer")/../tests/dist
    cd "$folder"
    "$CXX" -std=c++20 -O0 -fno-rtti -fno-exceptions -fno-builtin-malloc -c tarn.cpp
    "$CXX" -std=c++17 -I. "$parts/parts.cpp" tarn.o -pthread -o parts_cpp
    "$CC" -std=c11 -I. "$parts/parts.c" tarn.o -pthread -o parts_c
    ./parts_cpp && ./parts_c || fail "a program over tarn.cpp fails"
    ;;
  headers)  # Each public header stands alone, without warnings; the C ones as C11 and C++17.
    # Those of the sources' names with no other include path than their own.
    # All are C++17 but these.
    later=" source/adaptors.hpp source/concepts.hpp standard/coroutine.hpp detail/small_lock.hpp "
    cd "$prefix/include/tarn"
    for header in $(find . -name '*.h*' -not -path './hooks/*' -not -path './compat/*' | sort); do
      header=${header#./}
      text=$(printf '#include <tarn/%s>\nextern int one;\n' "$header")
      warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wundef -Werror -fsyntax-only
        "-I$prefix/include")
      case $header in
        *.h) "$CC" -std=c11 "${warnings[@]}" -x c - <<<"$text" ;;
      esac
      standard=c++17
      [[ $later != *" $header "* ]] || standard=c++20
      "$CXX" "-std=$standard" "${warnings[@]}" -x c++ - <<<"$text"
    done
    # tarn.h is the whole C interface, tarn.hpp the whole C++ one.
    everything=(find -- * -not -path 'hooks/*' -not -path 'compat/*')
    included() { tr ' ' '\n' | grep include/tarn/ | xargs realpath --relative-to=. | sort -u; }
    "$CC" -std=c11 -M "-I$prefix/include" -include tarn/tarn.h -x c /dev/null | included |
      diff <("${everything[@]}" -name '*.h' | sort) - || fail "tarn.h lacks these"
    "$CXX" -std=c++20 -M "-I$prefix/include" -include tarn/tarn.hpp -x c++ /dev/null | included |
      diff <("${everything[@]}" -name '*.h*' | sort) - || fail "tarn.hpp lacks these"
    warnings=("${warnings[@]/%include/include/tarn/compat}")
    for header in "$prefix"/include/tarn/compat/*.h*; do
      [[ $header != */xallocator_class.hpp ]] || continue  # A part of xallocator.h.
      text=$(printf '#include <%s>\nextern int one;\n' "$(basename "$header")")
      case $header in
        */Allocator.h | */stl_allocator.h | */x[lmqs]*.h) ;;  # In C++, as in the source.
        *.h) "$CC" -std=c11 "${warnings[@]}" -x c - <<<"$text" ;;
      esac
      "$CXX" -std=c++17 "${warnings[@]}" -x c++ - <<<"$text"
    done
    ;;
  *) fail "no case $case_name" ;;
esac
