// block_stacks: see block_stacks.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/process_wide/block_stacks.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "engine/records/thread.hpp"
#include "engine/records/thread_default.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/report.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

namespace {

constexpr std::uint32_t first_room = 64;
constexpr std::uint32_t look_every = 256;  // So many blocks that come or go.

struct BlockStack {
  void** blocks = nullptr;
  std::uint32_t count = 0;
  std::uint32_t room = 0;
  std::uint32_t least = 0;  // The least that `count` was since the last look.
  std::uint32_t moves = 0;  // Since the last look.
  std::uint64_t looked_at_ms = 0;
  bool changing = false;  // Blocks go, or the array moves: a fork must not trust them.
};

// While this lives, the stack is changing.
class Changing {
 public:
  explicit Changing(BlockStack& stack) noexcept : stack_(stack) {
    stack.changing = true;
    TARN_FORK_FENCE();
  }
  ~Changing() {
    TARN_FORK_FENCE();
    stack_.changing = false;
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  BlockStack& stack_;
};

// Never freed; a thread that begins takes those of one that has ended.
struct ThreadStacks {
  BlockStack of[stack_rows];
  std::atomic<bool> taken{true};
  ThreadStacks* next_known = nullptr;
};

constinit std::atomic<ThreadStacks*> known_stacks{nullptr};
constinit std::atomic<bool> knows_forks{false};
TARN_INITIAL_EXEC __thread ThreadStacks* stacks_here = nullptr;

// Threads that have vanished in the fork leave their stacks to others: a block is on its stack
// before it is counted there. What was changing is lost.
void after_fork() noexcept {
  ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  for (; s != nullptr; s = s->next_known) {
    if (s == stacks_here) continue;
    for (BlockStack& stack : s->of) {
      if (stack.changing) stack = BlockStack{};
    }
    s->taken.store(false, std::memory_order_relaxed);
  }
}

// The oldest blocks go.
void give(BlockStack& stack, std::uint32_t count) noexcept {
  TARN_ASSERT(count <= stack.count);
  const Changing changing(stack);
  const std::uint32_t left = stack.count - count;
  for (std::uint32_t i = 0; i < count; ++i) deallocate(stack.blocks[i]);
  memmove(stack.blocks, stack.blocks + count, left * sizeof(void*));
  stack.count = left;
}

bool give_all(ThreadStacks& stacks) noexcept {
  bool any = false;
  for (BlockStack& stack : stacks.of) {
    any = any || stack.count != 0;
    if (stack.count != 0) give(stack, stack.count);
    const Changing changing(stack);
    deallocate(stack.blocks);
    stack = BlockStack{};
  }
  return any;
}

void end(void* value) noexcept {
  auto* const stacks = static_cast<ThreadStacks*>(value);
  if (stacks_here != stacks) return;
  stacks_here = nullptr;
  give_all(*stacks);
  stacks->taken.store(false, std::memory_order_release);  // Pairs with take_known().
}

ThreadStacks* take_known() noexcept {
  ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  for (; s != nullptr; s = s->next_known) {
    if (s->taken.load(std::memory_order_relaxed)) continue;
    if (!s->taken.exchange(true, std::memory_order_acquire)) return s;
  }
  return nullptr;
}

ThreadStacks* make() noexcept {
  const WithoutDefaultHeap malloc_itself;  // They outlive it.
  void* const memory = allocate(sizeof(ThreadStacks));
  if (memory == nullptr) return nullptr;
  auto* const made = new (memory) ThreadStacks;
  made->next_known = known_stacks.load(std::memory_order_relaxed);
  while (!known_stacks.compare_exchange_weak(made->next_known, made, std::memory_order_release,
                                             std::memory_order_relaxed)) {
  }
  return made;
}

TARN_COLD bool join() noexcept {
  if (thread_is_ending) return false;
  os::process_on_fork_once(knows_forks, after_fork);
  ThreadStacks* stacks = take_known();
  if (stacks == nullptr) stacks = make();
  if (stacks == nullptr) return false;
  if (!os::thread_on_end(end, stacks, os::ThreadEndFor::block_stacks)) {
    stacks->taken.store(false, std::memory_order_release);
    return false;
  }
  stacks_here = stacks;
  return true;
}

TARN_COLD bool grow(BlockStack& stack) noexcept {
  const std::uint32_t room = stack.room == 0 ? first_room : stack.room * 2;
  if (room <= stack.room) return false;
  const WithoutDefaultHeap malloc_itself;
  auto** const blocks = static_cast<void**>(allocate(room * sizeof(void*)));
  if (blocks == nullptr) return false;
  if (stack.count != 0) memcpy(blocks, stack.blocks, stack.count * sizeof(void*));
  const Changing changing(stack);
  void** const before = stack.blocks;
  stack.blocks = blocks;
  stack.room = room;
  deallocate(before);
  return true;
}

TARN_COLD void look(BlockStack& stack) noexcept {
  const std::uint64_t now = os::clock_coarse_ms();
  stack.moves = 0;
  if (now - stack.looked_at_ms < settings[Option::purge_delay_ms]) return;
  const std::uint32_t unwanted = stack.least;
  const bool first = stack.looked_at_ms == 0;
  stack.looked_at_ms = now;
  if (!first && unwanted != 0) give(stack, unwanted);
  stack.least = stack.count;
}

BlockStack& stack_of(StackRow row) noexcept {
  TARN_ASSERT(static_cast<std::size_t>(row) < stack_rows && stacks_here != nullptr);
  return stacks_here->of[static_cast<std::size_t>(row)];
}

}  // namespace

void* take_stacked(StackRow row) noexcept {
  if (TARN_UNLIKELY(stacks_here == nullptr)) return nullptr;
  BlockStack& stack = stack_of(row);
  if (stack.count == 0) return nullptr;
  void* const block = stack.blocks[--stack.count];
  if (stack.count < stack.least) stack.least = stack.count;
  if (TARN_UNLIKELY(++stack.moves == look_every)) look(stack);
  return block;
}

bool stack_block(StackRow row, void* p, const char* function) noexcept {
  if (TARN_UNLIKELY(stacks_here == nullptr) && !join()) return false;
  BlockStack& stack = stack_of(row);
  if (TARN_UNLIKELY(++stack.moves == look_every)) look(stack);
  if (stack.count != 0 && stack.blocks[stack.count - 1] == p) {
    report_misuse(Misuse::double_free, function, p);
  }
  if (TARN_UNLIKELY(stack.count == stack.room) && !grow(stack)) return false;
  stack.blocks[stack.count] = p;
  std::atomic_signal_fence(std::memory_order_release);
  ++stack.count;
  return true;
}

bool give_stacked() noexcept { return stacks_here != nullptr && give_all(*stacks_here); }

}  // namespace tarn
