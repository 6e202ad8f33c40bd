//! Heaps: what they serve, when it ends, limits, threads, panics.
//!
//! SPDX-License-Identifier: MIT
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use tarn::{Heap, HeapBox, OutOfMemory};

struct Counted<'a>(&'a Cell<usize>);
impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn owns<T: ?Sized>(heap: &Heap, value: &T) -> bool {
    unsafe { tarn::sys::tarn_heap_owns(heap.as_raw(), (value as *const T).cast()) != 0 }
}

#[test]
fn values_are_in_the_heap_and_dropped_with_their_box() {
    let drops = Cell::new(0);
    let heap = Heap::new("values").unwrap();
    assert_eq!(heap.name(), "values");
    let counted = heap.alloc(Counted(&drops));
    assert!(owns(&heap, &*counted));
    assert_eq!(heap.stats().live_blocks, 1);
    drop(counted);
    assert_eq!(drops.get(), 1);
    assert_eq!(heap.stats().live_blocks, 0);

    let mut text = heap.alloc(String::from("te"));
    text.push_str("xt");
    assert_eq!(*text, "text");
    assert_eq!(text.into_inner(), "text");
    assert_eq!(heap.stats().live_blocks, 0);
}

#[test]
fn slices_and_strings() {
    let heap = Heap::new("slices").unwrap();
    let numbers = heap.alloc_slice_fill_with(1000, |i| i * 2);
    assert_eq!(numbers.iter().sum::<usize>(), 999 * 1000);
    let copy = heap.alloc_slice_copy(&numbers);
    assert!(copy == numbers && owns(&heap, &*copy));
    assert_eq!(&*heap.alloc_str("grün"), "grün");
    assert_eq!(&*heap.alloc_str(""), "");
    assert_eq!(format!("{} {:?}", heap.alloc(7), heap.alloc_str("x")), "7 \"x\"");
    let strings = heap.alloc_slice_fill_with(10, |i| i.to_string());
    assert_eq!(strings[7], "7");
    let ordered: BTreeSet<HeapBox<'_, i32>> = [3, 1, 2].map(|n| heap.alloc(n)).into();
    assert_eq!(ordered.iter().map(|n| **n).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn alignments_and_nothing() {
    #[repr(align(256))]
    struct Wide(u8);
    #[repr(align(64))]
    struct Nothing;
    let heap = Heap::new("alignments").unwrap();
    for _ in 0..50 {
        let wide = heap.alloc(Wide(7));
        assert_eq!((&*wide as *const Wide as usize) % 256, 0);
        assert_eq!(wide.0, 7);
        wide.leak();
    }
    let blocks = heap.stats().live_blocks;
    let nothing = heap.alloc(Nothing);
    assert_eq!((&*nothing as *const Nothing as usize) % 64, 0);
    drop(nothing);
    drop(heap.alloc(()));
    drop(heap.alloc_slice_fill_with(1000, |_| ()));
    assert_eq!(heap.stats().live_blocks, blocks, "what has no bytes has no block");
}

#[test]
fn leaked_values_end_with_the_heap_undropped() {
    let drops = Cell::new(0);
    let mut heap = Heap::new("leaked").unwrap();
    let leaked = heap.alloc(Counted(&drops)).leak();
    assert_eq!(leaked.0.get(), 0);
    std::mem::forget(heap.alloc_slice_fill_with(100_000, |i| i));
    assert_eq!(heap.stats().live_blocks, 2);
    heap.clear();
    assert_eq!(heap.stats().live_blocks, 0);
    assert_eq!(drops.get(), 0);
}

#[test]
fn ceilings_hold() {
    let heap = Heap::options().name("small").ceiling_bytes(1 << 20).make().unwrap();
    let mut kept = Vec::new();
    let refused = loop {
        match heap.try_alloc([0u8; 5000]) {
            Ok(block) => kept.push(block),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, OutOfMemory);
    assert!(kept.len() > 100 && heap.stats().committed_bytes_peak <= 1 << 20);
    kept.clear();
    assert!(heap.try_alloc([0u8; 5000]).is_ok());
    assert_eq!(heap.try_alloc_slice_fill_with(usize::MAX, |i| i).unwrap_err(), OutOfMemory);
    assert_eq!(heap.try_alloc_slice_fill_with(usize::MAX / 8, |i| i as u8).unwrap_err(),
               OutOfMemory);
    let text = "x".repeat(2 << 20);
    assert_eq!(heap.try_alloc_str(&text).unwrap_err(), OutOfMemory);
    assert_eq!(heap.try_alloc_slice_copy(text.as_bytes()).unwrap_err(), OutOfMemory);
    assert_eq!(&*heap.try_alloc_str("fits").unwrap(), "fits");
    assert_eq!(refused.to_string(), "out of memory, or at a limit");
}

#[test]
fn options_that_make_no_sense() {
    assert_eq!(Heap::new("nul\0inside").unwrap_err().kind(), ErrorKind::InvalidInput);
    for classes in [&[32, 32][..], &[24], &[0], &[64, 32], &[1 << 20]] {
        let error = Heap::options().classes(classes).make().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{:?}", classes);
    }
    let heap = Heap::options().classes(&[48, 400]).serialised(true).make().unwrap();
    let block = heap.alloc([0u8; 100]);
    let usable = unsafe { tarn::sys::tarn_malloc_usable_size((&*block as *const u8).cast()) };
    assert_eq!(usable, 400);
}

#[test]
fn panics_lose_nothing() {
    let drops = Cell::new(0);
    let heap = Heap::options().name("panics").checked(true).make().unwrap();
    let made = catch_unwind(AssertUnwindSafe(|| {
        heap.alloc_slice_fill_with(10, |i| if i == 7 { panic!("at 7") } else { Counted(&drops) });
    }));
    assert!(made.is_err());
    assert_eq!(drops.get(), 7);
    assert_eq!(heap.stats().live_blocks, 0);

    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }
    struct Holds(Panics, #[allow(dead_code)] u64);
    let held = heap.alloc(Holds(Panics, 1));
    let _ = &held.0;
    assert!(catch_unwind(AssertUnwindSafe(|| drop(held))).is_err());
    assert_eq!(heap.stats().live_blocks, 0, "the block is freed all the same");
}

#[test]
fn any_thread_allocates_and_frees() {
    let heap = Heap::new("threads").unwrap();
    let sum = AtomicUsize::new(0);
    let handed: Vec<HeapBox<'_, [usize]>> = std::thread::scope(|threads| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let heap = &heap;
                let sum = &sum;
                threads.spawn(move || {
                    let mut kept = Vec::new();
                    for i in 0..2000 {
                        let block = heap.alloc_slice_fill_with(i % 50 + 1, |_| worker);
                        sum.fetch_add(block[0], Ordering::Relaxed);
                        if i % 10 == 0 {
                            kept.push(block);
                        }
                    }
                    kept
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(sum.into_inner(), 2000 * (1 + 2 + 3));
    assert_eq!(heap.stats().live_blocks, 800);
    drop(handed);
    assert_eq!(heap.stats().live_blocks, 0);
    let moved = std::thread::spawn(move || heap.name()).join().unwrap();
    assert_eq!(moved, "threads");
}
