// heap: the malloc family as several threads use it, against a table of what is out. The threads
// are records that one real thread takes turns in (current_thread), so every input is repeatable;
// what happens between two steps of a thread is seen by the model of the protocol
// (tests/unit/engine/pages/model) and by tests/stress.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "engine/store/store.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/thread_heap.hpp"
#include "engine/threads/thread_life.hpp"
#include "input.hpp"
#include "platform/os/fake/fake.hpp"
#include "tarn/tarn.h"

namespace tarn::fuzz {

namespace {

constexpr std::size_t blocks_max = 1200;
constexpr std::size_t actors_max = 4;

struct Entry {
  std::byte* start;
  std::size_t bytes;  // Requested.
  std::size_t usable;
  std::uint8_t mark;
};

class Program {
 public:
  explicit Program(Input& input) : input_(input) {
    os::fake::fail_at(0, false);
    home_ = current_thread;
    actors_.fill(no_thread());
    set_current_thread(no_thread());
  }
  void step();
  void finish();

 private:
  std::size_t some_bytes();
  void allocate();
  void allocate_many();
  void reallocate();
  void release(std::size_t i);
  void release_some();
  void add(void* p, std::size_t bytes, std::size_t alignment, bool zero);
  bool refused(const void* p) const;
  void turn(std::size_t actor);
  void end(std::size_t actor);
  void check();

  static void fill(const Entry& entry);
  static void verify(const Entry& entry, std::size_t bytes);

  Input& input_;
  std::vector<Entry> blocks_;
  std::map<const std::byte*, const std::byte*> ranges_;
  std::array<Thread*, actors_max> actors_{};
  std::size_t actor_ = 0;
  Thread* home_ = nullptr;
  std::uint8_t marks_ = 0;
  bool failing_ = false;
};

std::size_t Program::some_bytes() {
  switch (input_.below(32)) {
    case 0: return input_.below(1500000);
    case 1:
    case 2: return input_.below(block_bytes_max + 1000);
    case 3:
    case 4:
    case 5: return input_.below(20000);
    case 6: return 0;
    case 7: return class_block_bytes[input_.below(class_count)] + input_.below(2);
    default: return input_.below(linear_bytes_max + 1) / (input_.below(16) + 1);
  }
}

// The ends, and a byte here and there between them.
template <class Visit>
void for_some_bytes(std::size_t bytes, Visit visit) {
  for (std::size_t i = 0; i < bytes; i += i < 64 ? 1 : 509) visit(i);
  for (std::size_t i = bytes > 64 ? bytes - 16 : bytes; i < bytes; ++i) visit(i);
}

std::byte expected_byte(const Entry& entry, std::size_t i) {
  return static_cast<std::byte>(entry.mark + i % 251);
}

void Program::fill(const Entry& entry) {
  for_some_bytes(entry.bytes, [&](std::size_t i) { entry.start[i] = expected_byte(entry, i); });
}

void Program::verify(const Entry& entry, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += i < 64 ? 1 : 509) {
    TARN_REQUIRE(entry.start[i] == expected_byte(entry, i));
  }
  if (bytes < entry.bytes) return;
  for_some_bytes(bytes,
                 [&](std::size_t i) { TARN_REQUIRE(entry.start[i] == expected_byte(entry, i)); });
}

// A null pointer is right only when a call of the OS may have failed.
bool Program::refused(const void* p) const {
  if (p != nullptr) return false;
  TARN_REQUIRE(failing_ && errno == ENOMEM);
  return true;
}

void Program::add(void* p, std::size_t bytes, std::size_t alignment, bool zero) {
  if (refused(p)) return;
  Entry entry{static_cast<std::byte*>(p), bytes, tarn_malloc_usable_size(p), ++marks_};
  TARN_REQUIRE(entry.usable >= bytes);
  TARN_REQUIRE(address_of(p) % alignment == 0 && address_of(p) % block_align == 0);
  const std::byte* const end = entry.start + entry.usable;
  const auto after = ranges_.lower_bound(entry.start);
  TARN_REQUIRE(after == ranges_.end() || after->first >= end);
  TARN_REQUIRE(after == ranges_.begin() || std::prev(after)->second <= entry.start);
  if (zero) {
    for_some_bytes(bytes, [&](std::size_t i) { TARN_REQUIRE(entry.start[i] == std::byte{0}); });
  }
  ranges_[entry.start] = end;
  fill(entry);
  blocks_.push_back(entry);
}

void Program::allocate() {
  if (blocks_.size() >= blocks_max) return;
  const std::size_t bytes = some_bytes();
  errno = 0;
  switch (input_.below(6)) {
    case 0: return add(tarn_calloc(bytes / 3, 3), bytes / 3 * 3, 1, true);
    case 1: {
      const std::size_t alignment = std::size_t{1} << input_.below(18);
      return add(tarn_aligned_alloc(alignment, bytes), bytes, alignment, false);
    }
    case 2: {
      const std::size_t alignment = std::size_t{8} << input_.below(12);
      void* p = nullptr;
      const int error = tarn_posix_memalign(&p, alignment, bytes);
      TARN_REQUIRE(error == (p == nullptr ? ENOMEM : 0) && errno == error);
      return add(p, bytes, alignment, false);
    }
    default: return add(tarn_malloc(bytes), bytes, 1, false);
  }
}

// Enough of one size to fill pages, put them to sleep and wake them.
void Program::allocate_many() {
  const std::size_t bytes = some_bytes() % 9000;
  for (std::size_t n = input_.below(80); n > 0 && blocks_.size() < blocks_max; --n) {
    errno = 0;
    add(tarn_malloc(bytes), bytes, 1, false);
  }
}

void Program::reallocate() {
  if (blocks_.empty()) return;
  const std::size_t i = input_.below(blocks_.size());
  const Entry entry = blocks_[i];
  const std::size_t bytes = some_bytes() + 1;
  errno = 0;
  void* const p = tarn_realloc(entry.start, bytes);
  if (refused(p)) return verify(entry, entry.bytes);
  ranges_.erase(entry.start);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
  const Entry moved{static_cast<std::byte*>(p), entry.bytes, 0, entry.mark};
  verify(moved, std::min(entry.bytes, bytes));
  add(p, bytes, 1, false);
}

void Program::release(std::size_t i) {
  const Entry entry = blocks_[i];
  verify(entry, entry.bytes);
  ranges_.erase(entry.start);
  blocks_[i] = blocks_.back();
  blocks_.pop_back();
  errno = 12345;
  tarn_free(entry.start);
  TARN_REQUIRE(errno == 12345);
}

void Program::release_some() {
  if (blocks_.empty()) return;
  std::size_t i = input_.below(blocks_.size());
  for (std::size_t n = input_.byte() % 4 == 0 ? input_.below(200) + 1 : 1; n > 0; --n) {
    if (blocks_.empty()) return;
    release(i % blocks_.size());
    i += 7;
  }
}

void Program::turn(std::size_t actor) {
  actors_[actor_] = current_thread;
  actor_ = actor;
  set_current_thread(actors_[actor]);
}

// As thread_ended() does for a real one.
void Program::end(std::size_t actor) {
  turn(actor);
  Thread* const thread = current_thread;
  if (thread == no_thread()) return;
  Busy::begin(*thread);
  set_current_thread(no_thread());
  thread_give(*thread);
}

void Program::check() {
  TARN_REQUIRE(store.check());
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    TARN_REQUIRE(thread_heap_check(t->heap));
  }
  static tarn_account account;
  TARN_REQUIRE(tarn_process_account(&account, sizeof account) == 0);
  std::map<std::size_t, std::uint64_t> expected;
  std::uint64_t large = 0;
  std::uint64_t bytes = 0;
  for (const Entry& entry : blocks_) {
    bytes += entry.usable;
    if (entry.usable > block_bytes_max) {
      ++large;
    } else {
      ++expected[entry.usable];
    }
  }
  std::map<std::size_t, std::uint64_t> found;
  for (std::size_t c = 0; c < account.class_count; ++c) {
    const tarn_account_class& row = account.classes[c];
    if (row.live_blocks != 0) found[row.block_bytes] += row.live_blocks;
  }
  // An aligned block may be a span of a size that classes have too.
  for (const auto& [size, count] : expected) {
    TARN_REQUIRE(found[size] <= count);
    large += count - found[size];
  }
  TARN_REQUIRE(account.large_live_blocks == large);
  TARN_REQUIRE(account.live_bytes == bytes);
}

void Program::step() {
  switch (input_.below(16)) {
    case 0:
    case 1:
    case 2: allocate(); break;
    case 3:
    case 4: allocate_many(); break;
    case 5:
    case 6: reallocate(); break;
    case 7:
    case 8:
    case 9:
    case 10: release_some(); break;
    case 11:
    case 12: turn(input_.below(actors_max)); break;
    case 13: end(input_.below(actors_max)); break;
    case 14:
      if (input_.byte() % 8 == 0) tarn_malloc_trim(input_.below(3) << 20);
      break;
    default:
      if (input_.byte() % 8 != 0) break;
      failing_ = !failing_;
      os::fake::fail_at(failing_ ? input_.below(8) + 1 : 0, input_.byte() % 2 == 0);
  }
  if (input_.byte() % 16 == 0) check();
}

void Program::finish() {
  os::fake::fail_at(0, false);
  failing_ = false;
  check();
  while (!blocks_.empty()) {
    turn(blocks_.size() % actors_max);
    release(blocks_.size() - 1);
  }
  for (std::size_t actor = 0; actor < actors_max; ++actor) end(actor);
  tarn_malloc_trim(0);
  check();
  set_current_thread(home_);
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Program program(input);
  while (input.has_step()) program.step();
  program.finish();
}

}  // namespace tarn::fuzz
