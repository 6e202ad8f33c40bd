// block_stacks: see block_stacks.hpp.
//
//   a thread at its stacks                 another thread, which gives blocks of these back
//   ----------------------                 ------------------------------------------------
//   sets `inside`, looks at `wanted`       sets `wanted`
//   ...                                    membarrier
//   clears `inside`                        waits until `inside` is clear, or gives up
//                                          ...
//                                          clears `wanted`
//
// A thread that finds itself wanted does without its stacks. Nothing is called while `inside` is
// set. A fork finds each stack whole, since each change of one is made by one store.
//
// SPDX-License-Identifier: MIT
#include "kinds/process_wide/block_stacks.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

#include "engine/records/gate.hpp"
#include "engine/records/thread.hpp"
#include "engine/records/thread_default.hpp"
#include "engine/upkeep/idle_purge.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/misuse.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

namespace {

constexpr std::uint32_t room_least = 62;
constexpr std::uint32_t look_every = 256;   // So many blocks that come or go.
constexpr std::uint32_t batch_blocks = 64;  // Given back at once.
constexpr std::uint32_t remembered = 4;     // So many are looked through for one freed twice.
constexpr int waits_most = 1000;            // For a thread at its stacks; each lets others run.

// The addresses of blocks, the oldest at `bottom`; those at `top` and above are none. Those below
// `bottom` are null, of which there are some from the start.
struct Slots {
  std::uint32_t bottom = remembered;
  std::uint32_t top = remembered;
  std::uint32_t room = remembered;

  void*& at(std::uint32_t i) noexcept {
    return *(reinterpret_cast<void**>(reinterpret_cast<std::byte*>(this) + header_bytes) + i);
  }
  std::uint32_t count() const noexcept { return top - bottom; }

  static constexpr std::size_t header_bytes = 2 * sizeof(void*);
};
static_assert(sizeof(Slots) <= Slots::header_bytes);

// Never written.
struct NoSlots {
  alignas(void*) Slots slots{};
  void* below[remembered + 1]{};
};
constinit NoSlots no_slots_at_all{};
constexpr Slots* no_slots = &no_slots_at_all.slots;

struct BlockStack {
  Slots* slots = no_slots;
  std::uint32_t least = 0;  // The fewest blocks that there were since the last look.
  std::uint32_t moves = 0;  // Since the last look of its thread, which alone counts them.
  std::uint64_t looked_at_ms = 0;
};

// Never freed; a thread that begins takes those of one that has ended.
struct ThreadStacks {
  BlockStack of[stack_rows];
  std::atomic<bool> inside{false};
  std::atomic<bool> wanted{false};
  std::atomic<std::uint32_t> with_slots{0};  // So many stacks have any.
  std::atomic<bool> taken{true};
  ThreadStacks* next_known = nullptr;
};

constinit std::atomic<ThreadStacks*> known_stacks{nullptr};
constinit std::atomic<bool> refused{false};  // The OS tells of no further thread's end.
constinit os::Lock giving;  // Of the thread that gives back what others have stacked.
constinit std::atomic<std::uint64_t> gifts{0};  // How often a thread has given what others had.
TARN_INITIAL_EXEC __thread ThreadStacks* stacks_here = nullptr;

// While this lives, the stacks are the calling thread's alone, if is_open(). Those of another
// thread it has for itself already.
class Section {
 public:
  explicit Section(ThreadStacks& stacks) noexcept
      : stacks_(stacks), is_mine_(&stacks == stacks_here) {
    if (!is_mine_) return;
    if (TARN_UNLIKELY(stacks.inside.load(std::memory_order_relaxed))) {  // In a signal handler.
      is_mine_ = is_open_ = false;
      return;
    }
    stacks.inside.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_open_ = !stacks.wanted.load(std::memory_order_acquire);  // Pairs with the giver.
  }
  ~Section() {
    if (is_mine_) stacks_.inside.store(false, std::memory_order_release);  // Pairs with is_left().
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool is_open() const noexcept { return is_open_; }

 private:
  ThreadStacks& stacks_;
  bool is_mine_;
  bool is_open_ = true;
};

// pre: in a section
void count_slots(ThreadStacks& stacks, int change) noexcept {
  const std::uint32_t before = stacks.with_slots.load(std::memory_order_relaxed);
  // Sequentially consistent: see Sleeper::ring().
  stacks.with_slots.store(before + static_cast<std::uint32_t>(change), std::memory_order_seq_cst);
}

// A look that is due: says how many of the oldest blocks are to go. False when none is due.
bool begin_look(BlockStack& stack, bool at_once, std::uint32_t* unwanted) noexcept {
  const std::uint64_t now = os::clock_coarse_ms();
  if (!at_once && now - stack.looked_at_ms < settings[Option::purge_delay_ms]) return false;
  const std::uint32_t count = stack.slots->count();
  // After a fork that has interrupted a take, the least may be one too many.
  *unwanted = at_once || stack.least > count ? count : stack.least;
  stack.looked_at_ms = now;
  stack.least = count - *unwanted;
  return true;
}

// Takes up to so many of the oldest blocks.
std::uint32_t take_oldest(Slots& slots, std::uint32_t most, void** batch) noexcept {
  const std::uint32_t there = slots.count() < most ? slots.count() : most;
  const std::uint32_t taken = there < batch_blocks ? there : batch_blocks;
  if (taken == 0) return 0;
  memcpy(batch, &slots.at(slots.bottom), taken * sizeof(void*));
  const std::uint32_t bottom = slots.bottom;
  slots.bottom = bottom + taken;
  TARN_FORK_FENCE();
  memset(&slots.at(bottom), 0, taken * sizeof(void*));
  return taken;
}

// A heap that another thread holds, or that is frozen, is left alone: a free would wait for that
// thread, or be misuse.
bool is_left_alone(const void* block) noexcept {
  const auto* const page = static_cast<const Page*>(page_map.span_of(block));
  if (page->kind_now() != SpanKind::page) return false;
  const HeapRecord& record = *page->heap_now()->record;
  return &record != &main_record && keeps_off(record);
}

// Gives back the oldest blocks that are to go, and then the slots if they are empty. False: none.
bool look(ThreadStacks& stacks, BlockStack& stack, bool at_once) noexcept {
  bool gave = false;
  std::uint32_t left = 0;
  Slots* spare = no_slots;
  for (bool begun = false; spare == no_slots && (left != 0 || !begun); begun = true) {
    void* batch[batch_blocks];
    std::uint32_t taken = 0;
    {
      const Section section(stacks);
      if (!section.is_open() || stack.slots == no_slots) return gave;
      if (!begun && !begin_look(stack, at_once, &left)) return gave;
      Slots& slots = *stack.slots;
      if (left != 0 && slots.count() != 0 && is_left_alone(slots.at(slots.bottom))) return gave;
      taken = take_oldest(slots, left, batch);
      left = taken == batch_blocks ? left - taken : 0;
      if (left == 0 && slots.count() == 0) {
        spare = &slots;
        stack.slots = no_slots;
        count_slots(stacks, -1);
      }
    }
    // To their pages at once: this is what is done when memory is short.
    for (std::uint32_t i = 0; i < taken; ++i) {
      deallocate_in(static_cast<Page*>(page_map.span_of(batch[i])), batch[i]);
    }
    if (spare != no_slots) deallocate(spare);
    gave = gave || taken != 0;
  }
  return gave;
}

bool look_at_all(ThreadStacks& stacks, bool at_once) noexcept {
  bool gave = false;
  if (stacks.with_slots.load(std::memory_order_relaxed) == 0) return false;
  for (BlockStack& stack : stacks.of) gave = look(stacks, stack, at_once) || gave;
  return gave;
}

// Waits until the thread of the stacks is not at work there. False: it did not get so far.
bool is_left(const ThreadStacks& stacks) noexcept {
  for (int i = 0; stacks.inside.load(std::memory_order_acquire); ++i) {
    if (i == waits_most) return false;
    os::yield();
  }
  return true;
}

// Another thread that gives may be waiting for a heap that this one holds.
bool begin_giving(bool at_once) noexcept {
  if (giving.held_by_this_thread()) return false;  // In a signal handler.
  for (int i = 0; !giving.try_lock(); ++i) {
    if (!at_once || i == waits_most) return false;
    os::yield();
  }
  return true;
}

bool is_of_another(const ThreadStacks& stacks) noexcept {
  return &stacks != stacks_here && stacks.with_slots.load(std::memory_order_relaxed) != 0;
}

// pre: giving is held
bool give_of_others_now(bool at_once) noexcept {
  ThreadStacks* const first = known_stacks.load(std::memory_order_acquire);
  bool any_wanted = false;
  for (ThreadStacks* s = first; s != nullptr; s = s->next_known) {
    if (!is_of_another(*s)) continue;
    s->wanted.store(true, std::memory_order_relaxed);
    any_wanted = true;
  }
  if (!any_wanted) return false;
  barrier_for_exclusive();
  bool gave = false;
  for (ThreadStacks* s = first; s != nullptr; s = s->next_known) {
    if (!s->wanted.load(std::memory_order_relaxed)) continue;
    if (is_left(*s)) gave = look_at_all(*s, at_once) || gave;
    s->wanted.store(false, std::memory_order_release);
  }
  return gave;
}

// True also when another thread has given something while this one waited for it.
bool give_of_others(bool at_once) noexcept {
  const std::uint64_t before = gifts.load(std::memory_order_relaxed);
  if (begin_giving(at_once)) {
    if (give_of_others_now(at_once)) gifts.fetch_add(1, std::memory_order_relaxed);
    giving.unlock();
  }
  return gifts.load(std::memory_order_relaxed) != before;
}

bool give_all(bool at_once) noexcept {
  const bool own = stacks_here != nullptr && look_at_all(*stacks_here, at_once);
  return give_of_others(at_once) || own;
}

void give_own() noexcept {
  if (stacks_here != nullptr) look_at_all(*stacks_here, true);
}

bool any_has_slots() noexcept {
  const ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  while (s != nullptr && s->with_slots.load(std::memory_order_seq_cst) == 0) s = s->next_known;
  return s != nullptr;
}

// Threads that have vanished in the fork leave their stacks to others. What a thread was giving
// back is lost. Others' memory is written where it must be: the child gets a copy of each page.
void recover_after_fork() noexcept {
  giving.recover_after_fork();
  ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  for (; s != nullptr; s = s->next_known) {
    const bool is_vanished = s != stacks_here && s->taken.load(std::memory_order_relaxed);
    const bool was_given =
        s->wanted.load(std::memory_order_relaxed) && !giving.held_by_this_thread();
    if (was_given) s->wanted.store(false, std::memory_order_relaxed);
    if (is_vanished || was_given) {
      std::uint32_t with_slots = 0;
      for (const BlockStack& stack : s->of) with_slots += stack.slots != no_slots ? 1 : 0;
      s->with_slots.store(with_slots, std::memory_order_relaxed);
    }
    if (!is_vanished) continue;
    s->inside.store(false, std::memory_order_relaxed);
    s->taken.store(false, std::memory_order_relaxed);
  }
}

constexpr KeptBlocks hooks{.give = give_all,
                           .give_own = give_own,
                           .is_there = any_has_slots,
                           .recover_after_fork = recover_after_fork};

void end(void* value) noexcept {
  auto* const stacks = static_cast<ThreadStacks*>(value);
  if (stacks_here != stacks) return;
  look_at_all(*stacks, true);
  stacks_here = nullptr;
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

// While this lives, what is allocated is malloc's own, as it outlives a default heap of the thread,
// and no callback of the program is asked for it, which a free is no place for. errno is kept.
class Quietly {
 public:
  Quietly() noexcept : saved_errno_(errno) {}
  ~Quietly() { errno = saved_errno_; }
  Quietly(const Quietly&) = delete;
  Quietly& operator=(const Quietly&) = delete;

 private:
  const int saved_errno_;
  const WithoutDefaultHeap malloc_itself_;
  const WithoutOwners nobody_asked_;
};

// pre: Quietly
ThreadStacks* make() noexcept {
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
  if (thread_is_ending || refused.load(std::memory_order_relaxed)) return false;
  const Quietly quietly;  // What libc allocates for the end of the thread, too.
  kept_blocks.store(&hooks, std::memory_order_release);
  ThreadStacks* stacks = take_known();
  if (stacks == nullptr) stacks = make();
  if (stacks != nullptr) {
    stacks_here = stacks;
    if (!os::thread_on_end(end, stacks, os::ThreadEndFor::block_stacks)) {
      refused.store(true, std::memory_order_relaxed);
      end(stacks);
    }
  }
  return stacks_here != nullptr;
}

std::uint32_t count_of(ThreadStacks& stacks, const BlockStack& stack) noexcept {
  const Section section(stacks);
  return section.is_open() ? stack.slots->count() : 0;
}

// The stack has its blocks in `larger` from now on. Returns the slots that are of no use any more:
// `larger` itself if they are not larger.
Slots* move_to(ThreadStacks& stacks, BlockStack& stack, Slots* larger) noexcept {
  Slots* const before = stack.slots;
  const std::uint32_t count = before->count();
  if (count >= larger->room - remembered) return larger;
  memcpy(&larger->at(remembered), &before->at(before->bottom), count * sizeof(void*));
  larger->top = remembered + count;
  TARN_FORK_FENCE();
  stack.slots = larger;
  if (before == no_slots) count_slots(stacks, 1);
  return before;
}

// False when there is no memory for more.
TARN_COLD bool grow(ThreadStacks& stacks, BlockStack& stack) noexcept {
  const std::uint32_t count = count_of(stacks, stack);
  if (count > UINT32_MAX / 4) return false;
  const std::uint32_t room = count < room_least / 2 ? room_least : 2 * (count + remembered);
  const Quietly quietly;
  void* const memory = allocate(Slots::header_bytes + room * sizeof(void*));
  if (memory == nullptr) return false;
  auto* spare = new (memory) Slots{.room = room};
  memset(&spare->at(0), 0, remembered * sizeof(void*));
  {
    const Section section(stacks);
    if (section.is_open()) spare = move_to(stacks, stack, spare);
  }
  if (spare == no_slots) {
    note_kept_blocks();
  } else {
    deallocate(spare);
  }
  return true;
}

BlockStack& stack_of(StackRow row) noexcept {
  TARN_ASSERT(static_cast<std::size_t>(row) < stack_rows && stacks_here != nullptr);
  return stacks_here->of[static_cast<std::size_t>(row)];
}

enum class Pushed : unsigned char { done, full, wanted, twice };

bool is_remembered(Slots& slots, const void* p) noexcept {
  bool found = false;
  for (std::uint32_t i = 1; i <= remembered; ++i) found |= slots.at(slots.top - i) == p;
  return found;
}

Pushed push(BlockStack& stack, void* p) noexcept {
  const Section section(*stacks_here);
  if (TARN_UNLIKELY(!section.is_open())) return Pushed::wanted;
  Slots& slots = *stack.slots;
  if (TARN_UNLIKELY(is_remembered(slots, p))) return Pushed::twice;
  if (TARN_UNLIKELY(slots.top == slots.room)) return Pushed::full;
  slots.at(slots.top) = p;
  TARN_FORK_FENCE();
  ++slots.top;
  return Pushed::done;
}

TARN_INLINE void count_move(BlockStack& stack) noexcept {
  if (TARN_LIKELY(++stack.moves < look_every)) return;
  stack.moves = 0;
  look(*stacks_here, stack, false);
}

}  // namespace

void* take_stacked(StackRow row) noexcept {
  if (TARN_UNLIKELY(stacks_here == nullptr)) return nullptr;
  BlockStack& stack = stack_of(row);
  void* block = nullptr;
  {
    const Section section(*stacks_here);
    if (!section.is_open()) return nullptr;
    Slots& slots = *stack.slots;
    if (slots.count() == 0) return nullptr;
    block = slots.at(--slots.top);
    if (slots.count() < stack.least) stack.least = slots.count();
  }
  count_move(stack);
  return block;
}

bool stack_block(StackRow row, void* p, const char* function) noexcept {
  if (TARN_UNLIKELY(stacks_here == nullptr) && !join()) return false;
  BlockStack& stack = stack_of(row);
  count_move(stack);
  Pushed pushed = push(stack, p);
  if (TARN_UNLIKELY(pushed == Pushed::full) && grow(*stacks_here, stack)) pushed = push(stack, p);
  if (TARN_UNLIKELY(pushed == Pushed::twice)) report_misuse(Misuse::double_free, function, p);
  return pushed == Pushed::done;
}

}  // namespace tarn
