// pieces_malloc: the process's malloc, by all of its names; its threads and forks.
//
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <new>

#include "pieces.hpp"

namespace pieces {

namespace {

template <std::size_t bytes, std::size_t count>
void blocks() {
  {
    const Watched watched;
    for (std::size_t i = 0; i < some(count); ++i) kept.take(malloc(bytes), bytes);
    kept.give(3, [](void* p) { free(p); });
    for (std::size_t i = 0; i < some(count / 3); ++i) kept.take(malloc(bytes), bytes);
  }
  kept.give_all();
}

void zeroed() {
  {
    const Watched watched;
    for (int round = 0; round < 2; ++round) {
      for (const std::size_t bytes : mixed_bytes) {
        void* const p = calloc(bytes, 1);
        if (p != nullptr) {
          const auto* const at = static_cast<const char*>(p);
          CHECK(at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0);
        }
        kept.take(p, bytes);
      }
      kept.give_all();
    }
  }
  kept.give_all();
}

void resized() {
  const auto resize = [](void* p, std::size_t bytes) { return realloc(p, bytes); };
  {
    const Watched watched;
    for (int i = 0; i < 3; ++i) kept.take(malloc(10), 10);
    for (std::size_t bytes = 30; bytes < 20'000'000; bytes = bytes * 5 / 2) {
      for (std::size_t i = 0; i < kept.count(); ++i) kept.resize(i, bytes + i, resize);
    }
    for (std::size_t bytes = 8'000'000; bytes > 10; bytes /= 6) {
      for (std::size_t i = 0; i < kept.count(); ++i) kept.resize(i, bytes + i, resize);
    }
    for (std::size_t i = 0; i < kept.count(); ++i) {
      kept.resize(i, 5000, [](void* p, std::size_t bytes) { return reallocarray(p, bytes, 1); });
    }
  }
  kept.give_all();
}

void aligned() {
  {
    const Watched watched;
    for (std::size_t alignment = 8; alignment <= 4 * MEBIBYTE; alignment *= 8) {
      for (const std::size_t bytes : {std::size_t{40}, std::size_t{9000}, 2 * MEBIBYTE}) {
        void* p = &p;
        if (is_done(posix_memalign(&p, alignment, bytes))) {
          CHECK(is_aligned(p, alignment));
          kept.take(p, bytes);
        } else {
          CHECK(p == &p && errno == ENOMEM);
        }
        const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
        void* const q = aligned_alloc(alignment, whole);
        CHECK(is_aligned(q, alignment));
        kept.take(q, whole);
        void* const r = memalign(alignment, bytes);
        CHECK(is_aligned(r, alignment));
        kept.take(r, bytes);
      }
    }
    kept.take(valloc(5000), 5000);
    kept.take(pvalloc(5000), 5000);
  }
  kept.give_all();
}

int handler_calls;
void handle_none() {
  ++handler_calls;
  std::set_new_handler(nullptr);
}

template <class New>
void* or_null(New allocate) {
  std::set_new_handler(handle_none);
  handler_calls = 0;
  try {
    void* const p = allocate();
    CHECK(p != nullptr);
    return p;
  } catch (const std::bad_alloc&) {
    CHECK(handler_calls == 1);
    errno = ENOMEM;
    return nullptr;
  }
}

// Exceptions take memory of their own, from the C++ library's reserve if need be.
void operators() {
  constexpr std::align_val_t wide{1024};
  {
    const Watched watched;
    for (const std::size_t bytes : mixed_bytes) {
      void* p = or_null([&] { return operator new(bytes); });
      if (is_there(p)) pattern_fill(p, bytes, 1);
      void* const q = or_null([&] { return operator new[](bytes, wide); });
      void* const r = operator new(bytes, std::nothrow);
      if (r == nullptr) CHECK(is_refused());
      if (p != nullptr) CHECK(pattern_holds(p, bytes, 1));
      CHECK(is_aligned(q, 1024));
      operator delete(p);
      operator delete[](q, wide);
      operator delete(r);
    }
  }
  std::set_new_handler(nullptr);
}

// All blocks were had before: nothing but frees.
void frees() {
  for (std::size_t i = 0; i < some(1500); ++i) {
    const std::size_t bytes = mixed_bytes[i % (mixed_count - 5)] / (1 + i / mixed_count % 3) + 1;
    kept.take(malloc(bytes), bytes);
  }
  const Watched watched;
  kept.give(2, [](void* p) { free(p); });
  (void)malloc_trim(0);
  kept.give_all();
  (void)malloc_trim(0);
}

void mixture() {
  uint64_t state = 4242;
  {
    const Watched watched;
    for (std::size_t step = 0; step < some(1500); ++step) {
      const std::size_t bound = mixed_bytes[random_next(&state) % (mixed_count - 4)];
      const std::size_t bytes = random_next(&state) % bound + 1;
      const std::size_t which = kept.count() == 0 ? 0 : random_next(&state) % kept.count();
      if (kept.count() < 100 || random_next(&state) % 3 == 0) {
        kept.take(malloc(bytes), bytes);
      } else {
        kept.resize(which, bytes, [](void* p, std::size_t n) { return realloc(p, n); });
      }
      if (kept.count() > 300) kept.give(2, [](void* p) { free(p); });
      if (step % 500 == 499) (void)malloc_trim(0);
    }
  }
  kept.give_all();
}

void* in_other_thread(void*) {
  static Kept own;  // One thread at a time.
  for (std::size_t i = 0; i < some(300); ++i) own.take(malloc(i * 7 + 1), i * 7 + 1);
  own.take(malloc(300'000), 300'000);
  kept.give(2, [](void* p) { free(p); });  // The other thread's.
  own.give(2, [](void* p) { free(p); });
  own.check();
  own.give_all();
  return nullptr;
}

void threads() {
  {
    const Watched watched;
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 5 + 1), i * 5 + 1);
      pthread_t other;
      const int error = pthread_create(&other, nullptr, in_other_thread, nullptr);
      CHECK(error == 0 || ((error == EAGAIN || error == ENOMEM) && is_refused()));
      if (error == 0) CHECK(pthread_join(other, nullptr) == 0);
    }
  }
  kept.give_all();
}

void forks() {
  for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 5 + 1), i * 5 + 1);
  {
    const Watched watched;
    const pid_t child = fork();
    if (child == 0) {
      kept.check();
      kept.give(2, [](void* p) { free(p); });
      for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 50 + 1), i * 50 + 1);
      kept.give_all();
      _exit(0);
    }
    CHECK(child > 0 || is_refused());
    if (child > 0) CHECK(status_of_child(child) == 0);
    for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 50 + 1), i * 50 + 1);
  }
  kept.give_all();
}

constexpr Piece malloc_pieces[] = {
    {"blocks_64", blocks<64, 80000>},
    {"blocks_1000", blocks<1000, 4000>},
    {"blocks_20000", blocks<20'000, 400>},
    {"blocks_300000", blocks<300'000, 60>},
    {"blocks_2000000", blocks<2'000'000, 20>},
    {"blocks_40000000", blocks<40'000'000, 4>},
    {"zeroed", zeroed},
    {"resized", resized},
    {"aligned", aligned},
    {"operators", operators},
    {"frees", frees},
    {"mixture", mixture},
    {"threads", threads},
    {"forks", forks},
};

}  // namespace

std::span<const Piece> of_malloc() { return malloc_pieces; }

}  // namespace pieces
