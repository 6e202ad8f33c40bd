//! Collections in heaps and arenas of tarn, on stable Rust: the [`Allocator`] of the crate
//! `allocator-api2`, for its own `Vec` and `Box` and for `hashbrown`'s maps.
//!
//! ```
//! use allocator_api2::vec::Vec;
//! use tarn_allocator_api2::InHeap;
//!
//! # fn main() -> std::io::Result<()> {
//! let heap = tarn::Heap::new("numbers")?;
//! let mut numbers = Vec::new_in(InHeap(&heap));
//! numbers.extend(0..1000);
//! assert!(heap.stats().live_bytes >= 4000);
//! # Ok(())
//! # }
//! ```
//!
//! A collection borrows its heap or arena, so it cannot outlive it:
//!
//! ```compile_fail,E0505
//! let heap = tarn::Heap::new("short").unwrap();
//! let kept = allocator_api2::boxed::Box::new_in(1, tarn_allocator_api2::InHeap(&heap));
//! drop(heap);                       // error: it is still borrowed
//! println!("{}", kept);
//! ```
//!
//! Where there is no memory, or a limit is reached, allocations fail as the collection says
//! (`try_reserve` returns an error). A collection that is forgotten loses its memory when the heap
//! or arena ends, and its elements are not dropped.
//!
//! SPDX-License-Identifier: MIT
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator, Layout};
use tarn::{sys, Arena, Heap};

const USUAL_ALIGNMENT: usize = 16; // All blocks of heaps have it.

/// Allocates from a heap. A collection in it may be sent to other threads if its elements may.
#[derive(Clone, Copy, Debug)]
pub struct InHeap<'heap>(pub &'heap Heap);

/// Allocates from an arena. The block that was allocated last is freed and grows in place; the
/// memory of any other one goes with the arena. Collections stay with the arena's thread.
///
/// ```compile_fail,E0277
/// let arena = tarn::Arena::new();
/// let kept = allocator_api2::boxed::Box::new_in(1, tarn_allocator_api2::InArena(&arena));
/// std::thread::scope(|threads| {
///     threads.spawn(move || drop(kept));       // error: the arena is this thread's
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InArena<'arena>(pub &'arena Arena);

// The two resizes that grow() does as well: it never looks which size is larger.
macro_rules! resizes_by_grow {
    () => {
        unsafe fn grow_zeroed(
            &self,
            block: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            // SAFETY: as grow().
            unsafe { zero_behind(self.grow(block, old, new)?, old) }
        }

        unsafe fn shrink(
            &self,
            block: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            // SAFETY: as grow().
            unsafe { self.grow(block, old, new) }
        }
    };
}

// SAFETY: blocks have the layout's size and alignment, and live until they are freed or the heap
// ends, which is borrowed. Copies are the same allocator.
unsafe impl Allocator for InHeap<'_> {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(empty(layout));
        }
        // SAFETY: the heap lives, and a layout's alignment is a power of two.
        let block = unsafe {
            if layout.align() <= USUAL_ALIGNMENT {
                sys::tarn_heap_allocate(self.0.as_raw(), layout.size())
            } else {
                sys::tarn_heap_allocate_aligned(self.0.as_raw(), layout.align(), layout.size())
            }
        };
        block_at(block.cast(), layout)
    }

    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 || layout.align() > USUAL_ALIGNMENT {
            let block = self.allocate(layout)?;
            // SAFETY: it is new, and has so many bytes.
            unsafe { block.as_ptr().cast::<u8>().write_bytes(0, layout.size()) };
            return Ok(block);
        }
        // SAFETY: the heap lives.
        let block =
            unsafe { sys::tarn_heap_allocate_zeroed(self.0.as_raw(), 1, layout.size()) };
        block_at(block.cast(), layout)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: it is a live block, and was asked for with this size.
            unsafe { sys::tarn_heap_deallocate_sized(block.as_ptr().cast(), layout.size()) }
        }
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 || new.size() == 0 || new.align() > USUAL_ALIGNMENT {
            // SAFETY: the caller says that this is a live block of the old layout.
            return unsafe { moved(self, block, old, new) };
        }
        // SAFETY: as above; without memory the block is as it was.
        let grown = unsafe {
            sys::tarn_heap_reallocate(self.0.as_raw(), block.as_ptr().cast(), new.size())
        };
        block_at(grown.cast(), new)
    }

    resizes_by_grow!();
}

// SAFETY: as above. Nothing frees an arena's blocks while it is borrowed.
unsafe impl Allocator for InArena<'_> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let block = self.0.try_place(layout).map_err(|_| AllocError)?;
        block_at(block.as_ptr(), layout)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            let arena = self.0.as_raw();
            // SAFETY: it is a live block of the arena's, of this size.
            unsafe { sys::tarn_arena_deallocate(arena, block.as_ptr().cast(), layout.size()) }
        }
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 || new.size() == 0 || new.align() > old.align() {
            // SAFETY: the caller says that this is a live block of the old layout.
            return unsafe { moved(self, block, old, new) };
        }
        // SAFETY: as above; without memory the block is as it was.
        let grown = unsafe {
            let (start, arena) = (block.as_ptr().cast(), self.0.as_raw());
            sys::tarn_arena_resize(arena, start, old.size(), new.size(), new.align())
        };
        block_at(grown.cast(), new)
    }

    resizes_by_grow!();
}

// For no bytes: an aligned address that is not null.
fn empty(layout: Layout) -> NonNull<[u8]> {
    let nothing = ptr::slice_from_raw_parts_mut(layout.align() as *mut u8, 0);
    // SAFETY: an alignment is not 0.
    unsafe { NonNull::new_unchecked(nothing) }
}

fn block_at(start: *mut u8, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    NonNull::new(ptr::slice_from_raw_parts_mut(start, layout.size())).ok_or(AllocError)
}

// A new block with what the old one had, which is freed. pre: it is live, and has the old layout
unsafe fn moved(
    allocator: &impl Allocator,
    block: NonNull<u8>,
    old: Layout,
    new: Layout,
) -> Result<NonNull<[u8]>, AllocError> {
    let to = allocator.allocate(new)?;
    let bytes = old.size().min(new.size());
    // SAFETY: both have so many bytes, and no byte is in both.
    unsafe {
        ptr::copy_nonoverlapping(block.as_ptr(), to.as_ptr().cast(), bytes);
        allocator.deallocate(block, old);
    }
    Ok(to)
}

// Zeroes what a block has beyond its old layout.
unsafe fn zero_behind(block: NonNull<[u8]>, old: Layout) -> Result<NonNull<[u8]>, AllocError> {
    // SAFETY: it has len() bytes, which are no fewer.
    unsafe {
        let rest = block.as_ptr().cast::<u8>().add(old.size());
        rest.write_bytes(0, block.len() - old.size());
    }
    Ok(block)
}
