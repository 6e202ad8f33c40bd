//! The global allocator.
//!
//! SPDX-License-Identifier: MIT
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

use crate::sys;

/// tarn as the allocator of a Rust program:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: tarn::Tarn = tarn::Tarn;
/// # fn main() {
/// let boxed = Box::new(7);
/// let owner = unsafe { tarn::sys::tarn_heap_of((&*boxed as *const i32).cast()) };
/// assert_eq!(owner.id, unsafe { tarn::sys::tarn_heap_main() }.id);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Tarn;

const USUAL_ALIGNMENT: usize = 16; // All blocks have it.

// SAFETY: blocks have the size and the alignment of the layout, and nothing here unwinds.
unsafe impl GlobalAlloc for Tarn {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size is allowed; a layout's alignment is a power of two.
        unsafe {
            if layout.align() <= USUAL_ALIGNMENT {
                sys::tarn_malloc(layout.size()).cast()
            } else {
                sys::tarn_aligned_alloc(layout.align(), layout.size()).cast()
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above; a block that is not null has the layout's size.
        unsafe {
            if layout.align() <= USUAL_ALIGNMENT {
                return sys::tarn_calloc(1, layout.size()).cast();
            }
            let block = self.alloc(layout);
            if !block.is_null() {
                ptr::write_bytes(block, 0, layout.size());
            }
            block
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: the caller promises a block of this allocator.
        unsafe { sys::tarn_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above; new_size is not 0.
        unsafe {
            if layout.align() <= USUAL_ALIGNMENT {
                return sys::tarn_realloc(block.cast(), new_size).cast();
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
