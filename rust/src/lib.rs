//! tarn for Rust: a global allocator, heaps that end at once, and arenas.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: tarn::Tarn = tarn::Tarn;
//!
//! # fn main() -> std::io::Result<()> {
//! let heap = tarn::Heap::new("names")?;        // ends with its scope, and all its blocks with it
//! let name = heap.alloc_str("a name");         // borrowed from the heap
//! assert_eq!(&*name, "a name");
//!
//! let mut arena = tarn::Arena::new();          // an allocation moves a pointer
//! let numbers = arena.alloc_slice_fill_with(10, |i| i * i);
//! assert_eq!(numbers[3], 9);
//! arena.reset();                               // all of it ends; `numbers` cannot be used now
//! # Ok(())
//! # }
//! ```
//!
//! The library is compiled from the sources around the crate (see `build.rs`), and works beside
//! libc's malloc. With [`Tarn`] as the global allocator, memory that Rust allocates comes from
//! tarn, and memory that C libraries of the process allocate does not.
//!
//! SPDX-License-Identifier: MIT
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod arena;
mod fill;
mod global;
mod heap;
pub mod sys;

pub use arena::{Arena, ArenaOptions};
pub use global::Tarn;
pub use heap::{Heap, HeapBox, HeapOptions, HeapStats};

use std::ffi::CStr;
use std::fmt;

/// The error of allocations: there was no memory, or a limit was reached. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory, or at a limit")
    }
}

impl std::error::Error for OutOfMemory {}

/// The version of the library in use, as "major.minor.patch".
pub fn version() -> &'static str {
    // SAFETY: it is a constant string of digits and dots.
    unsafe { CStr::from_ptr(sys::tarn_version()) }.to_str().unwrap_or("")
}

/// Gives free memory beyond `pad` bytes back to the operating system. Returns whether there was
/// any.
pub fn trim(pad: usize) -> bool {
    // SAFETY: it may be called at any time.
    unsafe { sys::tarn_malloc_trim(pad) != 0 }
}
