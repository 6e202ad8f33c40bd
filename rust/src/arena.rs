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

const GRAIN: usize = 8; // Blocks are rounded up to it.

/// Memory that is given back all at once. An allocation moves a pointer, and a block takes no more
/// than its own bytes. Values in an arena are borrowed from it and cannot outlive it:
///
/// ```compile_fail,E0505
/// let arena = tarn::Arena::new();
/// let number = arena.alloc(1);
/// drop(arena);                        // error: it is still borrowed
/// println!("{}", number);
/// ```
///
/// An arena belongs to one thread at a time: it may be sent to another one, but not shared.
///
/// ```compile_fail,E0277
/// let arena = tarn::Arena::new();
/// std::thread::scope(|threads| {
///     threads.spawn(|| *arena.alloc(1));      // error: Arena cannot be shared between threads
/// });
/// ```
///
/// Destructors do not run, so types that have one are refused, unless the call says what should
/// become of the value ([`Arena::alloc_dropped`], [`Arena::alloc_undropped`]):
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

/// The options of an arena; see [`Arena::options`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ArenaOptions {
    chunk_bytes: usize,
    limit_bytes: usize,
    checked: bool,
}

impl ArenaOptions {
    /// The smallest chunk that the arena asks for, in bytes. 0 stands for 16 KiB.
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = bytes;
        self
    }
    /// A limit on the bytes of all chunks, which is never exceeded. 0: no limit.
    pub fn limit_bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = bytes;
        self
    }
    /// Checks blocks for overruns by unsafe code. They are reported and end the process.
    pub fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }
    /// Makes the arena. Memory is taken with the first allocation.
    ///
    /// # Errors
    /// `InvalidInput` for numbers that make no sense, `OutOfMemory` when there is no memory.
    pub fn make(&self) -> io::Result<Arena> {
        // SAFETY: no pointer goes in.
        let raw = unsafe {
            sys::tarn_rust_arena_make(self.chunk_bytes, self.limit_bytes, self.checked.into())
        };
        NonNull::new(raw).map(|raw| Arena { raw }).ok_or_else(io::Error::last_os_error)
    }
}

// Makes the compiler refuse `alloc` for types with destructors.
struct NeedsNoDrop<T>(T);
impl<T> NeedsNoDrop<T> {
    const CHECKED: () = assert!(
        !mem::needs_drop::<T>(),
        "an arena runs no destructors: use alloc_dropped or alloc_undropped"
    );
}

impl Arena {
    /// An arena with the default options. The process ends when there is no memory for it.
    pub fn new() -> Self {
        Self::options()
            .make()
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<[usize; 40]>()))
    }

    /// Options for an arena that differs from the default one.
    pub fn options() -> ArenaOptions {
        ArenaOptions::default()
    }

    /// Uninitialised memory for a layout. For 0 bytes it is an aligned address that must not be
    /// accessed.
    ///
    /// # Errors
    /// [`OutOfMemory`] at the limit, or when there is no memory.
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

    /// Puts a value into the arena. Its type must have no destructor.
    ///
    /// # Errors
    /// [`OutOfMemory`] at the limit, or when there is no memory.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, OutOfMemory> {
        #[allow(clippy::let_unit_value)]
        let () = NeedsNoDrop::<T>::CHECKED;
        self.try_alloc_undropped(value)
    }

    /// As [`Arena::try_alloc`], but without memory it ends the process, as Rust's own allocations
    /// do.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        self.try_alloc(value).unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// Puts a value into the arena whose destructor, if it has one, never runs.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`]; the value is dropped then.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_undropped<T>(&self, value: T) -> Result<&mut T, OutOfMemory> {
        let place: *mut T = self.try_place(Layout::new::<T>())?.as_ptr().cast();
        // SAFETY: there is room for a T that nothing else uses as long as the arena is borrowed.
        unsafe {
            place.write(value);
            Ok(&mut *place)
        }
    }

    /// As [`Arena::try_alloc_undropped`], but without memory it ends the process.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_undropped<T>(&self, value: T) -> &mut T {
        self.try_alloc_undropped(value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// Puts a value into the arena that is dropped when the arena is reset or ends, the last one
    /// first. It must not borrow anything, since that might have ended by then. A destructor that
    /// panics there ends the process. It takes 24 bytes more.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`]; the value is dropped then.
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_dropped<T: Send + 'static>(&self, value: T) -> Result<&mut T, OutOfMemory> {
        // Frames of C lie between a destructor and any code that could see its panic. Nothing is
        // caught, because the payload of the panic may have a destructor that panics too.
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                std::process::abort();
            }
        }
        unsafe extern "C" fn run<T>(value: *mut c_void) {
            let abort = Abort;
            // SAFETY: this is the value that was put there, and its last use.
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

    /// As [`Arena::try_alloc_dropped`], but without memory it ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_dropped<T: Send + 'static>(&self, value: T) -> &mut T {
        self.try_alloc_dropped(value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// Puts a slice into the arena, whose elements `value` makes from their indices. Their type
    /// must have no destructor.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`], and for a size that no allocation can have.
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], OutOfMemory> {
        #[allow(clippy::let_unit_value)]
        let () = NeedsNoDrop::<T>::CHECKED;
        let place = self.place_of::<T>(count)?;
        // SAFETY: there is room for so many, and nothing else uses it.
        unsafe {
            fill(place, count, value);
            Ok(slice::from_raw_parts_mut(place, count))
        }
    }

    /// As [`Arena::try_alloc_slice_fill_with`], but without memory it ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_slice_fill_with<T>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> T,
    ) -> &mut [T] {
        self.try_alloc_slice_fill_with(count, value)
            .unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()))
    }

    /// Copies a slice into the arena.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`].
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_slice_copy<T: Copy>(&self, from: &[T]) -> Result<&mut [T], OutOfMemory> {
        let place = self.place_of::<T>(from.len())?;
        // SAFETY: the memory is new, so it does not overlap `from`.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), place, from.len());
            Ok(slice::from_raw_parts_mut(place, from.len()))
        }
    }

    /// As [`Arena::try_alloc_slice_copy`], but without memory it ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_slice_copy<T: Copy>(&self, from: &[T]) -> &mut [T] {
        self.try_alloc_slice_copy(from)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(from)))
    }

    /// Copies a string into the arena.
    ///
    /// # Errors
    /// As [`Arena::try_alloc`].
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_str(&self, text: &str) -> Result<&mut str, OutOfMemory> {
        let bytes = self.try_alloc_slice_copy(text.as_bytes())?;
        // SAFETY: the bytes of a str.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }

    /// As [`Arena::try_alloc_str`], but without memory it ends the process.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_str(&self, text: &str) -> &mut str {
        self.try_alloc_str(text)
            .unwrap_or_else(|_| handle_alloc_error(Layout::for_value(text)))
    }

    /// Formats a string directly into the arena: `arena.alloc_format(format_args!("{}-{}", a, b))`.
    ///
    /// # Errors
    /// At the limit, without memory, and when a `Display` fails.
    #[allow(clippy::mut_from_ref)]
    pub fn try_alloc_format(&self, text: fmt::Arguments<'_>) -> Result<&mut str, OutOfMemory> {
        let mut growing = Growing { arena: self, start: ptr::null_mut(), used: 0, room: 0 };
        growing.write_fmt(text).map_err(|_| OutOfMemory)?;
        if growing.used == 0 {
            return Ok(Default::default());
        }
        // SAFETY: so many bytes were written, all of them from strs.
        unsafe {
            let bytes = slice::from_raw_parts_mut(growing.start, growing.used);
            Ok(std::str::from_utf8_unchecked_mut(bytes))
        }
    }

    /// As [`Arena::try_alloc_format`], but a failure panics.
    #[allow(clippy::mut_from_ref)]
    pub fn alloc_format(&self, text: fmt::Arguments<'_>) -> &mut str {
        self.try_alloc_format(text).expect("formatted in the arena")
    }

    /// Ends all values in the arena, and keeps as much memory as is typically used. Nothing may be
    /// borrowed:
    ///
    /// ```compile_fail,E0502
    /// let mut arena = tarn::Arena::new();
    /// let number = arena.alloc(1);
    /// arena.reset();                      // error: it is still borrowed
    /// println!("{}", number);
    /// ```
    pub fn reset(&mut self) {
        // SAFETY: no block of it is borrowed.
        unsafe { sys::tarn_arena_reset(self.raw.as_ptr()) }
    }

    /// Calls `body` with the arena, and afterwards ends what it has allocated there, even if it
    /// panics. None of that can leave the scope:
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
                // SAFETY: the mark is this arena's, and nothing older has been given back since.
                unsafe { sys::tarn_arena_rewind(self.arena, &self.mark) }
            }
        }
        let mut rewind = Rewind { arena: self.raw.as_ptr(), mark: sys::tarn_arena_mark::new() };
        // SAFETY: the arena lives; there is room for the mark.
        unsafe { sys::tarn_rust_arena_mark_of(rewind.arena, &mut rewind.mark) };
        body(self)
    }

    /// Gives memory that is not in use back to the system. Returns the bytes given.
    pub fn trim(&mut self) -> usize {
        // SAFETY: the arena lives.
        unsafe { sys::tarn_arena_trim(self.raw.as_ptr()) }
    }

    /// How many bytes are in use, and how many the arena has. Time linear in its chunks.
    pub fn used_and_held(&self) -> (u64, u64) {
        let (mut used, mut held) = (0, 0);
        // SAFETY: the arena lives.
        unsafe { sys::tarn_rust_arena_used(self.raw.as_ptr(), &mut used, &mut held) };
        (used, held)
    }

    /// Whether an address, which may be any, lies in memory of the arena that is in use.
    pub fn owns<T: ?Sized>(&self, p: *const T) -> bool {
        // SAFETY: any pointer is allowed.
        unsafe { sys::tarn_arena_owns(self.raw.as_ptr(), p.cast()) != 0 }
    }

    /// The pointer for the C functions.
    pub fn as_raw(&self) -> *mut sys::tarn_arena {
        self.raw.as_ptr()
    }
}

// A string that grows at the end of the arena. It moves if something else was allocated behind it.
struct Growing<'arena> {
    arena: &'arena Arena,
    start: *mut u8,
    used: usize,
    room: usize,
}

impl fmt::Write for Growing<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.is_empty() {
            return Ok(()); // There may be no block yet, and a null pointer must not be copied to.
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
        // SAFETY: no block of it is borrowed, and this is its only owner.
        unsafe { sys::tarn_rust_arena_end(self.raw.as_ptr()) }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, held) = self.used_and_held();
        f.debug_struct("Arena").field("used", &used).field("held", &held).finish()
    }
}
