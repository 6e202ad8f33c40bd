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
#include "engine/threads/idle_purge.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/report.hpp"
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
  std::atomic<bool> has_slots{false};  // Some stack has any.
  std::atomic<bool> taken{true};
  ThreadStacks* next_known = nullptr;
};

constinit std::atomic<ThreadStacks*> known_stacks{nullptr};
constinit std::atomic<bool> knows_forks{false};
constinit os::Lock giving;  // Of the thread that gives back what others have stacked.
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
    is_open_ = !stacks.wanted.load(std::memory_order_acquire);  // Pairs with give_of().
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

// A look that is due: says how many of the oldest blocks are to go. False when none is due.
bool begin_look(BlockStack& stack, bool at_once, std::uint32_t* unwanted) noexcept {
  const std::uint64_t now = os::clock_coarse_ms();
  if (!at_once && now - stack.looked_at_ms < settings[Option::purge_delay_ms]) return false;
  const std::uint32_t count = stack.slots->count();
  *unwanted = at_once ? count : stack.least;
  TARN_ASSERT(*unwanted <= count);
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

struct Looked {
  bool gave = false;
  bool has_slots = true;  // As far as is known.
};

// Gives back the oldest blocks that are to go, and then the slots if they are empty.
Looked look(ThreadStacks& stacks, BlockStack& stack, bool at_once) noexcept {
  Looked looked;
  std::uint32_t left = 0;
  for (bool begun = false; looked.has_slots && (left != 0 || !begun); begun = true) {
    void* batch[batch_blocks];
    std::uint32_t taken = 0;
    Slots* spare = no_slots;
    {
      const Section section(stacks);
      if (!section.is_open()) return looked;
      if (!begun && !begin_look(stack, at_once, &left)) return looked;
      taken = take_oldest(*stack.slots, left, batch);
      left = taken == batch_blocks ? left - taken : 0;
      if (left == 0 && stack.slots->count() == 0) {
        spare = stack.slots;
        stack.slots = no_slots;
        looked.has_slots = false;
      }
    }
    for (std::uint32_t i = 0; i < taken; ++i) deallocate(batch[i]);
    if (spare != no_slots) deallocate(spare);
    looked.gave = looked.gave || taken != 0;
  }
  return looked;
}

bool look_at_all(ThreadStacks& stacks, bool at_once) noexcept {
  if (!stacks.has_slots.load(std::memory_order_relaxed)) return false;
  bool gave = false;
  bool has_slots = false;
  stacks.has_slots.store(false, std::memory_order_relaxed);  // So is what grow() says meanwhile.
  for (BlockStack& stack : stacks.of) {
    const Looked looked = look(stacks, stack, at_once);
    gave = gave || looked.gave;
    has_slots = has_slots || looked.has_slots;
  }
  if (has_slots) stacks.has_slots.store(true, std::memory_order_relaxed);
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

// pre: giving is held
bool give_of(ThreadStacks& stacks, bool at_once) noexcept {
  if (!stacks.taken.exchange(true, std::memory_order_acquire)) {  // Its thread has ended.
    const bool any = look_at_all(stacks, at_once);
    stacks.taken.store(false, std::memory_order_release);
    return any;
  }
  stacks.wanted.store(true, std::memory_order_relaxed);
  barrier_for_exclusive();
  const bool any = is_left(stacks) && look_at_all(stacks, at_once);
  stacks.wanted.store(false, std::memory_order_release);
  return any;
}

bool give_of_others(bool at_once) noexcept {
  if (giving.held_by_this_thread()) return false;  // In a signal handler.
  if (at_once) {
    giving.lock();
  } else if (!giving.try_lock()) {
    return false;
  }
  bool any = false;
  ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  for (; s != nullptr; s = s->next_known) {
    if (s == stacks_here || !s->has_slots.load(std::memory_order_relaxed)) continue;
    any = give_of(*s, at_once) || any;
  }
  giving.unlock();
  return any;
}

bool give_all(bool at_once) noexcept {
  const bool own = stacks_here != nullptr && look_at_all(*stacks_here, at_once);
  return give_of_others(at_once) || own;
}

bool any_has_slots() noexcept {
  const ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  while (s != nullptr && !s->has_slots.load(std::memory_order_relaxed)) s = s->next_known;
  return s != nullptr;
}

constexpr KeptBlocks hooks{.give = give_all,
                           .give_own =
                               []() noexcept {
                                 if (stacks_here != nullptr) look_at_all(*stacks_here, true);
                               },
                           .is_there = any_has_slots};

// Threads that have vanished in the fork leave their stacks to others. What a thread was giving
// back is lost.
void after_fork() noexcept {
  giving.recover_after_fork();
  ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  for (; s != nullptr; s = s->next_known) {
    if (!giving.held_by_this_thread()) s->wanted.store(false, std::memory_order_relaxed);
    if (s == stacks_here) continue;
    s->inside.store(false, std::memory_order_relaxed);
    s->has_slots.store(true, std::memory_order_relaxed);
    s->taken.store(false, std::memory_order_relaxed);
  }
}

void end(void* value) noexcept {
  auto* const stacks = static_cast<ThreadStacks*>(value);
  if (stacks_here != stacks) return;
  look_at_all(*stacks, true);
  stacks_here = nullptr;
  stacks->taken.store(false, std::memory_order_release);  // Pairs with take_known(), give_of().
}

ThreadStacks* take_known() noexcept {
  ThreadStacks* s = known_stacks.load(std::memory_order_acquire);
  for (; s != nullptr; s = s->next_known) {
    if (s->taken.load(std::memory_order_relaxed)) continue;
    if (!s->taken.exchange(true, std::memory_order_acquire)) return s;
  }
  return nullptr;
}

// Memory for what is kept here: malloc's itself, as it outlives a default heap of the thread; and
// no callback of the program is asked for it, which a free is no place for. Null when there is
// none, with errno as it was.
void* allocate_quietly(std::size_t bytes) noexcept {
  const int saved = errno;
  const WithoutDefaultHeap malloc_itself;
  const WithoutOwners quiet;
  void* const memory = allocate(bytes);
  errno = saved;
  return memory;
}

ThreadStacks* make() noexcept {
  void* const memory = allocate_quietly(sizeof(ThreadStacks));
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
  kept_blocks.store(&hooks, std::memory_order_release);
  ThreadStacks* stacks = take_known();
  if (stacks == nullptr) stacks = make();
  if (stacks == nullptr) return false;
  stacks_here = stacks;
  if (os::thread_on_end(end, stacks, os::ThreadEndFor::block_stacks)) return true;
  end(stacks);
  return false;
}

std::uint32_t count_of(ThreadStacks& stacks, const BlockStack& stack) noexcept {
  const Section section(stacks);
  return section.is_open() ? stack.slots->count() : 0;
}

// The stack has its blocks in `larger` from now on. Returns the slots that are of no use any more:
// `larger` itself if they are not larger.
Slots* move_to(BlockStack& stack, Slots* larger) noexcept {
  Slots* const before = stack.slots;
  const std::uint32_t count = before->count();
  if (count >= larger->room - remembered) return larger;
  memcpy(&larger->at(remembered), &before->at(before->bottom), count * sizeof(void*));
  larger->top = remembered + count;
  TARN_FORK_FENCE();
  stack.slots = larger;
  return before;
}

// False when there is no memory for more.
TARN_COLD bool grow(ThreadStacks& stacks, BlockStack& stack) noexcept {
  const std::uint32_t count = count_of(stacks, stack);
  if (count > UINT32_MAX / 4) return false;
  const std::uint32_t room = count < room_least / 2 ? room_least : 2 * (count + remembered);
  void* const memory = allocate_quietly(Slots::header_bytes + room * sizeof(void*));
  if (memory == nullptr) return false;
  auto* spare = new (memory) Slots{.room = room};
  memset(&spare->at(0), 0, remembered * sizeof(void*));
  {
    const Section section(stacks);
    if (section.is_open()) spare = move_to(stack, spare);
  }
  stacks.has_slots.store(true, std::memory_order_relaxed);
  if (spare != no_slots) deallocate(spare);
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
  if (TARN_LIKELY(++stack.moves != look_every)) return;
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
