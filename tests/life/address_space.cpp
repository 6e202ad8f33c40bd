// address_space: RLIMIT_AS is used up with blocks of one size after another. Each time malloc ends
// in null and ENOMEM, nothing aborts, and the memory serves other sizes once it is freed. A block
// grows where the old and the new one do not fit beside each other, also one that is copied as long
// as both fit (the test is run again with a large large_move_kib).
//
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>

#include "../support/child.hpp"
#include "check.h"
#include "family.h"
#include "pattern.h"

namespace {

constexpr std::size_t budget = 384 * MEBIBYTE;

struct Link {
  Link* next;
};

struct Chain {
  Link* first = nullptr;
  std::size_t bytes = 0;
};

Chain take_until_null(std::size_t size) {
  Chain chain;
  for (;;) {
    errno = 0;
    auto* link = static_cast<Link*>(malloc(size));
    if (link == nullptr) break;
    link->next = chain.first;
    chain.first = link;
    chain.bytes += size;
    CHECK(chain.bytes <= 2 * budget);
  }
  CHECK(errno == ENOMEM);
  return chain;
}

void give(Chain& chain) {
  while (chain.first != nullptr) {
    Link* next = chain.first->next;
    free(chain.first);
    chain.first = next;
  }
}

void limit_address_space(std::size_t bytes_more) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = mapped_bytes() + bytes_more;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

// How much is left for a size must not depend on which sizes came before.
void serve_every_size_in_turn() {
  for (const std::size_t size :
       {std::size_t{64}, MEBIBYTE, std::size_t{1000}, 16 * MEBIBYTE, std::size_t{30000},
        std::size_t{200}, std::size_t{300000}, std::size_t{5000}, 4 * MEBIBYTE, std::size_t{128}}) {
    Chain chain = take_until_null(size);
    const std::size_t bytes = chain.bytes;
    give(chain);
    if (bytes < budget / 2) dprintf(STDERR_FILENO, "%zu: %zu bytes\n", size, bytes);
    CHECK(bytes >= budget / 2);
  }
}

void serve_a_large_block_after_small_ones() {
  for (const std::size_t size : {std::size_t{64}, std::size_t{2000}, std::size_t{100000}}) {
    Chain chain = take_until_null(size);
    give(chain);
    void* large = malloc(budget / 3);
    CHECK(large != nullptr);
    memset(large, 1, budget / 3);
    free(large);
  }
}

void fail_politely_when_nothing_is_left() {
  auto* kept = static_cast<char*>(malloc(100000));
  CHECK(kept != nullptr);
  pattern_fill(kept, 100000, 5);
  Chain large = take_until_null(MEBIBYTE);
  Chain medium = take_until_null(4096);
  Chain small = take_until_null(64);
  for (const std::size_t size : {MEBIBYTE, 100 * MEBIBYTE}) {
    errno = 0;
    CHECK(realloc(kept, opaque(size)) == nullptr && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(opaque(size), 2) == nullptr && errno == ENOMEM);
    errno = 0;
    CHECK(memalign(4096, opaque(size)) == nullptr && errno == ENOMEM);
    void* untouched = kept;
    CHECK(posix_memalign(&untouched, 64, opaque(size)) == ENOMEM && untouched == kept);
    CHECK(::operator new(opaque(size), std::nothrow) == nullptr);
    bool caught = false;
    try {
      (void)::operator new(opaque(size));
    } catch (const std::bad_alloc&) {
      caught = true;
    }
    CHECK(caught);
  }
  CHECK(pattern_holds(kept, 100000, 5));
  give(small);
  give(medium);
  give(large);
  free(kept);
}

// In a process that has nothing yet, and so nothing to spare, when the limit is met.
void run_in_child(void (*body)(std::size_t), std::size_t argument) {
  const int status = support::status_of_child([=] {
    alarm(60);
    body(argument);
  });
  CHECK(status == 0);
}

// Freeing one block has to help even where nothing at all was left for the library's own needs.
void serve_others_when_one_block_took_all(std::size_t size) {
  std::size_t largest = budget;
  void* block = nullptr;
  while ((block = malloc(largest)) == nullptr) largest -= MEBIBYTE;
  CHECK(largest >= budget / 2);
  Chain rest = take_until_null(262144);
  free(block);
  Chain others = take_until_null(size);
  if (others.bytes < largest / 2) {
    dprintf(STDERR_FILENO, "%zu: %zu of %zu bytes\n", size, others.bytes, largest);
  }
  CHECK(others.bytes >= largest / 2);
  give(others);
  give(rest);
}

// A block of `percent` of all there is grows step by step to three quarters of it.
void grow_where_two_do_not_fit(std::size_t percent) {
  std::size_t size = budget / 100 * percent;
  auto* block = static_cast<char*>(malloc(size));
  void* neighbour = malloc(300000);
  CHECK(block != nullptr && neighbour != nullptr);
  pattern_fill(block, size, 11);
  while (size < budget / 4 * 3) {
    const std::size_t wanted = size + budget / 10;
    auto* const grown = static_cast<char*>(realloc(block, opaque(wanted)));
    CHECK(grown != nullptr && pattern_holds_prefix(grown, size, size, 11));
    block = grown;
    size = wanted;
    pattern_fill(block, size, 11);
  }
  errno = 0;
  CHECK(realloc(block, opaque(2 * budget)) == nullptr && errno == ENOMEM);
  CHECK(pattern_holds(block, size, 11));
  free(block);
  free(neighbour);
}

// Where the room left lies in pieces between others, each too small for the growth alone.
void grow_among_pieces(std::size_t limit_mebibytes) {
  const std::size_t unit = limit_mebibytes * MEBIBYTE / 1024;
  const std::size_t size = 300 * unit;
  void* pieces[4];
  void* walls[4];
  auto* const block = static_cast<char*>(malloc(size));
  CHECK(block != nullptr);
  pattern_fill(block, size, 12);
  for (int i = 0; i < 4; ++i) {
    pieces[i] = malloc(90 * unit);
    walls[i] = malloc(unit);
    CHECK(pieces[i] != nullptr && walls[i] != nullptr);
  }
  for (void* const piece : pieces) free(piece);
  auto* const grown = static_cast<char*>(realloc(block, opaque(900 * unit)));
  CHECK(grown != nullptr && pattern_holds_prefix(grown, size, size, 12));
  free(grown);
  for (void* const wall : walls) free(wall);
}

pthread_barrier_t limit_is_set;

void* exhaust_in_thread(void* unused) {
  pthread_barrier_wait(&limit_is_set);
  for (const std::size_t size : {std::size_t{3000}, std::size_t{80}, std::size_t{700000}}) {
    Chain chain = take_until_null(size);
    give(chain);
  }
  return unused;
}

// The threads start before the limit is set, since their stacks are not the allocator's to give.
void share_exhaustion_among_threads(const pthread_t (&threads)[4]) {
  pthread_barrier_wait(&limit_is_set);
  for (const pthread_t thread : threads) CHECK(pthread_join(thread, nullptr) == 0);
  void* block = malloc(budget / 4);
  CHECK(block != nullptr);
  free(block);
}

}  // namespace

int main() {
  begin(120);
  pthread_t threads[4];
  CHECK(pthread_barrier_init(&limit_is_set, nullptr, 5) == 0);
  for (pthread_t& thread : threads) {
    CHECK(pthread_create(&thread, nullptr, exhaust_in_thread, nullptr) == 0);
  }
  free(malloc(100));
  run_in_child(
      [](std::size_t limit) {
        limit_address_space(limit * MEBIBYTE - mapped_bytes());
        grow_among_pieces(limit);
      },
      1024);
  limit_address_space(budget);
  for (const std::size_t size : {std::size_t{64}, std::size_t{1000}, std::size_t{40000},
                                 std::size_t{262144}, 3 * MEBIBYTE}) {
    run_in_child(serve_others_when_one_block_took_all, size);
  }
  for (const std::size_t percent : {1u, 30u, 55u}) run_in_child(grow_where_two_do_not_fit, percent);
  serve_every_size_in_turn();
  serve_a_large_block_after_small_ones();
  fail_politely_when_nothing_is_left();
  share_exhaustion_among_threads(threads);
  serve_every_size_in_turn();
  return 0;
}
