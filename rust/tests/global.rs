//! tarn as the global allocator of a program: this one.
//!
//! SPDX-License-Identifier: MIT
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::{BTreeMap, HashMap};

#[global_allocator]
static ALLOCATOR: tarn::Tarn = tarn::Tarn;

fn is_tarns<T: ?Sized>(p: *const T) -> bool {
    unsafe { tarn::sys::tarn_heap_of(p.cast()).id == tarn::sys::tarn_heap_main().id }
}

#[test]
fn boxes_and_containers_are_tarns() {
    assert!(is_tarns(&*Box::new(7)));
    let text = String::from("a text of some length");
    assert!(is_tarns(text.as_ptr()));
    let numbers: Vec<u64> = (0..100_000).collect();
    assert!(is_tarns(numbers.as_ptr()));
    let stack = 7;
    assert!(!is_tarns(&stack));
    assert!(tarn::version().starts_with(env!("CARGO_PKG_VERSION")));
    tarn::trim(0);
}

#[test]
fn every_alignment_holds_also_after_realloc() {
    for shift in 0..=14 {
        let alignment = 1usize << shift;
        for size in [1, 7, 100, 5000, 300_000] {
            let layout = Layout::from_size_align(size, alignment).unwrap();
            unsafe {
                let p = alloc(layout);
                assert!(!p.is_null() && p as usize % alignment == 0);
                p.write_bytes(7, size);
                let q = realloc(p, layout, size * 3);
                assert!(!q.is_null() && q as usize % alignment == 0);
                assert!((0..size).all(|i| *q.add(i) == 7));
                let grown = Layout::from_size_align(size * 3, alignment).unwrap();
                let r = realloc(q, grown, 1);
                assert!(!r.is_null() && r as usize % alignment == 0 && *r == 7);
                dealloc(r, Layout::from_size_align(1, alignment).unwrap());
                let zero = alloc_zeroed(layout);
                assert!(!zero.is_null() && zero as usize % alignment == 0);
                assert!((0..size).all(|i| *zero.add(i) == 0));
                dealloc(zero, layout);
            }
        }
    }
}

#[test]
fn what_cannot_be_is_null() {
    let layout = Layout::from_size_align(isize::MAX as usize - 4095, 4096).unwrap();
    unsafe {
        assert!(alloc(layout).is_null());
        let small = Layout::from_size_align(100, 16).unwrap();
        let p = alloc(small);
        p.write_bytes(3, 100);
        assert!(realloc(p, small, isize::MAX as usize - 15).is_null());
        assert!((0..100).all(|i| *p.add(i) == 3), "and the block is as it was");
        dealloc(p, small);
    }
    assert!(Vec::<u8>::new().try_reserve(isize::MAX as usize).is_err());
}

#[test]
fn threads_hand_blocks_to_each_other() {
    let (give, take) = std::sync::mpsc::channel::<Vec<String>>();
    let makers: Vec<_> = (0..4)
        .map(|maker| {
            let give = give.clone();
            std::thread::spawn(move || {
                for i in 0..500 {
                    let words = (0..20).map(|word| format!("{}-{}-{}", maker, i, word)).collect();
                    give.send(words).unwrap();
                }
            })
        })
        .collect();
    drop(give);
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut ordered = BTreeMap::new();
    for words in take {
        *counts.entry(words[0].len()).or_default() += 1;
        ordered.insert(words[7].clone(), words);
    }
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    assert_eq!(counts.values().sum::<usize>(), 2000);
    assert_eq!(ordered.len(), 2000);
}
