// build: compiles the library for the crate, or uses one that is installed.
//
// By default the library is compiled as one file (dev/amalgamate) from the source tree that the
// crate lies in. If TARN_LIB_DIR is set, libtarn_plain.a is taken from that folder, as `cmake
// --install` puts it there; TARN_INCLUDE_DIR then names the folder of the headers (by default
// ../include beside it). CXX, CC and AR name the tools.
//
// SPDX-License-Identifier: MIT
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

// The variable may also hold a wrapper and options: "ccache g++".
fn tool(variable: &str, usual: &str) -> Command {
    println!("cargo:rerun-if-env-changed={}", variable);
    let value = env::var(variable).unwrap_or_else(|_| usual.into());
    if Path::new(&value).exists() {
        return Command::new(value);
    }
    let mut words = value.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(usual));
    command.args(words);
    command
}

fn run(command: &mut Command) {
    let status = command.status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{:?} ended with {}", command, status),
        Err(error) => panic!("{:?} cannot be run: {}", command, error),
    }
}

// The folder with tarn.hpp and tarn.cpp.
fn amalgamate(root: &Path, out: &Path) {
    for part in ["src", "include/tarn", "dev/amalgamate"] {
        println!("cargo:rerun-if-changed={}", root.join(part).display());
    }
    run(Command::new(root.join("dev/amalgamate")).arg(out));
}

fn compile_library(out: &Path) {
    let object = out.join("tarn.o");
    run(tool("CXX", "c++")
        .args(["-std=c++20", "-O2", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fno-builtin-malloc"])
        .args(["-fno-semantic-interposition", "-fvisibility=hidden", "-ftls-model=initial-exec"])
        .arg("-c")
        .arg(out.join("tarn.cpp"))
        .arg("-o")
        .arg(&object));
    archive(&out.join("libtarn_plain.a"), &object);
}

fn archive(library: &Path, object: &Path) {
    let _ = std::fs::remove_file(library);
    run(tool("AR", "ar").arg("crs").arg(library).arg(object));
}

// Compiles the shim: inline functions of the headers as functions that Rust can call.
fn compile_shim(manifest: &Path, include: &Path, header: &str, out: &Path) {
    println!("cargo:rerun-if-changed=src/shim.c");
    let object = out.join("shim.o");
    run(tool("CC", "cc")
        .args(["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-DTARN_RUST_HEADER=\"{}\"", header))
        .arg("-I")
        .arg(include)
        .arg("-c")
        .arg(manifest.join("src/shim.c"))
        .arg("-o")
        .arg(&object));
    archive(&out.join("libtarn_shim.a"), &object);
}

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TARN_LIB_DIR");
    println!("cargo:rerun-if-env-changed=TARN_INCLUDE_DIR");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap();
    let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap();
    if system != "linux" || machine != "x86_64" {
        panic!("tarn is for Linux on x86-64, not for {} on {}", system, machine);
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=tarn_shim");
    if let Some(folder) = env::var_os("TARN_LIB_DIR").map(PathBuf::from) {
        if folder.is_relative() {
            panic!("TARN_LIB_DIR: {} is no absolute path", folder.display());
        }
        let library = folder.join("libtarn_plain.a");
        if !library.exists() {
            panic!("TARN_LIB_DIR: there is no {}", library.display());
        }
        let include = env::var_os("TARN_INCLUDE_DIR")
            .map_or_else(|| folder.join("../include"), PathBuf::from);
        println!("cargo:rerun-if-changed={}", library.display());
        println!("cargo:rustc-link-search=native={}", folder.display());
        compile_shim(&manifest, &include, "tarn/tarn.h", &out);
    } else {
        amalgamate(&manifest.join(".."), &out);
        compile_library(&out);
        compile_shim(&manifest, &out, "tarn.h", &out);
    }
    println!("cargo:rustc-link-lib=static=tarn_plain");
    println!("cargo:rustc-link-lib=pthread");
}
