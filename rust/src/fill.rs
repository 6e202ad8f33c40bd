//! Slices that a function fills in. If it panics, the elements written so far are dropped.
//!
//! SPDX-License-Identifier: MIT
use std::ptr;

struct Filled<T> {
    start: *mut T,
    count: usize,
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        // SAFETY: so many elements have been written.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.start, self.count)) }
    }
}

/// Writes `count` values to `start`, each made by `value` from its index.
///
/// # Safety
/// There must be room for them at `start`, aligned, that nothing else uses.
pub(crate) unsafe fn fill<T>(start: *mut T, count: usize, mut value: impl FnMut(usize) -> T) {
    let mut filled = Filled { start, count: 0 };
    for i in 0..count {
        // SAFETY: the caller promises it.
        unsafe { start.add(i).write(value(i)) };
        filled.count = i + 1;
    }
    std::mem::forget(filled);
}
