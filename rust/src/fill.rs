//! Slices that a function fills in: what is there when it panics is dropped.
//!
//! SPDX-License-Identifier: MIT
use std::ptr;

struct Filled<T> {
    start: *mut T,
    count: usize,
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        // SAFETY: so many have been written.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.start, self.count)) }
    }
}

/// Writes `count` values to `start`.
///
/// # Safety
/// There is room for them, aligned; nobody else uses it.
pub(crate) unsafe fn fill<T>(start: *mut T, count: usize, mut value: impl FnMut(usize) -> T) {
    let mut filled = Filled { start, count: 0 };
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { start.add(i).write(value(i)) };
        filled.count = i + 1;
    }
    std::mem::forget(filled);
}
