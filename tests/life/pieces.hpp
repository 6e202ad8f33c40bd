// pieces: the work of every_call_fails, piece by piece, and what may come of it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "supervised.hpp"

#include <span>

#include <tarn/tarn.h>

#include "family.h"
#include "pattern.h"

namespace pieces {

// How a piece may end, beside well.
enum class Ends { well, by_abort, refused };

struct Piece {
  const char* name;
  void (*work)();
  Ends ends = Ends::well;
  bool makes_no_calls = false;  // At least in some modes.
};

// Those of the process's malloc, of heaps, and of everything else.
std::span<const Piece> of_malloc();
std::span<const Piece> of_heaps();
std::span<const Piece> of_kinds();

using supervised::shared;
using supervised::Watched;

inline bool is_refused() { return shared().refused.load() != 0; }

// A malloc that guards its blocks makes calls for each of them, which takes a while here.
inline std::size_t some(std::size_t count) {
  static const char* const options = getenv("TARN_OPTIONS");
  static const bool is_guarded = options != nullptr && strstr(options, "guarded") != nullptr;
  return is_guarded ? count / 50 + 2 : count;
}

// Null is an answer only if the kernel refused something, and it has its reason.
inline bool is_there(const void* p) {
  if (p != nullptr) return true;
  CHECK(errno == ENOMEM);
  CHECK(is_refused());
  errno = 0;
  return false;
}

// Whether a call that says 0 or an error number did it.
inline bool is_done(int error) {
  if (error == 0) return true;
  CHECK(error == ENOMEM);
  CHECK(is_refused());
  return false;
}

// The blocks of a piece. Each has its own pattern.
class Kept {
 public:
  std::size_t count() const { return count_; }

  void take(void* p, std::size_t bytes) {
    if (!is_there(p)) return;
    CHECK(count_ != most);
    const unsigned seed = next_seed_++;
    pattern_fill(p, bytes, seed);
    blocks_[count_++] = {p, bytes, seed};
  }
  void check(std::size_t i) const {
    CHECK(pattern_holds(blocks_[i].p, blocks_[i].bytes, blocks_[i].seed));
  }
  void check() const {
    for (std::size_t i = 0; i < count_; ++i) check(i);
  }
  // resize(p, bytes): null when it cannot be; then the block is as it was.
  template <class Resize>
  void resize(std::size_t i, std::size_t bytes, Resize resize) {
    Block& b = blocks_[i];
    void* const moved = resize(b.p, bytes);
    if (!is_there(moved)) return check(i);
    CHECK(pattern_holds_prefix(moved, bytes < b.bytes ? bytes : b.bytes, b.bytes, b.seed));
    pattern_fill(moved, bytes, b.seed);
    b = {moved, bytes, b.seed};
  }
  // Every `step`-th block that is left goes; errno stays.
  template <class Free>
  void give(std::size_t step, Free free_one) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (i % step != 0) {
        blocks_[left++] = blocks_[i];
        continue;
      }
      check(i);
      errno = 77;
      free_one(blocks_[i].p);
      CHECK(errno == 77);
    }
    count_ = left;
  }
  void give_all() {
    give(1, [](void* p) { free(p); });
  }
  void forget() { count_ = 0; }

 private:
  struct Block {
    void* p;
    std::size_t bytes;
    unsigned seed;
  };
  static constexpr std::size_t most = 100'000;
  Block blocks_[most];
  std::size_t count_ = 0;
  unsigned next_seed_ = 0;
};
inline Kept kept;

inline constexpr std::size_t mixed_bytes[] = {
    1, 24, 100, 600, 2000, 7000, 20000, 70000, 200000, 700000, 3000000, 12000000, 40000000};
inline constexpr std::size_t mixed_count = std::size(mixed_bytes);

// What a status other than 0 may be.
inline bool is_ok(int status) {
  if (status == 0) return true;
  CHECK(status == -1 && is_refused());
  CHECK(errno == ENOMEM || errno == EAGAIN || errno == EPERM || errno == EBUSY);
  return false;
}

inline int see(const tarn_heap_item*, void*) { return 0; }

}  // namespace pieces
