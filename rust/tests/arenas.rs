//! Arenas: values, slices, text, destructors, scopes, limits.
//!
//! SPDX-License-Identifier: MIT
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

use tarn::{Arena, OutOfMemory};

struct Noted(u32, Arc<Mutex<Vec<u32>>>);
impl Drop for Noted {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn values_stay_where_they_are() {
    let arena = Arena::new();
    let numbers: Vec<&mut u64> = (0..100_000).map(|i| arena.alloc(i)).collect();
    for (i, number) in numbers.iter().enumerate() {
        assert_eq!(**number, i as u64);
        assert_eq!(*number as *const u64 as usize % 8, 0);
    }
    assert!(arena.owns(numbers[99_999]));
    let (used, held) = arena.used_and_held();
    assert!(used >= 800_000 && held >= used);
}

#[test]
fn sizes_and_alignments() {
    #[repr(align(128))]
    struct Wide([u8; 300]);
    let arena = Arena::new();
    for i in 0..200u8 {
        arena.alloc(i);
        let wide = arena.alloc(Wide([i; 300]));
        assert_eq!(wide as *const Wide as usize % 128, 0);
        assert!(wide.0.iter().all(|&byte| byte == i));
        let odd = arena.alloc([i; 13]);
        assert_eq!(odd[12], i);
        arena.alloc(1u128);
    }
    let large = arena.alloc_slice_fill_with(1 << 20, |i| i as u8);
    assert_eq!(large[77], 77);
    let before = arena.used_and_held().0;
    arena.alloc(());
    assert!(arena.alloc_slice_copy::<u64>(&[]).is_empty());
    assert_eq!(arena.alloc_slice_fill_with(1000, |_| ()).len(), 1000);
    assert_eq!(arena.used_and_held().0, before, "what has no bytes takes none");
}

#[test]
fn text_is_formatted_where_it_stays() {
    let arena = Arena::new();
    assert_eq!(arena.alloc_str("grün"), "grün");
    assert_eq!(arena.alloc_str(""), "");
    assert_eq!(arena.alloc_format(format_args!("{}-{:03}", "page", 7)), "page-007");
    assert_eq!(arena.alloc_format(format_args!("")), "");
    assert_eq!(arena.alloc_format(format_args!("{}", "")), "");
    assert_eq!(arena.alloc_format(format_args!("{}{}{}", "", "x", "")), "x");
    let long = arena.alloc_format(format_args!("{} end", "x".repeat(100_000 - 4)));
    assert!(long.len() == 100_000 && long.ends_with(" end"));

    // A value that allocates in the arena while it is formatted.
    struct Meddles<'a>(&'a Arena);
    impl std::fmt::Display for Meddles<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("be")?;
            self.0.alloc(1u8);
            f.write_str(self.0.alloc_str("tween"))
        }
    }
    assert_eq!(arena.alloc_format(format_args!("<{}>", Meddles(&arena))), "<between>");
}

#[test]
fn destructors_run_in_reverse_when_it_ends() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut arena = Arena::new();
    for i in 0..5 {
        assert_eq!(arena.alloc_dropped(Noted(i, order.clone())).0, i);
    }
    arena.alloc_undropped(Noted(99, order.clone()));
    arena.reset();
    assert_eq!(*order.lock().unwrap(), [4, 3, 2, 1, 0]);
    order.lock().unwrap().clear();
    arena.alloc_dropped(Noted(7, order.clone()));
    std::thread::spawn(move || drop(arena)).join().unwrap(); // It may be sent to another thread.
    assert_eq!(*order.lock().unwrap(), [7]);
    assert_eq!(Arc::strong_count(&order), 2, "and what is not to be dropped is not");
}

#[test]
fn scopes_end_what_is_in_them() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut arena = Arena::new();
    arena.alloc([0u8; 100]);
    let before = arena.used_and_held().0;
    let length = arena.scope(|inner| {
        inner.alloc_dropped(Noted(1, order.clone()));
        inner.alloc_slice_fill_with(100_000, |i| i).len()
    });
    assert_eq!(length, 100_000);
    assert_eq!(arena.used_and_held().0, before);
    assert_eq!(*order.lock().unwrap(), [1]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        arena.scope(|inner| {
            inner.alloc_dropped(Noted(2, order.clone()));
            panic!("inside");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(*order.lock().unwrap(), [1, 2]);
    assert_eq!(arena.used_and_held().0, before);
    arena.trim();
    assert!(arena.used_and_held().1 < 100_000);
}

#[test]
fn limits_hold() {
    let arena = Arena::options().chunk_bytes(4096).limit_bytes(64 << 10).make().unwrap();
    let mut count = 0;
    while arena.try_alloc([0u8; 1000]).is_ok() {
        count += 1;
    }
    assert!((30..=65).contains(&count), "{}", count);
    assert_eq!(arena.try_alloc([0u8; 100_000]).unwrap_err(), OutOfMemory);
    assert_eq!(arena.try_alloc_slice_fill_with(usize::MAX, |i| i).unwrap_err(), OutOfMemory);
    assert_eq!(arena.try_alloc_str(&"x".repeat(100_000)).unwrap_err(), OutOfMemory);
    let text = arena.try_alloc_format(format_args!("{}", "x".repeat(100_000)));
    assert_eq!(text.unwrap_err(), OutOfMemory);
    let order = Arc::new(Mutex::new(Vec::new()));
    while arena.try_alloc_dropped(Noted(3, order.clone())).is_ok() {}
    assert_eq!(*order.lock().unwrap(), [3], "what found no room is dropped at once");
}

#[test]
fn resets_are_cheap_and_many() {
    let mut arena = Arena::options().checked(true).make().unwrap();
    for round in 0..100u32 {
        for i in 0..round {
            arena.alloc_str(&i.to_string());
        }
        arena.reset();
        assert_eq!(arena.used_and_held().0, 0);
    }
}

// There is room for the value, but none for the record that drops it.
#[test]
fn refused_values_take_nothing() {
    for shift in 0..4 {
        let arena = Arena::options().chunk_bytes(4096).limit_bytes(8192).make().unwrap();
        for _ in 0..shift {
            arena.alloc(0_u64);
        }
        let mut before = arena.used_and_held().0;
        while arena.try_alloc_dropped(1_u64).is_ok() {
            before = arena.used_and_held().0;
        }
        assert_eq!(arena.used_and_held().0, before, "{}", shift);
    }
}

// A destructor panics while the arena ends, with a payload that panics when it is dropped. Code
// that catches the former must not let the latter unwind through frames of C.
#[test]
fn panics_in_destructors_end_the_process() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("in the payload");
        }
    }
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::panic_any(Payload);
        }
    }
    const CHILD: &str = "TARN_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let mut arena = Arena::new();
        arena.alloc_dropped(Panics);
        let _ = catch_unwind(AssertUnwindSafe(|| arena.reset()));
        std::process::exit(7); // Not to be reached.
    }
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "panics_in_destructors_end_the_process"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    const SIGABRT: i32 = 6;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(SIGABRT));
}
