// array_indices: the free lists of array pools, which hold the numbers of blocks and never touch
// the blocks (C++11, no library). A pool takes and gives numbers below `count`; zero is the initial
// state, and what is not used is not touched.
//
//   StackedIndices   for one thread at a time        ListedIndices   for any number at once
//
//   indices  | the first free_: a stack | ...        heads | pops: tag 32 | last freed + 1: 32 |
//   in use = carved_ - free_                         next  | the one freed before + 1 |
//
// In both the number that came back last is the next one, else the lowest that was never used: the
// watermark, carved_.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ARRAY_INDICES_HPP
#define TARN_ARRAY_INDICES_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "api.h"
#include "index_stack.h"
#include "lock.hpp"

namespace tarn {

// What became of a number that was given back.
enum class Given : unsigned char { yes, never_taken, free_already };

// A bit for each block, set while it is live; or nothing. A word is cleared when its first block is
// carved.
template <std::size_t count, bool exact>
class LiveBits {
 public:
  const std::uint32_t* words() const noexcept { return words_; }
  bool is_live(std::size_t i) const noexcept { return tarn_index_is_live(words_, i) != 0; }
  void flip(std::size_t i) noexcept { words_[i / 32] ^= std::uint32_t{1} << i % 32; }
  void begin(std::size_t i) noexcept {
    if (i % 32 == 0) words_[i / 32] = 0;
  }

 private:
  std::uint32_t words_[(count + 31) / 32];
};
template <std::size_t count>
class LiveBits<count, false> {
 public:
  static const std::uint32_t* words() noexcept { return nullptr; }
  static bool is_live(std::size_t) noexcept { return true; }
  static void flip(std::size_t) noexcept {}
  static void begin(std::size_t) noexcept {}
};

// Calls visit(i) for each number below `carved` that is not free, ascending. mark(first, window)
// marks those that are, and is false when it cannot. visit may change `carved`.
template <class Count, class Mark, class Visit>
void for_each_unmarked(const Count& carved, const Mark& mark, Visit& visit) {
  tarn_index_window window;
  for (std::size_t first = 0; first < carved; first += TARN_INDEX_WINDOW) {
    if (!mark(first, &window)) return;
    const std::size_t rest = carved - first;
    for (std::size_t i = 0; i != (rest < TARN_INDEX_WINDOW ? rest : TARN_INDEX_WINDOW); ++i) {
      if (tarn_index_is_free(&window, i) == 0) visit(first + i);
    }
  }
}

template <std::size_t count, bool exact>
class StackedIndices {
 public:
  using Index = typename std::conditional<
      count - 1 <= UINT8_MAX, std::uint8_t,
      typename std::conditional<count - 1 <= UINT16_MAX, std::uint16_t, std::uint32_t>::type>::type;

  constexpr StackedIndices() noexcept : memory_() {}

  // Whether all numbers are free.
  bool is_empty() const noexcept { return carved_ == 0; }
  std::size_t in_use() const noexcept { return carved_ - free_; }
  // The most that were in use at a time: the watermark, now or when all were free again.
  std::size_t peak() const noexcept { return peak_ < carved_ ? carved_ : peak_; }

  // False: none is free.
  bool take(std::size_t* i) noexcept {
    if (TARN_UNLIKELY(free_ != 0)) {
      *i = memory_.parts.free_indices[--free_];
    } else {
      if (TARN_UNLIKELY(carved_ == count)) return false;
      *i = carved_;
      carved_ = static_cast<Count>(*i + 1);
      memory_.parts.begin(*i);
    }
    memory_.parts.flip(*i);
    return true;
  }

  // i: any number.
  Given give(std::size_t i) noexcept {
    if (TARN_UNLIKELY(i >= carved_)) return Given::never_taken;
    if (TARN_UNLIKELY(!memory_.parts.is_live(i))) return Given::free_already;
    memory_.parts.flip(i);
    memory_.parts.free_indices[free_] = static_cast<Index>(i);
    if (TARN_UNLIKELY(++free_ == carved_)) {
      peak_ = static_cast<Count>(peak());
      free_ = carved_ = 0;
    }
    return Given::yes;
  }

  // Calls visit(i) for each live number, ascending. visit may give that number and no other, and
  // must not take any.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const auto mark = [this](std::size_t first, tarn_index_window* window) {
      return tarn_index_mark_free(stack(), first, window) != 0;
    };
    for_each_unmarked(carved_, mark, visit);
  }

  bool check() const noexcept {
    return peak_ <= count && tarn_index_check(stack(), count, memory_.parts.words()) != 0;
  }

 private:
  using Count = typename std::conditional<count <= UINT32_MAX, std::uint32_t, std::size_t>::type;
  struct Parts : LiveBits<count, exact> {
    Index free_indices[count];
  };
  // A union, so that the constructor is constexpr and does not write the parts.
  union Memory {
    struct None {};
    constexpr Memory() noexcept : none() {}
    None none;
    Parts parts;
  };

  tarn_index_stack stack() const noexcept {
    return {memory_.parts.free_indices, sizeof(Index), free_, carved_};
  }

  Count free_ = 0;    // How many numbers are on the stack.
  Count carved_ = 0;  // How many have been taken since all were free.
  Count peak_ = 0;    // The largest carved_ with which all were free.
  Memory memory_;
};

// The number of the calling thread among those that have asked, from 0, and how many have.
template <class Unused = void>
class ThreadNumbers {
 public:
  static unsigned mine() noexcept {
    if (TARN_UNLIKELY(mine_ == 0)) mine_ = __atomic_add_fetch(&count_, 1, __ATOMIC_RELAXED);
    return mine_ - 1;
  }
  static unsigned count() noexcept { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }
  static bool wait(unsigned n) noexcept { return let_others_work(n); }

 private:
  static __thread unsigned mine_;  // One more; 0: it has not asked.
  static unsigned count_;
};
template <class Unused>
__thread unsigned ThreadNumbers<Unused>::mine_ = 0;
template <class Unused>
unsigned ThreadNumbers<Unused>::count_ = 0;

// Stacks of linked numbers (R. K. Treiber, Systems Programming: Coping with Parallelism, 1986), one
// for each thread, or for several where there are more threads than stacks. Each pop raises its
// stack's tag, so a thread that has read a link finds out when the number was taken and came back
// meanwhile, unless exactly 2^32 pops came between. A thread whose stack is empty takes some of
// another's, else numbers that were never used. Lock-free: it stays whole in the child of a fork,
// and nobody waits for a thread that was interrupted. Where no number is left but up to 32 that
// such a thread is moving, others are refused; with `threads` they wait, at most 0.1 s.
//
// exact: each free finds out whether the number is live, also when two come at once. threads: no
// handlers; and while the program has one thread, that one has a stack as StackedIndices has; later
// threads take from it, and nobody gives to it. Threads numbers them.
template <std::size_t count, bool exact, bool threads, class Threads = ThreadNumbers<>>
class ListedIndices {
  static_assert(count < UINT32_MAX, "a pool for threads has less than 2^32 - 1 blocks");
  static_assert(__GCC_ATOMIC_LLONG_LOCK_FREE == 2,
                "a pool for threads needs a processor that exchanges 64 bits at once; give it a "
                "lock instead");

 public:
  using Index = typename StackedIndices<count, false>::Index;

  constexpr ListedIndices() noexcept : memory_() {}

  bool is_empty() const noexcept { return in_use() == 0; }
  // O(numbers that threads have freed). Exact while no thread is at it.
  std::size_t in_use() const noexcept {
    const std::size_t carved = load(&carved_), free = load(&free_);
    std::size_t listed = 0;
    for (const Head& head : heads_) {
      std::uint32_t i = first_of(load(&head.word));
      while (i != 0 && i <= carved && listed < carved) {  // Others may have taken it meanwhile.
        ++listed;
        i = load(&next(i - 1));
      }
    }
    return carved - free < listed ? 0 : carved - free - listed;
  }
  // The most that were in use at a time: numbers are carved only when no other is free. With
  // several threads each may have carved some more than that, fewer than batch_.
  std::size_t peak() const noexcept {
    const std::uint32_t carved = load(&carved_);
    return peak_ < carved ? carved : peak_;
  }

  // False: none is free.
  bool take(std::size_t* i) noexcept {
    if (is_alone() && TARN_LIKELY(free_ != 0)) {
      *i = memory_.parts.free_indices[--free_];
    } else if (is_alone() && TARN_LIKELY(Threads::count() == 0 && carved_ != count)) {
      *i = carved_++;
    } else {
      Head& own = own_head();
      if (TARN_UNLIKELY(!pop(own, i)) && !take_elsewhere(own, i)) return false;
    }
    if (exact) store(&next(*i), live_);
    return true;
  }

  // i: any number.
  Given give(std::size_t i) noexcept {
    if (TARN_UNLIKELY(i >= load(&carved_))) return Given::never_taken;
    if (exact) {
      std::uint32_t seen = live_;
      if (TARN_UNLIKELY(load(&next(i)) != live_) ||
          TARN_UNLIKELY(!exchange(&next(i), &seen, std::uint32_t{0}, __ATOMIC_RELAXED))) {
        return Given::free_already;
      }
    }
    if (is_alone()) {
      memory_.parts.free_indices[free_] = static_cast<Index>(i);
      if (TARN_UNLIKELY(++free_ == carved_)) {
        peak_ = static_cast<std::uint32_t>(peak());
        free_ = carved_ = 0;
      }
    } else if (TARN_UNLIKELY(!push(own_head(), i, i))) {
      return Given::free_already;
    }
    return Given::yes;
  }

  // As StackedIndices has it, while no other thread is at it.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const auto mark = [this](std::size_t first, tarn_index_window* window) {
      return mark_free(first, window);
    };
    for_each_unmarked(carved_, mark, visit);
  }

  // While no thread is at it.
  bool check() const noexcept {
    if (carved_ > count || free_ > carved_ || peak_ > count) return false;
    tarn_index_window window;
    for (std::size_t first = 0; first < carved_; first += TARN_INDEX_WINDOW) {
      if (!mark_free(first, &window)) return false;
      for (std::size_t i = 0; exact && i != TARN_INDEX_WINDOW && first + i != carved_; ++i) {
        if ((tarn_index_is_free(&window, i) == 0) != (next(first + i) == live_)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::uint32_t live_ = UINT32_MAX;
  static constexpr unsigned heads_count_ = count >= 2048   ? 16
                                           : count >= 1024 ? 8
                                           : count >= 512  ? 4
                                           : count >= 256  ? 2
                                                           : 1;
  static constexpr std::uint32_t batch_ =
      heads_count_ == 1 ? 1 : 32;  // So many are carved at once.

  // Two cache lines, as processors fetch them in pairs.
  struct Head {
    std::uint64_t word = 0;
    std::uint32_t moving = 0;  // So many of its threads have free numbers in hand.
    unsigned char beside[116] = {};
  };

  static bool is_alone() noexcept { return threads && TARN_HAS_ONE_THREAD; }
  Head& own_head() noexcept {
    return heads_count_ == 1 ? heads_[0] : heads_[Threads::mine() % heads_count_];
  }

  template <class Word>
  static Word load(const Word* word) noexcept {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
  }
  static void store(std::uint32_t* word, std::uint32_t value) noexcept {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
  }
  std::uint32_t& next(std::size_t i) noexcept { return memory_.parts.next[i]; }
  const std::uint32_t& next(std::size_t i) const noexcept { return memory_.parts.next[i]; }

  static std::uint32_t first_of(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>(head);
  }
  static std::uint64_t popped(std::uint64_t head, std::uint64_t next) noexcept {
    return ((head >> 32) + 1) << 32 | next;
  }

  // Marks what is free of a window; false when a number is not carved or free twice.
  bool mark_free(std::size_t first, tarn_index_window* window) const noexcept {
    const tarn_index_stack stack = {memory_.parts.free_indices, sizeof(Index), free_, carved_};
    if (!tarn_index_mark_free(stack, first, window)) return false;
    std::size_t listed = 0;
    for (const Head& head : heads_) {
      for (std::uint32_t i = first_of(head.word); i != 0; i = next(i - 1)) {
        if (i > carved_ || ++listed > carved_) return false;
        const std::size_t at = i - 1 - first;
        if (at >= TARN_INDEX_WINDOW) continue;
        if (tarn_index_is_free(window, at) != 0) return false;
        window->bits[at / 32] |= std::uint32_t{1} << at % 32;
      }
    }
    return true;
  }

  bool pop(Head& head, std::size_t* i) noexcept {
    // Acquire, here and in exchange(): pairs with the release in push().
    std::uint64_t seen = __atomic_load_n(&head.word, __ATOMIC_ACQUIRE);
    for (;;) {
      const std::uint32_t first = first_of(seen);
      if (TARN_UNLIKELY(first == 0)) return false;
      if (exchange(&head.word, &seen, popped(seen, load(&next(first - 1))), __ATOMIC_ACQUIRE)) {
        *i = first - 1;
        return true;
      }
    }
  }
  // Puts numbers that are linked from `first` to `last` on the stack. False: the first one is on
  // top already.
  bool push(Head& head, std::size_t first, std::size_t last) noexcept {
    std::uint64_t seen = load(&head.word);
    do {
      if (TARN_UNLIKELY(first_of(seen) == first + 1)) return false;
      store(&next(last), first_of(seen));
    } while (!exchange(&head.word, &seen, seen >> 32 << 32 | (first + 1), __ATOMIC_RELEASE));
    return true;
  }

  // While this lives, the thread may have free numbers in hand. Who sees that they are nowhere sees
  // this, too: what takes them off releases.
  class Moving {
   public:
    explicit Moving(Head& own) noexcept : moving_(own.moving) {
      if (batch_ != 1) __atomic_add_fetch(&moving_, 1, __ATOMIC_RELAXED);
    }
    ~Moving() {
      std::uint32_t seen = batch_ != 1 ? load(&moving_) : 0;
      while (seen != 0 && !__atomic_compare_exchange_n(&moving_, &seen, seen - 1, false,
                                                       __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
      }  // It is 0 if somebody has waited long enough.
    }
    Moving(const Moving&) = delete;
    Moving& operator=(const Moving&) = delete;

   private:
    std::uint32_t& moving_;
  };

  __attribute__((noinline)) bool take_elsewhere(Head& own, std::size_t* i) noexcept {
    unsigned heads = heads_used();
    for (unsigned waits = 0;;) {
      if (take_over(own, heads, i) || take_from_lone(i) || carve(own, i)) return true;
      heads = heads_count_;  // Another library of the process may count other threads.
      switch (look_for_any()) {
        case Left::none: return false;
        case Left::some: break;
        case Left::in_hand:
          if (!threads) return false;
          if (Threads::wait(waits++)) break;
          for (Head& head : heads_) store(&head.moving, 0);  // Gone in a fork, it may be.
          return false;
      }
      if (pop(own, i)) return true;
    }
  }

  // How many stacks may have numbers.
  static unsigned heads_used() noexcept {
    const unsigned known = Threads::count();
    return known == 0 ? 1 : known < heads_count_ ? known : heads_count_;
  }

  // Takes numbers of another thread's stack, one after the other, so that an ended thread, in the
  // child of a fork, has no more than one in hand. Returns one.
  bool take_over(Head& own, unsigned heads, std::size_t* i) noexcept {
    for (unsigned h = 0; h != heads; ++h) {
      if (!pop(heads_[h], i)) continue;
      const Moving moving(own);
      for (std::size_t more, n = 1; n != batch_ && pop(heads_[h], &more); ++n) {
        push(own, more, more);
      }
      return true;
    }
    return false;
  }

  // Takes what was freed while the program had one thread. (It grows in no other time, so that what
  // was read of it holds when the exchange succeeds.)
  bool take_from_lone(std::size_t* i) noexcept {
    std::uint32_t n = load(&free_);
    do {
      if (n == 0) return false;
      *i = load(&memory_.parts.free_indices[n - 1]);
    } while (!exchange(&free_, &n, n - 1, __ATOMIC_RELAXED));
    return true;
  }

  // Takes the lowest numbers that were never used, and returns one.
  bool carve(Head& own, std::size_t* i) noexcept {
    const Moving moving(own);
    // Acquire: partner of the release in exchange().
    std::uint32_t first = __atomic_load_n(&carved_, __ATOMIC_ACQUIRE);
    std::uint32_t n;
    do {
      if (first == count) return false;
      n = is_alone() || count - first <= std::size_t{heads_count_} * batch_ ? 1 : batch_;
    } while (!exchange(&carved_, &first, first + n, __ATOMIC_RELAXED));
    *i = first;
    for (std::uint32_t k = 1; k + 1 < n; ++k) store(&next(first + k), first + k + 2);
    if (n != 1) push(own, first + 1, first + n - 1);
    return true;
  }

  enum class Left : unsigned char { none, some, in_hand };

  // none: at some time no number was free. No stack has changed since all were seen to be empty,
  // and meanwhile no thread had any in hand. pre: all have been carved
  Left look_for_any() const noexcept {
    std::uint64_t seen[heads_count_];
    for (unsigned h = 0; h != heads_count_; ++h) {
      seen[h] = __atomic_load_n(&heads_[h].word, __ATOMIC_ACQUIRE);
      if (first_of(seen[h]) != 0) return Left::some;
    }
    bool in_hand = false;
    for (const Head& head : heads_) {
      if (__atomic_load_n(&head.moving, __ATOMIC_ACQUIRE) != 0) in_hand = true;
    }
    for (unsigned h = 0; h != heads_count_; ++h) {
      if (__atomic_load_n(&heads_[h].word, __ATOMIC_ACQUIRE) != seen[h]) return Left::some;
    }
    return in_hand ? Left::in_hand : Left::none;
  }

  // Exchanges what was seen; false, with what is there now, when another thread was first.
  template <class Word>
  static bool exchange(Word* word, Word* seen, Word desired, int order) noexcept {
    if (is_alone()) {
      __atomic_store_n(word, desired, __ATOMIC_RELAXED);
      return true;
    }
    if (order == __ATOMIC_RELEASE) {
      return __atomic_compare_exchange_n(word, seen, desired, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED);
    }
    return __atomic_compare_exchange_n(word, seen, desired, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
  }

  struct Parts {
    Index free_indices[threads ? count : 1];
    std::uint32_t next[count];
  };
  union Memory {
    struct None {};
    constexpr Memory() noexcept : none() {}
    None none;
    Parts parts;
  };

  std::uint32_t free_ = 0;  // The lone thread's stack; and carved_, peak_ are as in StackedIndices.
  std::uint32_t carved_ = 0;
  std::uint32_t peak_ = 0;
  unsigned char beside_[116] = {};
  Head heads_[heads_count_];
  Memory memory_;
};

// The free list that goes with a lock.
template <std::size_t count, bool exact, class Lock>
using IndicesFor =
    typename std::conditional<IsAtomic<Lock>::value,
                              ListedIndices<count, exact, std::is_same<Lock, ThreadSafe>::value>,
                              StackedIndices<count, exact>>::type;

}  // namespace tarn

#endif
#endif
