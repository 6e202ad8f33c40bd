// recover.hpp: recovery of memory at a shortage, in C++ (C++17). Header only over
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

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "../detail/errors.hpp"
#include "recover.h"

namespace tarn {

// The steps of a recovery, which may be combined by |.
enum class Recover : unsigned {
  all = 0,
  spare = TARN_RECOVER_SPARE,
  reclaim = TARN_RECOVER_RECLAIM,
  purgeables = TARN_RECOVER_PURGEABLES,
};
constexpr Recover operator|(Recover a, Recover b) noexcept {
  return static_cast<Recover>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// Recovers memory in all heaps, or in one and those below it. Returns the bytes gained: see
// tarn_recover_heap.
inline std::size_t recover(std::size_t wanted_bytes = SIZE_MAX, Recover steps = Recover::all,
                           tarn_heap heap = {}, tarn_recovered* by_step = nullptr) noexcept {
  return tarn_recover_heap(heap, wanted_bytes, static_cast<unsigned>(steps), by_step);
}

// How a reclaimer is registered: see tarn_reclaimer_options.
struct ReclaimerOptions {
  int priority = 0;  // Lower ones are asked first.
  tarn_heap heap{};  // The heap whose shortage it helps. The zero value: only the process's.
  const char* name = nullptr;  // For reports. Not copied.
};

// Whether a T can say what it could give: it has a function estimate().
template <class T, class = void>
struct says_estimate : std::false_type {};
template <class T>
struct says_estimate<T, std::void_t<decltype(std::declval<T&>().estimate())>> : std::true_type {};

// An owner that is asked for memory as long as this object lives. reclaim(wanted) frees what it can
// and returns how many bytes that was. It must not throw. If its type has `std::size_t estimate()
// noexcept`, that is asked first; for other types set_estimate() says what they could give. The
// destructor waits for callbacks in other threads; tarn/heap/recover.h has the rules.
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

// `count` objects T in a block that may vanish while nobody holds it locked. No constructor or
// destructor of T runs. Any thread may use it. It cannot be copied or moved.
template <class T>
class Purgeable {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "what may vanish is bytes: no destructor runs");
  static_assert(alignof(T) <= 16, "blocks of a purgeable are aligned to 16");

  // Holds the contents locked: they stay as long as this object does. Empty when there are none.
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

  // A new block with undefined contents that only this object can reach; unlock() shows it to
  // others. If this object ends without that, the block vanishes, so that nobody sees what was not
  // filled. It must end in the thread in which it began, unless it is unlocked before.
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

  // Makes a purgeable in malloc's heap or another one; memory is allocated when it is first filled.
  // A count of 0, or one that overflows, throws InvalidOptions; without exceptions the purgeable
  // can never be filled.
  explicit Purgeable(std::size_t count = 1, tarn_heap heap = {}) : count_(count) {
    const bool overflows = count > SIZE_MAX / sizeof(T);
    if (overflows || tarn_purgeable_begin(&purgeable_, heap, count * sizeof(T)) != 0) {
#if defined(__cpp_exceptions)
      throw InvalidOptions("a purgeable's number of elements is 0 or overflows");
#endif
    }
  }
  // Calls std::terminate when a lock of it is still alive, or a thread is filling it.
  ~Purgeable() {
    if (tarn_purgeable_end(&purgeable_) != 0 && errno == EBUSY) std::terminate();
  }
  Purgeable(const Purgeable&) = delete;
  Purgeable& operator=(const Purgeable&) = delete;

  // Locks the contents. Empty when they have vanished, or, with errno EBUSY, while they are being
  // filled.
  [[nodiscard]] Lock lock() noexcept { return Lock(this, tarn_purgeable_lock(&purgeable_)); }

  // Allocates a new block to fill. Empty with errno EEXIST, EBUSY or ENOMEM: see
  // tarn_purgeable_refill.
  [[nodiscard]] Filling refill() noexcept {
    return Filling(this, tarn_purgeable_refill(&purgeable_));
  }

  // Locks the contents; when they have vanished, calls fill(T*, count) before. Empty with EBUSY
  // while another thread fills them, and with ENOMEM. An exception of fill passes on, and the
  // contents have vanished then.
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

  // Makes the contents vanish now. False while they are locked or being filled.
  bool discard() noexcept { return tarn_purgeable_discard(&purgeable_) == 0; }

  std::size_t size() const noexcept { return count_; }

 private:
  std::size_t count_;
  tarn_purgeable purgeable_{};
};

}  // namespace tarn

#endif
#endif
