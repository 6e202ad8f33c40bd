// recover.hpp: memory that is given back when it is short, in C++ (C++17). Header only over
// tarn/heap/recover.h, which says what each function promises.
//
//   tarn::Reclaimer shrinks([&](std::size_t wanted) noexcept { return index.shrink(wanted); });
//
//   tarn::Purgeable<Pixel> image(pixels, heap);
//   if (auto locked = image.lock_or_fill([&](Pixel* to, std::size_t n) { decode(to, n); })) {
//     draw(locked.data(), locked.size());
//   }
//
// SPDX-License-Identifier: MIT
#ifndef TARN_RECOVER_HPP
#define TARN_RECOVER_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "../detail/errors.hpp"
#include "recover.h"

namespace tarn {

enum class Recover : unsigned {
  all = 0,
  spare = TARN_RECOVER_SPARE,
  reclaim = TARN_RECOVER_RECLAIM,
  purgeables = TARN_RECOVER_PURGEABLES,
};
constexpr Recover operator|(Recover a, Recover b) noexcept {
  return static_cast<Recover>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// In all heaps, or in one and those below it. Returns the bytes.
inline std::size_t recover(std::size_t wanted_bytes = SIZE_MAX, Recover steps = Recover::all,
                           tarn_heap heap = {}, tarn_recovered* by_step = nullptr) noexcept {
  return tarn_recover_heap(heap, wanted_bytes, static_cast<unsigned>(steps), by_step);
}

struct ReclaimerOptions {
  int priority = 0;  // Lower ones are asked first.
  tarn_heap heap{};  // Whose need it helps; the zero value: only the process's.
  const char* name = nullptr;
};

template <class T, class = void>
struct says_estimate : std::false_type {};
template <class T>
struct says_estimate<T, std::void_t<decltype(std::declval<T&>().estimate())>> : std::true_type {};

// Asked for memory as long as it lives: reclaim(wanted) gives what it can and returns how much that
// was. It must not throw. A type with `std::size_t estimate() noexcept` is asked that before; for
// others set_estimate() says it. The end waits for callbacks of other threads: tarn/heap/recover.h
// has the rules.
template <class Reclaim>
class Reclaimer {
 public:
  static_assert(std::is_invocable_r_v<std::size_t, Reclaim&, std::size_t>,
                "a reclaimer is called with the bytes that are wanted and returns those it gave");

  explicit Reclaimer(Reclaim reclaim, const ReclaimerOptions& chosen = {})
      : reclaim_(std::move(reclaim)) {
    tarn_reclaimer_options options = TARN_RECLAIMER_OPTIONS();
    options.name = chosen.name;
    options.priority = chosen.priority;
    options.heap = chosen.heap;
    options.reclaim = [](std::size_t wanted, void* self) -> std::size_t {
      return static_cast<Reclaimer*>(self)->reclaim_(wanted);
    };
    if constexpr (says_estimate<Reclaim>::value) {
      options.estimate = [](void* self) -> std::size_t {
        return static_cast<Reclaimer*>(self)->reclaim_.estimate();
      };
    }
    options.context = this;
    tarn_reclaimer_register(&reclaimer_, &options);
  }
  ~Reclaimer() { tarn_reclaimer_unregister(&reclaimer_); }
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  void set_estimate(std::size_t bytes) noexcept { tarn_reclaimer_set_estimate(&reclaimer_, bytes); }

  tarn_reclaimer_stats stats() const noexcept {
    tarn_reclaimer_stats stats = TARN_RECLAIMER_STATS();
    tarn_reclaimer_get_stats(&reclaimer_, &stats);
    return stats;
  }

  Reclaim& reclaim() noexcept { return reclaim_; }

 private:
  Reclaim reclaim_;
  tarn_reclaimer reclaimer_{};
};

// `count` T in a block that may vanish while nobody has it locked. Nothing is constructed or
// destroyed. Any thread; its address stays.
template <class T>
class Purgeable {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "what may vanish is bytes: no destructor runs");
  static_assert(alignof(T) <= 16, "blocks of a purgeable are aligned to 16");

  // The contents, which stay as long as this does. Empty when there are none.
  class Lock {
   public:
    Lock() noexcept = default;
    ~Lock() { unlock(); }
    Lock(Lock&& other) noexcept
        : purgeable_(std::exchange(other.purgeable_, nullptr)),
          data_(std::exchange(other.data_, nullptr)) {}
    Lock& operator=(Lock&& other) noexcept {
      if (this != &other) {
        unlock();
        purgeable_ = std::exchange(other.purgeable_, nullptr);
        data_ = std::exchange(other.data_, nullptr);
      }
      return *this;
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    explicit operator bool() const noexcept { return data_ != nullptr; }
    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return data_ == nullptr ? 0 : purgeable_->count_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size(); }
    T& operator[](std::size_t i) const noexcept { return data_[i]; }
    T& operator*() const noexcept { return *data_; }
    T* operator->() const noexcept { return data_; }

    void unlock() noexcept {
      if (data_ != nullptr) tarn_purgeable_unlock(&purgeable_->purgeable_);
      data_ = nullptr;
    }

   protected:
    friend class Purgeable;
    Lock(Purgeable* purgeable, void* data) noexcept
        : purgeable_(purgeable), data_(static_cast<T*>(data)) {}
    Purgeable* purgeable_ = nullptr;
    T* data_ = nullptr;
  };

  // A block of any contents, for this alone; unlock() shows it to others. At its end without that
  // the block vanishes: what has not been filled is not to be seen. It ends in the thread in which
  // it began, unless it is unlocked before.
  class Filling : private Lock {
   public:
    Filling(Filling&&) noexcept = default;
    Filling& operator=(Filling&&) = delete;
    ~Filling() { discard(); }
    using Lock::operator bool;
    using Lock::begin;
    using Lock::data;
    using Lock::end;
    using Lock::size;
    using Lock::operator[];
    using Lock::unlock;
    void discard() noexcept {
      if (this->data_ != nullptr) tarn_purgeable_discard(&this->purgeable_->purgeable_);
      this->data_ = nullptr;
    }

   private:
    friend class Purgeable;
    using Lock::Lock;
  };

  // In malloc's heap, or another one; allocated when it is first filled. A count of 0, or one that
  // overflows, is an InvalidOptions (where there are exceptions; else it is never filled).
  explicit Purgeable(std::size_t count = 1, tarn_heap heap = {}) : count_(count) {
    const bool overflows = count > SIZE_MAX / sizeof(T);
    if (overflows || tarn_purgeable_begin(&purgeable_, heap, count * sizeof(T)) != 0) {
#if defined(__cpp_exceptions)
      throw InvalidOptions("a purgeable's number of elements is 0 or overflows");
#endif
    }
  }
  // With a lock of it alive, or somebody filling it: std::terminate.
  ~Purgeable() {
    if (tarn_purgeable_end(&purgeable_) != 0 && errno == EBUSY) std::terminate();
  }
  Purgeable(const Purgeable&) = delete;
  Purgeable& operator=(const Purgeable&) = delete;

  // Empty when it has vanished (or, with EBUSY, is being filled).
  [[nodiscard]] Lock lock() noexcept { return Lock(this, tarn_purgeable_lock(&purgeable_)); }

  // Empty with errno: EEXIST, EBUSY, ENOMEM.
  [[nodiscard]] Filling refill() noexcept {
    return Filling(this, tarn_purgeable_refill(&purgeable_));
  }

  // The contents; when they have vanished, after fill(T*, count). Empty with EBUSY while another
  // thread fills it, with ENOMEM. What fill throws, it throws: then it has vanished.
  template <class Fill>
  [[nodiscard]] Lock lock_or_fill(Fill&& fill) {
    for (;;) {
      errno = 0;
      if (Lock locked = lock()) return locked;
      if (errno != 0) return {};
      Filling filling = refill();
      if (!filling && errno != EEXIST) return {};
      if (!filling) continue;
      fill(filling.data(), count_);
      filling.unlock();  // It may vanish before it is locked, if memory is that short.
    }
  }

  // Vanishes now; false while it is locked or filled.
  bool discard() noexcept { return tarn_purgeable_discard(&purgeable_) == 0; }

  std::size_t size() const noexcept { return count_; }

 private:
  std::size_t count_;
  tarn_purgeable purgeable_{};
};

}  // namespace tarn

#endif
#endif
