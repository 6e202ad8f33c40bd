//! Heaps of one's own.
//!
//! SPDX-License-Identifier: MIT
use std::alloc::{handle_alloc_error, Layout};
use std::ffi::{CStr, CString};
use std::io;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::{cmp, fmt, hash};

use crate::fill::fill;
use crate::{sys, OutOfMemory};

/// A heap: blocks of any size from any thread, with a name, a ceiling and exact statistics. It ends
/// with its scope, in constant time, and with it all its blocks; so they borrow from it.
///
/// ```compile_fail,E0505
/// let heap = tarn::Heap::new("short").unwrap();
/// let block = heap.alloc(1);
/// drop(heap);                       // error: the block still borrows the heap
/// println!("{}", *block);
/// ```
///
/// ```compile_fail,E0597
/// let block;
/// {
///     let heap = tarn::Heap::new("short").unwrap();
///     block = heap.alloc(String::from("text"));   // error: `heap` does not live long enough
/// }
/// println!("{}", *block);
/// ```
pub struct Heap {
    heap: sys::tarn_heap,
}

// SAFETY: heaps are made so that any thread may use them (never confined ones).
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

/// How a heap is to be; see [`Heap::options`].
#[derive(Clone, Debug, Default)]
pub struct HeapOptions {
    name: String,
    serialised: bool,
    checked: bool,
    ceiling_bytes: usize,
    floor_bytes: usize,
    classes: Vec<usize>,
}

impl HeapOptions {
    /// Shown in reports; at most 31 bytes are kept.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }
    /// One lock instead of memory for each thread: the smallest footprint.
    pub fn serialised(mut self, serialised: bool) -> Self {
        self.serialised = serialised;
        self
    }
    /// Wrong frees, overruns and writes after the end are reported, and end the process.
    pub fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }
    /// Of committed memory, never exceeded; 0: none.
    pub fn ceiling_bytes(mut self, bytes: usize) -> Self {
        self.ceiling_bytes = bytes;
        self
    }
    /// Of committed memory that stays the heap's although it is empty.
    pub fn floor_bytes(mut self, bytes: usize) -> Self {
        self.floor_bytes = bytes;
        self
    }
    /// A class table of its own: ascending multiples of 16 up to 128 KiB, at most 128.
    pub fn classes(mut self, class_bytes: &[usize]) -> Self {
        self.classes = class_bytes.into();
        self
    }
    /// Makes the heap.
    ///
    /// # Errors
    /// `InvalidInput` for options that make no sense, `OutOfMemory` when there is none for it.
    pub fn make(&self) -> io::Result<Heap> {
        let name = CString::new(self.name.as_str())?;
        let options = sys::tarn_rust_heap_options {
            name: name.as_ptr(),
            serialised: self.serialised.into(),
            checked: self.checked.into(),
            ceiling_bytes: self.ceiling_bytes,
            floor_bytes: self.floor_bytes,
            class_bytes: if self.classes.is_empty() { ptr::null() } else { self.classes.as_ptr() },
            class_count: self.classes.len(),
        };
        let mut heap = sys::tarn_heap { record: ptr::null_mut(), id: 0 };
        // SAFETY: both live during the call; what they point to is copied.
        match unsafe { sys::tarn_rust_heap_make(&options, &mut heap) } {
            0 => Ok(Heap { heap }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// What a heap has; exact when no other thread is inside it.
pub type HeapStats = sys::tarn_rust_heap_stats;

impl Heap {
    /// A heap for any thread, without limits.
    ///
    /// # Errors
    /// As [`HeapOptions::make`].
    pub fn new(name: &str) -> io::Result<Self> {
        Self::options().name(name).make()
    }

    /// For heaps that are to be otherwise.
    pub fn options() -> HeapOptions {
        HeapOptions::default()
    }

    // Never null; without a block for no bytes.
    fn place(&self, layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
        if layout.size() == 0 {
            return Ok(dangling(layout));
        }
        // SAFETY: the heap lives, and an alignment is a power of two.
        let block = unsafe {
            if layout.align() <= 16 {
                sys::tarn_heap_allocate(self.heap, layout.size())
            } else {
                sys::tarn_heap_allocate_aligned(self.heap, layout.align(), layout.size())
            }
        };
        NonNull::new(block.cast()).ok_or(OutOfMemory)
    }

    /// A value in the heap. It is dropped, and its block freed, with the box; a box that is
    /// forgotten loses its memory when the heap ends, without a drop.
    ///
    /// # Errors
    /// At the ceiling, or out of memory; the value is dropped.
    pub fn try_alloc<T>(&self, value: T) -> Result<HeapBox<'_, T>, OutOfMemory> {
        let place = self.place(Layout::new::<T>())?.cast::<T>();
        // SAFETY: room for a T that nobody else has.
        unsafe { place.as_ptr().write(value) };
        Ok(HeapBox::at(place))
    }

    /// As [`Heap::try_alloc`]; out of memory ends the process as Rust's own allocations do.
    pub fn alloc<T>(&self, value: T) -> HeapBox<'_, T> {
        self.try_alloc(value).unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// A slice whose elements `value` makes, by their index.
    ///
    /// # Errors
    /// As [`Heap::try_alloc`], and for a size that cannot be.
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> Result<HeapBox<'_, [T]>, OutOfMemory> {
        let layout = Layout::array::<T>(count).map_err(|_| OutOfMemory)?;
        let place = self.place(layout)?.cast::<T>();
        // Frees the block when `value` panics.
        let slots: HeapBox<'_, [MaybeUninit<T>]> =
            HeapBox::at(slice_at(place.cast::<MaybeUninit<T>>(), count));
        // SAFETY: room for so many.
        unsafe { fill(place.as_ptr(), count, value) };
        mem::forget(slots);
        Ok(HeapBox::at(slice_at(place, count)))
    }

    /// As above; out of memory ends the process.
    pub fn alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> HeapBox<'_, [T]> {
        self.try_alloc_slice_fill_with(count, value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// As [`Heap::try_alloc`].
    pub fn try_alloc_slice_copy<T: Copy>(
        &self,
        from: &[T],
    ) -> Result<HeapBox<'_, [T]>, OutOfMemory> {
        self.try_alloc_slice_fill_with(from.len(), |i| from[i])
    }

    /// As above; out of memory ends the process.
    pub fn alloc_slice_copy<T: Copy>(&self, from: &[T]) -> HeapBox<'_, [T]> {
        self.try_alloc_slice_copy(from)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(from)))
    }

    /// A copy of a string.
    ///
    /// # Errors
    /// As [`Heap::try_alloc`].
    pub fn try_alloc_str(&self, text: &str) -> Result<HeapBox<'_, str>, OutOfMemory> {
        let bytes = self.try_alloc_slice_copy(text.as_bytes())?;
        let place = NonNull::new(bytes.pointer.as_ptr() as *mut str);
        mem::forget(bytes);
        // The bytes are those of a str, and the pointer that of a slice: not null.
        Ok(HeapBox::at(place.unwrap()))
    }

    /// As above; out of memory ends the process.
    pub fn alloc_str(&self, text: &str) -> HeapBox<'_, str> {
        self.try_alloc_str(text)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(text)))
    }

    /// Ends all blocks, those of forgotten boxes; the heap stays. Borrowed blocks keep it from
    /// being called:
    ///
    /// ```compile_fail,E0502
    /// let mut heap = tarn::Heap::new("cleared").unwrap();
    /// let block = heap.alloc(1).leak();
    /// heap.clear();                      // error: it is still borrowed
    /// println!("{}", block);
    /// ```
    pub fn clear(&mut self) {
        // SAFETY: nobody has a block of it.
        unsafe { sys::tarn_heap_clear(self.heap) };
    }

    /// Gives empty pages back, as long as more than `keep_bytes` stay. Returns the bytes.
    pub fn trim(&self, keep_bytes: usize) -> usize {
        // SAFETY: the heap lives.
        unsafe { sys::tarn_heap_trim(self.heap, keep_bytes) }
    }

    /// What it has now.
    pub fn stats(&self) -> HeapStats {
        let mut stats = HeapStats::default();
        // SAFETY: the heap lives.
        unsafe { sys::tarn_rust_heap_stats_of(self.heap, &mut stats) };
        stats
    }

    /// As far as it was kept.
    pub fn name(&self) -> String {
        // SAFETY: valid as long as the heap.
        let name = unsafe { CStr::from_ptr(sys::tarn_heap_name(self.heap)) };
        name.to_string_lossy().into_owned()
    }

    /// For the C functions.
    pub fn as_raw(&self) -> sys::tarn_heap {
        self.heap
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: nobody has a block of it, and this is its only owner.
        unsafe { sys::tarn_heap_destroy(self.heap) };
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("name", &self.name()).field("stats", &self.stats()).finish()
    }
}

fn dangling(layout: Layout) -> NonNull<u8> {
    // An address that is aligned, and not null.
    NonNull::new(layout.align() as *mut u8).unwrap()
}

fn slice_at<T>(start: NonNull<T>, count: usize) -> NonNull<[T]> {
    let slice = ptr::slice_from_raw_parts_mut(start.as_ptr(), count);
    // SAFETY: the start is not null.
    unsafe { NonNull::new_unchecked(slice) }
}

/// The owner of a value in a [`Heap`], as `Box` is of one in the global heap. It may go to other
/// threads if the value may:
///
/// ```compile_fail,E0277
/// let heap = tarn::Heap::new("threads").unwrap();
/// let shared = heap.alloc(std::rc::Rc::new(1));
/// std::thread::scope(|threads| {
///     threads.spawn(move || drop(shared));       // error: Rc cannot be sent
/// });
/// ```
pub struct HeapBox<'heap, T: ?Sized> {
    pointer: NonNull<T>,
    heap: PhantomData<&'heap Heap>,
    value: PhantomData<T>,
}

// SAFETY: it owns its value, and any thread may free a block.
unsafe impl<T: ?Sized + Send> Send for HeapBox<'_, T> {}
// SAFETY: a shared box gives shared values only.
unsafe impl<T: ?Sized + Sync> Sync for HeapBox<'_, T> {}

impl<'heap, T: ?Sized> HeapBox<'heap, T> {
    fn at(pointer: NonNull<T>) -> Self {
        Self { pointer, heap: PhantomData, value: PhantomData }
    }

    /// The value without its box: it stays until the heap ends or is cleared, and is not dropped.
    pub fn leak(self) -> &'heap mut T {
        let mut pointer = self.pointer;
        mem::forget(self);
        // SAFETY: nobody else has it, and the block lives as long as the heap is borrowed.
        unsafe { pointer.as_mut() }
    }
}

impl<T> HeapBox<'_, T> {
    /// The value, moved out; the block is freed.
    pub fn into_inner(self) -> T {
        // SAFETY: it is read once, and not dropped here.
        let value = unsafe { self.pointer.as_ptr().read() };
        let block: HeapBox<'_, MaybeUninit<T>> = HeapBox::at(self.pointer.cast());
        mem::forget(self);
        drop(block);
        value
    }
}

impl<T: ?Sized> Drop for HeapBox<'_, T> {
    fn drop(&mut self) {
        struct Block(*mut u8); // Freed also when the value's drop panics.
        impl Drop for Block {
            fn drop(&mut self) {
                // SAFETY: a block of the heap's; null: of none.
                unsafe { sys::tarn_heap_deallocate(self.0.cast()) }
            }
        }
        // SAFETY: it is valid until here.
        let bytes = mem::size_of_val(unsafe { self.pointer.as_ref() });
        let start = self.pointer.as_ptr().cast::<u8>();
        let _block = Block(if bytes == 0 { ptr::null_mut() } else { start });
        // SAFETY: dropped once.
        unsafe { ptr::drop_in_place(self.pointer.as_ptr()) };
    }
}

impl<T: ?Sized> Deref for HeapBox<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: it owns a valid value.
        unsafe { self.pointer.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for HeapBox<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and nobody else has it now.
        unsafe { self.pointer.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for HeapBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for HeapBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + PartialEq> PartialEq for HeapBox<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
impl<T: ?Sized + Eq> Eq for HeapBox<'_, T> {}
impl<T: ?Sized + PartialOrd> PartialOrd for HeapBox<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}
impl<T: ?Sized + Ord> Ord for HeapBox<'_, T> {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        (**self).cmp(&**other)
    }
}
impl<T: ?Sized + hash::Hash> hash::Hash for HeapBox<'_, T> {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state)
    }
}
