//! Arenas.
//!
//! SPDX-License-Identifier: MIT
use std::alloc::{handle_alloc_error, Layout};
use std::ffi::c_void;
use std::fmt::{self, Write};
use std::io;
use std::mem;
use std::ptr::{self, NonNull};
use std::slice;

use crate::fill::fill;
use crate::{sys, OutOfMemory};

const GRAIN: usize = 8; // What blocks are rounded up to.

/// Memory that is given back all at once: an allocation moves a pointer, and there is nothing beside
/// a block. What is in it is borrowed from it, and cannot outlive it:
///
/// ```compile_fail,E0505
/// let arena = tarn::Arena::new();
/// let number = arena.alloc(1);
/// drop(arena);                        // error: it is still borrowed
/// println!("{}", number);
/// ```
///
/// An arena is one thread's at a time: it may be sent to another one, and not be shared.
///
/// ```compile_fail,E0277
/// let arena = tarn::Arena::new();
/// std::thread::scope(|threads| {
///     threads.spawn(|| *arena.alloc(1));      // error: Arena cannot be shared between threads
/// });
/// ```
///
/// Destructors do not run, so what has one is refused, unless it is said what should become of it
/// ([`Arena::alloc_dropped`], [`Arena::alloc_undropped`]):
///
/// ```compile_fail,E0080
/// let arena = tarn::Arena::new();
/// arena.alloc(String::from("text"));          // error: it would not be dropped
/// ```
pub struct Arena {
    raw: NonNull<sys::tarn_arena>,
}

// SAFETY: an arena has no thread; what it drops may be sent (alloc_dropped).
unsafe impl Send for Arena {}

/// How an arena is to be; see [`Arena::options`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ArenaOptions {
    chunk_bytes: usize,
    limit_bytes: usize,
    checked: bool,
}

impl ArenaOptions {
    /// The least that is asked for at a time; 0: 16 KiB.
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = bytes;
        self
    }
    /// Of all chunks, never exceeded; 0: none.
    pub fn limit_bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = bytes;
        self
    }
    /// Overruns (by unsafe code) are reported, and end the process.
    pub fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }
    /// Makes the arena, without memory yet.
    ///
    /// # Errors
    /// `InvalidInput` for numbers that make no sense, `OutOfMemory`.
    pub fn make(&self) -> io::Result<Arena> {
        // SAFETY: no pointer goes in.
        let raw = unsafe {
            sys::tarn_rust_arena_make(self.chunk_bytes, self.limit_bytes, self.checked.into())
        };
        NonNull::new(raw).map(|raw| Arena { raw }).ok_or_else(io::Error::last_os_error)
    }
}

// Refuses types with destructors when `alloc` is compiled for them.
struct NeedsNoDrop<T>(T);
impl<T> NeedsNoDrop<T> {
    const CHECKED: () = assert!(
        !mem::needs_drop::<T>(),
        "an arena runs no destructors: use alloc_dropped or alloc_undropped"
    );
}

impl Arena {
    /// An arena without limits. Out of memory ends the process.
    pub fn new() -> Self {
        Self::options()
            .make()
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<[usize; 40]>()))
    }

    /// For arenas that are to be otherwise.
    pub fn options() -> ArenaOptions {
        ArenaOptions::default()
    }

    /// Memory for a layout, which nothing is in yet. Of no bytes: an address that is aligned.
    ///
    /// # Errors
    /// At the limit, or out of memory.
    #[inline]
    pub fn try_place(&self, layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
        let (bytes, alignment) = (layout.size(), layout.align());
        let arena = self.raw.as_ptr();
        // SAFETY: the arena lives and is this thread's. As tarn_arena_allocate_aligned of
        // tarn/arena/arena.h, for alignments up to the grain.
        let block: *mut u8 = unsafe {
            let cursor = (*arena).cursor;
            let room = (*arena).end as usize - cursor as usize;
            if alignment <= GRAIN && bytes.wrapping_sub(1) < room {
                (*arena).cursor = cursor.add((bytes + GRAIN - 1) & !(GRAIN - 1));
                cursor
            } else if bytes == 0 {
                alignment as *mut u8
            } else {
                self.place_slow(bytes, alignment)
            }
        };
        NonNull::new(block).ok_or(OutOfMemory)
    }

    #[cold]
    #[inline(never)]
    fn place_slow(&self, bytes: usize, alignment: usize) -> *mut u8 {
        // SAFETY: as above; the slow path takes any size that is not in its room.
        unsafe { sys::tarn_arena_allocate_slow(self.raw.as_ptr(), bytes, alignment).cast() }
    }

    fn place_of<T>(&self, count: usize) -> Result<*mut T, OutOfMemory> {
        let layout = Layout::array::<T>(count).map_err(|_| OutOfMemory)?;
        Ok(self.try_place(layout)?.as_ptr().cast())
    }

    /// A value. Its type must have no destructor.
    ///
    /// # Errors
    /// At the limit, or out of memory.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, OutOfMemory> {
        #[allow(clippy::let_unit_value)]
        let () = NeedsNoDrop::<T>::CHECKED;
        self.try_alloc_undropped(value)
    }

    /// As [`Arena::try_alloc`]; out of memory ends the process as Rust's own allocations do.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        self.try_alloc(value).unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// A value whose destructor, if it has one, never runs.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`]; the value is dropped then.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_undropped<T>(&self, value: T) -> Result<&mut T, OutOfMemory> {
        let place: *mut T = self.try_place(Layout::new::<T>())?.as_ptr().cast();
        // SAFETY: room for a T that nobody else has, as long as the arena is borrowed.
        unsafe {
            place.write(value);
            Ok(&mut *place)
        }
    }

    /// As above; out of memory ends the process.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_undropped<T>(&self, value: T) -> &mut T {
        self.try_alloc_undropped(value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// A value that is dropped when the arena is reset, or ends: the last one first. It must not
    /// borrow anything, as nobody knows what lives then. A destructor that panics there ends the
    /// process. Takes 24 bytes more.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`]; the value is dropped then.
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_dropped<T: Send + 'static>(&self, value: T) -> Result<&mut T, OutOfMemory> {
        // There are frames of C between a destructor and who could know that it panicked. Nothing
        // is caught: what the panic carries may have a destructor that panics, too.
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                std::process::abort();
            }
        }
        unsafe extern "C" fn run<T>(value: *mut c_void) {
            let abort = Abort;
            // SAFETY: the value that was put there, for the last time.
            unsafe { ptr::drop_in_place(value.cast::<T>()) };
            mem::forget(abort);
        }
        let place: *mut T = self.try_place(Layout::new::<T>())?.as_ptr().cast();
        // SAFETY: the arena lives; `run` gets the value once, before its memory goes.
        unsafe {
            if sys::tarn_arena_on_release(self.raw.as_ptr(), run::<T>, place.cast()) != 0 {
                if mem::size_of::<T>() != 0 {
                    sys::tarn_arena_deallocate(
                        self.raw.as_ptr(),
                        place.cast(),
                        mem::size_of::<T>(),
                    );
                }
                return Err(OutOfMemory);
            }
            place.write(value);
            Ok(&mut *place)
        }
    }

    /// As above; out of memory ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_dropped<T: Send + 'static>(&self, value: T) -> &mut T {
        self.try_alloc_dropped(value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// A slice whose elements `value` makes, by their index; their type must have no destructor.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`], and for a size that cannot be.
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], OutOfMemory> {
        #[allow(clippy::let_unit_value)]
        let () = NeedsNoDrop::<T>::CHECKED;
        let place = self.place_of::<T>(count)?;
        // SAFETY: room for so many that nobody else has.
        unsafe {
            fill(place, count, value);
            Ok(slice::from_raw_parts_mut(place, count))
        }
    }

    /// As above; out of memory ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> &mut [T] {
        self.try_alloc_slice_fill_with(count, value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`].
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_slice_copy<T: Copy>(&self, from: &[T]) -> Result<&mut [T], OutOfMemory> {
        let place = self.place_of::<T>(from.len())?;
        // SAFETY: new memory, so nothing of `from` is in it.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), place, from.len());
            Ok(slice::from_raw_parts_mut(place, from.len()))
        }
    }

    /// As above; out of memory ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_slice_copy<T: Copy>(&self, from: &[T]) -> &mut [T] {
        self.try_alloc_slice_copy(from)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(from)))
    }

    /// A copy of a string.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`].
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_str(&self, text: &str) -> Result<&mut str, OutOfMemory> {
        let bytes = self.try_alloc_slice_copy(text.as_bytes())?;
        // SAFETY: the bytes of a str.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }

    /// As above; out of memory ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_str(&self, text: &str) -> &mut str {
        self.try_alloc_str(text)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(text)))
    }

    /// Formatted where it stays: `arena.alloc_format(format_args!("{}-{}", a, b))`.
    ///
    /// # Errors
    /// At the limit, out of memory, or when something's `Display` fails.
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_format(&self, text: fmt::Arguments<'_>) -> Result<&mut str, OutOfMemory> {
        let mut growing = Growing { arena: self, start: ptr::null_mut(), used: 0, room: 0 };
        growing.write_fmt(text).map_err(|_| OutOfMemory)?;
        if growing.used == 0 {
            return Ok(Default::default());
        }
        // SAFETY: so many bytes were written, of strs.
        unsafe {
            let bytes = slice::from_raw_parts_mut(growing.start, growing.used);
            Ok(std::str::from_utf8_unchecked_mut(bytes))
        }
    }

    /// As above; a failure panics.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_format(&self, text: fmt::Arguments<'_>) -> &mut str {
        self.try_alloc_format(text).expect("formatted in the arena")
    }

    /// Ends all that is in it, and keeps as much memory as is typically used. Nothing may be
    /// borrowed:
    ///
    /// ```compile_fail,E0502
    /// let mut arena = tarn::Arena::new();
    /// let number = arena.alloc(1);
    /// arena.reset();                      // error: it is still borrowed
    /// println!("{}", number);
    /// ```
    pub fn reset(&mut self) {
        // SAFETY: nobody has a block of it.
        unsafe { sys::tarn_arena_reset(self.raw.as_ptr()) }
    }

    /// Calls `body` with the arena, and ends what it allocated there afterwards, also when it
    /// panics. Nothing of that can leave:
    ///
    /// ```compile_fail
    /// let mut arena = tarn::Arena::new();
    /// let number = arena.scope(|inner| inner.alloc(1));    // error: it would outlive the scope
    /// ```
    pub fn scope<R>(&mut self, body: impl FnOnce(&Arena) -> R) -> R {
        struct Rewind {
            arena: *mut sys::tarn_arena,
            mark: sys::tarn_arena_mark,
        }
        impl Drop for Rewind {
            fn drop(&mut self) {
                // SAFETY: the mark is of this arena, and nothing older was given back since.
                unsafe { sys::tarn_arena_rewind(self.arena, &self.mark) }
            }
        }
        let mut rewind = Rewind { arena: self.raw.as_ptr(), mark: sys::tarn_arena_mark::new() };
        // SAFETY: the arena lives; there is room for the mark.
        unsafe { sys::tarn_rust_arena_mark_of(rewind.arena, &mut rewind.mark) };
        body(self)
    }

    /// Gives memory that is not in use back. Returns the bytes.
    pub fn trim(&mut self) -> usize {
        // SAFETY: the arena lives.
        unsafe { sys::tarn_arena_trim(self.raw.as_ptr()) }
    }

    /// Bytes in use, and bytes that it has. Linear in its chunks.
    pub fn used_and_held(&self) -> (u64, u64) {
        let (mut used, mut held) = (0, 0);
        // SAFETY: the arena lives.
        unsafe { sys::tarn_rust_arena_used(self.raw.as_ptr(), &mut used, &mut held) };
        (used, held)
    }

    /// Whether an address is in memory of the arena that is in use.
    pub fn owns<T: ?Sized>(&self, p: *const T) -> bool {
        // SAFETY: any pointer is allowed.
        unsafe { sys::tarn_arena_owns(self.raw.as_ptr(), p.cast()) != 0 }
    }

    /// For the C functions.
    pub fn as_raw(&self) -> *mut sys::tarn_arena {
        self.raw.as_ptr()
    }
}

// A string that grows at the end of the arena, and elsewhere if something else was allocated.
struct Growing<'arena> {
    arena: &'arena Arena,
    start: *mut u8,
    used: usize,
    room: usize,
}

impl fmt::Write for Growing<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.is_empty() {
            return Ok(()); // There may be no block, and null is no place even for no bytes.
        }
        let used = self.used.checked_add(text.len()).ok_or(fmt::Error)?;
        if used > self.room {
            // SAFETY: the block is the arena's and has `room` bytes, or there is none yet.
            let p = unsafe {
                let arena = self.arena.raw.as_ptr();
                sys::tarn_arena_resize(arena, self.start.cast(), self.room, used, 1)
            };
            if p.is_null() {
                return Err(fmt::Error);
            }
            self.start = p.cast();
            self.room = used;
        }
        // SAFETY: there is room, and `text` is not in it.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), self.start.add(self.used), text.len());
        }
        self.used = used;
        Ok(())
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: nobody has a block of it, and this is its only owner.
        unsafe { sys::tarn_rust_arena_end(self.raw.as_ptr()) }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, held) = self.used_and_held();
        f.debug_struct("Arena").field("used", &used).field("held", &held).finish()
    }
}
