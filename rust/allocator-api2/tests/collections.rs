//! Collections of allocator-api2 and hashbrown in heaps and arenas.
//!
//! SPDX-License-Identifier: MIT
use std::alloc::Layout;
use std::collections::hash_map::RandomState;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hashbrown::HashMap;
use tarn::{Arena, Heap};
use tarn_allocator_api2::{InArena, InHeap};

fn map_in<A: Allocator + Clone>(place: A) {
    let mut map = HashMap::with_hasher_in(RandomState::new(), place);
    for i in 0..10_000u32 {
        map.insert(i, i * i);
    }
    for i in (0..10_000u32).step_by(2) {
        assert_eq!(map.remove(&i), Some(i * i));
    }
    map.shrink_to_fit();
    assert_eq!(map.len(), 5_000);
    assert!((1..10_000u32).step_by(2).all(|i| map[&i] == i * i));
}

fn vectors_in<A: Allocator + Clone>(place: A) {
    let mut texts = Vec::new_in(place.clone());
    let mut others = Vec::new_in(place.clone()); // Blocks behind each other: they have to move.
    for i in 0..1_000usize {
        texts.push(i.to_string());
        others.push([i; 3]);
    }
    texts.truncate(500);
    texts.shrink_to_fit();
    assert!(texts.iter().enumerate().all(|(i, text)| *text == i.to_string()));
    assert!(others.iter().enumerate().all(|(i, other)| *other == [i; 3]));
    let empty: Vec<(), A> = Vec::with_capacity_in(7, place.clone());
    assert_eq!(empty.len(), 0);
    let boxed = Box::new_in(std::string::String::from("text"), place);
    assert_eq!(*boxed, "text");
}

#[repr(align(256))]
struct Aligned(#[allow(dead_code)] u8);

fn aligned_in<A: Allocator>(place: A) {
    let mut vector = Vec::new_in(place);
    for i in 0..100 {
        vector.push(Aligned(i));
        assert_eq!(vector.as_ptr() as usize % 256, 0);
    }
    assert!(vector.iter().enumerate().all(|(i, each)| usize::from(each.0) == i));
}

#[test]
fn in_a_heap() {
    let heap = Heap::options().name("collections").checked(true).make().unwrap();
    map_in(InHeap(&heap));
    vectors_in(InHeap(&heap));
    aligned_in(InHeap(&heap));
    assert_eq!(heap.stats().live_blocks, 0);
}

#[test]
fn in_an_arena() {
    let mut arena = Arena::options().checked(true).make().unwrap();
    map_in(InArena(&arena));
    vectors_in(InArena(&arena));
    aligned_in(InArena(&arena));
    arena.reset();
    arena.scope(|arena| vectors_in(InArena(arena)));
    assert_eq!(arena.used_and_held().0, 0);
}

#[test]
fn the_last_block_of_an_arena_grows_in_place() {
    let arena = Arena::new();
    let mut vector = Vec::with_capacity_in(10, InArena(&arena));
    vector.push(1u64);
    let start = vector.as_ptr();
    vector.reserve_exact(100);
    assert_eq!(vector.as_ptr(), start);
    assert_eq!(vector[0], 1);
    let used = arena.used_and_held().0;
    drop(vector);
    assert!(arena.used_and_held().0 + 800 <= used);
}

#[test]
fn a_limit_is_an_error() {
    let heap = Heap::options().name("small").ceiling_bytes(1 << 20).make().unwrap();
    let mut vector: Vec<u8, _> = Vec::new_in(InHeap(&heap));
    vector.try_reserve(1000).unwrap();
    vector.push(7);
    assert!(vector.try_reserve(2 << 20).is_err());
    assert_eq!(vector[0], 7);
    let arena = Arena::options().limit_bytes(1 << 20).make().unwrap();
    let mut vector: Vec<u8, _> = Vec::new_in(InArena(&arena));
    vector.push(7);
    assert!(vector.try_reserve(2 << 20).is_err());
    assert_eq!(vector[0], 7);
}

// What collections of the two crates do not ask for.
fn layouts_in(place: &impl Allocator) {
    let layout = |bytes, alignment| Layout::from_size_align(bytes, alignment).unwrap();
    let is_zero = |block: NonNull<[u8]>, from: usize| {
        // SAFETY: all of it was written.
        let bytes = unsafe { block.as_ref() };
        bytes[from..].iter().all(|byte| *byte == 0)
    };
    for alignment in [1, 16, 64, 4096] {
        let block = place.allocate_zeroed(layout(100, alignment)).unwrap();
        assert!(is_zero(block, 0) && block.len() == 100);
        let start = block.cast::<u8>();
        assert_eq!(start.as_ptr() as usize % alignment, 0);
        // SAFETY: each layout is the one that the block has.
        unsafe {
            start.as_ptr().write_bytes(7, 100);
            let grown = place
                .grow_zeroed(start, layout(100, alignment), layout(5_000, 2 * alignment))
                .unwrap();
            assert!(is_zero(grown, 100) && grown.as_ref()[..100] == [7; 100]);
            assert_eq!(grown.as_ptr().cast::<u8>() as usize % (2 * alignment), 0);
            let shrunk = place
                .shrink(grown.cast(), layout(5_000, 2 * alignment), layout(50, alignment))
                .unwrap();
            assert_eq!(shrunk.as_ref(), [7; 50]);
            let none = place
                .shrink(shrunk.cast(), layout(50, alignment), layout(0, alignment))
                .unwrap();
            assert_eq!(none.cast::<u8>().as_ptr() as usize % alignment, 0);
            let again = place
                .grow(none.cast(), layout(0, alignment), layout(30, alignment))
                .unwrap();
            place.deallocate(again.cast(), layout(30, alignment));
        }
    }
    let nothing = place.allocate_zeroed(layout(0, 64)).unwrap();
    // SAFETY: as above.
    unsafe { place.deallocate(nothing.cast(), layout(0, 64)) };
    assert!(place.allocate(layout(isize::MAX as usize - 63, 64)).is_err());
    assert!(place.allocate_zeroed(layout(isize::MAX as usize - 15, 16)).is_err());
}

#[test]
fn any_layout() {
    let heap = Heap::options().name("layouts").checked(true).make().unwrap();
    layouts_in(&InHeap(&heap));
    assert_eq!(heap.stats().live_blocks, 0);
    let arena = Arena::options().checked(true).make().unwrap();
    layouts_in(&InArena(&arena));
}

#[test]
fn collections_go_to_other_threads() {
    let heap = Heap::new("threads").unwrap();
    let mut made = Vec::new_in(InHeap(&heap));
    made.extend(0..1000);
    std::thread::scope(|threads| {
        threads.spawn(move || assert_eq!(made.iter().sum::<i32>(), 499_500));
    });
    assert_eq!(heap.stats().live_blocks, 0);
}
