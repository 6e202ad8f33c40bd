//! Heaps of your own.
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

/// A heap: blocks of any size for any thread, with a name, a ceiling and exact statistics. It ends
/// with its scope, without looking at its blocks, and all of them end with it; so they borrow from
/// it.
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

// SAFETY: heaps are made so that any thread may use them: never confined ones.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

/// The options of a heap; see [`Heap::options`].
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
    /// A name for reports. At most 31 bytes of it are kept.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }
    /// Uses one lock instead of memory for each thread: the smallest footprint.
    pub fn serialised(mut self, serialised: bool) -> Self {
        self.serialised = serialised;
        self
    }
    /// Checks blocks: wrong frees, overruns and writes after the end are reported and end the
    /// process.
    pub fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }
    /// The committed bytes that the heap never exceeds. 0: no limit.
    pub fn ceiling_bytes(mut self, bytes: usize) -> Self {
        self.ceiling_bytes = bytes;
        self
    }
    /// The committed bytes that stay the heap's even when it is empty.
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
    /// `InvalidInput` for options that make no sense, `OutOfMemory` when there is no memory for it.
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
        // SAFETY: both live during the call, and what they point to is copied.
        match unsafe { sys::tarn_rust_heap_make(&options, &mut heap) } {
            0 => Ok(Heap { heap }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// What a heap has. The numbers are exact when no other thread is inside it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapStats {
    /// Blocks that were allocated and not freed yet.
    pub live_blocks: u64,
    /// Their bytes, as they were rounded up.
    pub live_bytes: u64,
    /// The most that these have been.
    pub live_bytes_peak: u64,
    /// The bytes that the heap has taken.
    pub committed_bytes: u64,
    /// The most that these have been.
    pub committed_bytes_peak: u64,
    /// Places for a block that are free in its pages.
    pub free_blocks: u64,
}

impl Heap {
    /// Makes a heap for any thread, without limits.
    ///
    /// # Errors
    /// As [`HeapOptions::make`].
    pub fn new(name: &str) -> io::Result<Self> {
        Self::options().name(name).make()
    }

    /// Options for a heap that differs from the default one.
    pub fn options() -> HeapOptions {
        HeapOptions::default()
    }

    // The result is never null. For 0 bytes there is no block.
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

    /// Puts a value into the heap. With the box the value is dropped and its block freed. A
    /// forgotten box loses its memory when the heap ends, without a drop.
    ///
    /// # Errors
    /// [`OutOfMemory`] at the ceiling, or when there is no memory; the value is dropped then.
    pub fn try_alloc<T>(&self, value: T) -> Result<HeapBox<'_, T>, OutOfMemory> {
        let place = self.place(Layout::new::<T>())?.cast::<T>();
        // SAFETY: there is room for a T, and nothing else uses it.
        unsafe { place.as_ptr().write(value) };
        Ok(HeapBox::at(place))
    }

    /// As [`Heap::try_alloc`], but without memory it ends the process, as Rust's own allocations
    /// do.
    pub fn alloc<T>(&self, value: T) -> HeapBox<'_, T> {
        self.try_alloc(value).unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// Puts a slice into the heap, whose elements `value` makes from their indices.
    ///
    /// # Errors
    /// As [`Heap::try_alloc`], and for a size that no allocation can have.
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
        // SAFETY: there is room for so many.
        unsafe { fill(place.as_ptr(), count, value) };
        mem::forget(slots);
        Ok(HeapBox::at(slice_at(place, count)))
    }

    /// As [`Heap::try_alloc_slice_fill_with`], but without memory it ends the process.
    pub fn alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> HeapBox<'_, [T]> {
        self.try_alloc_slice_fill_with(count, value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// Copies a slice into the heap.
    ///
    /// # Errors
    /// As [`Heap::try_alloc`].
    pub fn try_alloc_slice_copy<T: Copy>(
        &self,
        from: &[T],
    ) -> Result<HeapBox<'_, [T]>, OutOfMemory> {
        self.try_alloc_slice_fill_with(from.len(), |i| from[i])
    }

    /// As [`Heap::try_alloc_slice_copy`], but without memory it ends the process.
    pub fn alloc_slice_copy<T: Copy>(&self, from: &[T]) -> HeapBox<'_, [T]> {
        self.try_alloc_slice_copy(from)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(from)))
    }

    /// Copies a string into the heap.
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

    /// As [`Heap::try_alloc_str`], but without memory it ends the process.
    pub fn alloc_str(&self, text: &str) -> HeapBox<'_, str> {
        self.try_alloc_str(text)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(text)))
    }

    /// Ends all blocks, which are those of forgotten boxes; the heap stays. It cannot be called
    /// while blocks are borrowed:
    ///
    /// ```compile_fail,E0502
    /// let mut heap = tarn::Heap::new("cleared").unwrap();
    /// let block = heap.alloc(1).leak();
    /// heap.clear();                      // error: it is still borrowed
    /// println!("{}", block);
    /// ```
    pub fn clear(&mut self) {
        // SAFETY: no block of it is borrowed.
        unsafe { sys::tarn_heap_clear(self.heap) };
    }

    /// Gives empty pages back as long as more than `keep_bytes` stay. Returns the bytes given.
    pub fn trim(&self, keep_bytes: usize) -> usize {
        // SAFETY: the heap lives.
        unsafe { sys::tarn_heap_trim(self.heap, keep_bytes) }
    }

    /// The statistics of the heap.
    pub fn stats(&self) -> HeapStats {
        let mut stats = HeapStats::default();
        // SAFETY: the heap lives.
        unsafe { sys::tarn_rust_heap_stats_of(self.heap, &mut stats) };
        stats
    }

    /// The name, as far as it was kept.
    pub fn name(&self) -> String {
        // SAFETY: the name is valid as long as the heap.
        let name = unsafe { CStr::from_ptr(sys::tarn_heap_name(self.heap)) };
        name.to_string_lossy().into_owned()
    }

    /// The handle for the C functions.
    pub fn as_raw(&self) -> sys::tarn_heap {
        self.heap
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: no block of it is borrowed, and this is its only owner.
        unsafe { sys::tarn_heap_destroy(self.heap) };
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("name", &self.name()).field("stats", &self.stats()).finish()
    }
}

fn dangling(layout: Layout) -> NonNull<u8> {
    // An aligned address that is not null, for values of no bytes.
    NonNull::new(layout.align() as *mut u8).unwrap()
}

fn slice_at<T>(start: NonNull<T>, count: usize) -> NonNull<[T]> {
    let slice = ptr::slice_from_raw_parts_mut(start.as_ptr(), count);
    // SAFETY: the start is not null.
    unsafe { NonNull::new_unchecked(slice) }
}

/// The owner of a value in a [`Heap`], as `Box` owns one in the global heap. It may be sent to
/// other threads if the value may:
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
// SAFETY: a shared box gives out only shared references.
unsafe impl<T: ?Sized + Sync> Sync for HeapBox<'_, T> {}

impl<'heap, T: ?Sized> HeapBox<'heap, T> {
    fn at(pointer: NonNull<T>) -> Self {
        Self { pointer, heap: PhantomData, value: PhantomData }
    }

    /// Gives the box up and returns the value, which stays until the heap ends or is cleared, and
    /// is not dropped.
    pub fn leak(self) -> &'heap mut T {
        let mut pointer = self.pointer;
        mem::forget(self);
        // SAFETY: nothing else has it, and the block lives as long as the heap is borrowed.
        unsafe { pointer.as_mut() }
    }
}

impl<T> HeapBox<'_, T> {
    /// Moves the value out and frees the block.
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
        struct Block(*mut u8); // Freed even if the value's drop panics.
        impl Drop for Block {
            fn drop(&mut self) {
                // SAFETY: it is a block of the heap's, or null.
                unsafe { sys::tarn_heap_deallocate(self.0.cast()) }
            }
        }
        // SAFETY: the value is valid until here.
        let bytes = mem::size_of_val(unsafe { self.pointer.as_ref() });
        let start = self.pointer.as_ptr().cast::<u8>();
        let _block = Block(if bytes == 0 { ptr::null_mut() } else { start });
        // SAFETY: the value is dropped once, here.
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
        // SAFETY: as above, and nothing else has it now.
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
