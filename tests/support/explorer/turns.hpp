// turns: the threads of an exploration, and whose turn it is. What the hooks call.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "search.hpp"

namespace explorer {

struct Order {
  bool acquires;
  bool releases;
};

// What a thread asks the OS once, it asks now.
void begin_thread();

// True while the calling thread is one of an exploration, so that the hooks must ask.
bool is_explored();

// Waits until it is the calling thread's turn for this step. `site`: where in the program. An
// update, a lock, and a write that drains, wait until the thread's stores have reached memory.
void await_turn(std::uintptr_t place, Kind kind, const void* site, bool drains = false);
// The step has been made, as `kind` in the end.
void end_step(std::uintptr_t place, std::size_t bytes, Kind kind, Order order);

bool stores_wait();
// A store that may wait in its processor's buffer. That it is made is the step.
void store_later(std::uintptr_t place, std::size_t bytes, std::uint64_t value, bool releases,
                 const void* site);
// What the calling thread has stored there, and nobody else sees yet. False: nothing.
bool find_stored(std::uintptr_t place, std::uint64_t* value);
// When this returns, what other threads stored before is in memory.
void await_stores_of_all(const void* site);

// An access that is not atomic.
void touch(std::uintptr_t place, std::size_t bytes, bool writes, const void* site);

// The thread's next step waits until another thread has written to a place that the thread has read
// since it waited last.
void wait_for_write();

// futex(2) without a sound.
void sleep_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected);
void wake(const std::atomic<std::uint32_t>& word);

[[noreturn]] void fail(const char* what);

}  // namespace explorer
