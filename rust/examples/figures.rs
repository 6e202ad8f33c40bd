//! figures: compares tarn with the system's allocator, and heaps and arenas with `Box`, in
//! nanoseconds.
//!
//!     cargo run --release --example figures
//!
//! The figures are medians of rounds that take turns. The global allocators are called as Rust
//! calls them.
//!
//! SPDX-License-Identifier: MIT
use std::alloc::{GlobalAlloc, Layout, System};
use std::time::Instant;

use tarn::{Arena, Heap, Tarn};

const ROUNDS: usize = 11;
const SLOTS: usize = 1024;
const STEPS: usize = 200_000;
const NODES: usize = 100_000;

struct Random(u64);
impl Random {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize
    }
}

// A random slot is freed and refilled.
fn slots(allocator: &impl GlobalAlloc, bytes_max: usize) -> f64 {
    let mut random = Random(7);
    let mut slots = vec![(std::ptr::null_mut::<u8>(), Layout::new::<u8>()); SLOTS];
    let start = Instant::now();
    for _ in 0..STEPS {
        let slot = &mut slots[random.next() % SLOTS];
        let layout = Layout::from_size_align(random.next() % bytes_max + 1, 8).unwrap();
        unsafe {
            if !slot.0.is_null() {
                allocator.dealloc(slot.0, slot.1);
            }
            *slot = (allocator.alloc(layout), layout);
            *slot.0 = 1;
        }
    }
    let each = start.elapsed().as_nanos() as f64 / STEPS as f64;
    for (block, layout) in slots {
        if !block.is_null() {
            unsafe { allocator.dealloc(block, layout) };
        }
    }
    each
}

struct Node<'a> {
    next: Option<&'a Node<'a>>,
    value: u64,
}
struct Boxed {
    next: Option<Box<Boxed>>,
    value: u64,
}

// Keeps the compiler from optimising away what leads to the value.
fn seen(value: Option<u64>) {
    unsafe { std::ptr::read_volatile(&value) };
}

fn each(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / NODES as f64
}

fn boxed() -> f64 {
    let start = Instant::now();
    let mut last: Option<Box<Boxed>> = None;
    for value in 0..NODES as u64 {
        last = Some(Box::new(Boxed { next: last, value }));
    }
    seen(last.as_ref().map(|node| node.value));
    while let Some(mut node) = last {
        last = node.next.take(); // Otherwise it would be dropped recursively.
    }
    each(start)
}

fn in_heap() -> f64 {
    let start = Instant::now();
    let heap = Heap::new("list").unwrap();
    let mut last: Option<&Node> = None;
    for value in 0..NODES as u64 {
        last = Some(heap.alloc(Node { next: last, value }).leak());
    }
    seen(last.map(|node| node.value + node.next.is_some() as u64));
    drop(heap);
    each(start)
}

fn in_arena() -> f64 {
    let start = Instant::now();
    let arena = Arena::new();
    let mut last: Option<&Node> = None;
    for value in 0..NODES as u64 {
        last = Some(arena.alloc(Node { next: last, value }));
    }
    seen(last.map(|node| node.value + node.next.is_some() as u64));
    drop(arena);
    each(start)
}

fn main() {
    let rows: [(&str, &dyn Fn() -> f64); 9] = [
        ("slots, 1 to 256 bytes: System", &|| slots(&System, 256)),
        ("slots, 1 to 256 bytes: Tarn", &|| slots(&Tarn, 256)),
        ("slots, 1 to 4096 bytes: System", &|| slots(&System, 4096)),
        ("slots, 1 to 4096 bytes: Tarn", &|| slots(&Tarn, 4096)),
        ("slots, 1 to 65536 bytes: System", &|| slots(&System, 65536)),
        ("slots, 1 to 65536 bytes: Tarn", &|| slots(&Tarn, 65536)),
        ("list of 100,000, built and ended: Box", &boxed),
        ("list of 100,000, built and ended: tarn::Heap", &in_heap),
        ("list of 100,000, built and ended: tarn::Arena", &in_arena),
    ];
    let mut times = vec![Vec::new(); rows.len()];
    for round in 0..ROUNDS {
        for at in 0..rows.len() {
            let row = (at + round) % rows.len();
            times[row].push(rows[row].1());
        }
    }
    for ((name, _), mut times) in rows.iter().zip(times) {
        times.sort_by(f64::total_cmp);
        println!("{:48} {:8.1} ns [{:.1}, {:.1}]", name, times[ROUNDS / 2], times[ROUNDS / 4],
                 times[ROUNDS * 3 / 4]);
    }
}
