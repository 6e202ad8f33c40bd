//! The C functions that the crate is made of, unchanged. tarn/heap/malloc.h, tarn/heap/heap.h and
//! tarn/arena/arena.h say what each function promises; those that begin with `tarn_rust` are in
//! `src/shim.c`.
//!
//! SPDX-License-Identifier: MIT
#![allow(non_camel_case_types, missing_docs)]

use std::os::raw::{c_char, c_int, c_void};

use crate::HeapStats;

/// The handle of a heap: two words, which may be copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tarn_heap {
    pub record: *mut c_void,
    pub id: u64,
}

#[repr(C)]
pub struct tarn_rust_heap_options {
    pub name: *const c_char,
    pub serialised: c_int,
    pub checked: c_int,
    pub ceiling_bytes: usize,
    pub floor_bytes: usize,
    pub class_bytes: *const usize,
    pub class_count: usize,
}

/// The first fields of an arena, which must stay where `tarn_rust_arena_make` put it.
#[repr(C)]
pub struct tarn_arena {
    pub cursor: *mut u8,
    pub end: *mut u8,
    rest: [u8; 0],
}

#[repr(C)]
pub struct tarn_arena_mark {
    words: [u64; 5],
}

impl tarn_arena_mark {
    pub const fn new() -> Self {
        Self { words: [0; 5] }
    }
}

impl Default for tarn_arena_mark {
    fn default() -> Self {
        Self::new()
    }
}

pub type Run = unsafe extern "C" fn(*mut c_void);

extern "C" {
    pub fn tarn_malloc(size: usize) -> *mut c_void;
    pub fn tarn_calloc(count: usize, size: usize) -> *mut c_void;
    pub fn tarn_realloc(p: *mut c_void, size: usize) -> *mut c_void;
    pub fn tarn_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    pub fn tarn_free(p: *mut c_void);
    pub fn tarn_malloc_usable_size(p: *const c_void) -> usize;
    pub fn tarn_malloc_trim(pad: usize) -> c_int;
    pub fn tarn_version() -> *const c_char;

    pub fn tarn_heap_main() -> tarn_heap;
    pub fn tarn_heap_of(p: *const c_void) -> tarn_heap;
    pub fn tarn_heap_owns(heap: tarn_heap, p: *const c_void) -> c_int;
    pub fn tarn_heap_allocate(heap: tarn_heap, size: usize) -> *mut c_void;
    pub fn tarn_heap_allocate_aligned(
        heap: tarn_heap,
        alignment: usize,
        size: usize,
    ) -> *mut c_void;
    pub fn tarn_heap_allocate_zeroed(heap: tarn_heap, count: usize, size: usize) -> *mut c_void;
    pub fn tarn_heap_reallocate(heap: tarn_heap, p: *mut c_void, size: usize) -> *mut c_void;
    pub fn tarn_heap_deallocate(p: *mut c_void);
    pub fn tarn_heap_deallocate_sized(p: *mut c_void, size: usize);
    pub fn tarn_heap_clear(heap: tarn_heap) -> c_int;
    pub fn tarn_heap_destroy(heap: tarn_heap) -> c_int;
    pub fn tarn_heap_trim(heap: tarn_heap, keep_bytes: usize) -> usize;
    pub fn tarn_heap_name(heap: tarn_heap) -> *const c_char;

    pub fn tarn_arena_allocate_slow(
        arena: *mut tarn_arena,
        bytes: usize,
        alignment: usize,
    ) -> *mut c_void;
    pub fn tarn_arena_resize(
        arena: *mut tarn_arena,
        p: *mut c_void,
        old_bytes: usize,
        bytes: usize,
        alignment: usize,
    ) -> *mut c_void;
    pub fn tarn_arena_deallocate(arena: *mut tarn_arena, p: *mut c_void, bytes: usize);
    pub fn tarn_arena_on_release(
        arena: *mut tarn_arena,
        run: Run,
        context: *mut c_void,
    ) -> c_int;
    pub fn tarn_arena_rewind(arena: *mut tarn_arena, mark: *const tarn_arena_mark);
    pub fn tarn_arena_reset(arena: *mut tarn_arena);
    pub fn tarn_arena_trim(arena: *mut tarn_arena) -> usize;
    pub fn tarn_arena_owns(arena: *const tarn_arena, p: *const c_void) -> c_int;

    pub fn tarn_rust_heap_make(
        options: *const tarn_rust_heap_options,
        heap: *mut tarn_heap,
    ) -> c_int;
    pub fn tarn_rust_heap_stats_of(heap: tarn_heap, stats: *mut HeapStats);
    pub fn tarn_rust_arena_make(
        chunk_bytes: usize,
        limit_bytes: usize,
        checked: c_int,
    ) -> *mut tarn_arena;
    pub fn tarn_rust_arena_end(arena: *mut tarn_arena);
    pub fn tarn_rust_arena_used(arena: *const tarn_arena, used: *mut u64, held: *mut u64);
    pub fn tarn_rust_arena_mark_of(arena: *const tarn_arena, mark: *mut tarn_arena_mark);
}
