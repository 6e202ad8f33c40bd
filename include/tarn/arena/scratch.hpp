// scratch.hpp: a buffer on the stack that falls back to malloc's heap when it is too small, in C++
// (C++17). Header only over tarn/arena/scratch.h.
//
//   tarn::Scratch<char, 256> line(length + 1);   // throws std::bad_alloc
//   std::memcpy(line.data(), text, line.size());
//   line.grow(2 * length);                       // contents are kept
//
// Scratch<T, N>::stats() says how often N was too small. A ScratchSite counts uses and spills at
// one place of the program.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_SCRATCH_HPP
#define TARN_SCRATCH_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "../detail/errors.hpp"
#include "scratch.h"

namespace tarn {

using ScratchSite = tarn_scratch_site;

// An array of uninitialised objects that need neither constructor nor destructor.
template <class T, std::size_t N>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "neither constructors nor destructors are run");
  static_assert(alignof(T) <= 16, "what is spilled is aligned to 16");

 public:
  // Makes room for `count` objects. Throws std::bad_alloc, also when the product overflows; without
  // exceptions it is empty instead (size 0).
  explicit Scratch(std::size_t count) {
    take(count);
    or_bad_alloc(data_);
  }
  Scratch(std::size_t count, ScratchSite& site) : site_(&site) {
    take(count);
    or_bad_alloc(data_);
  }
  ~Scratch() { tarn_scratch_end(&scratch_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Makes room for at least `count` objects and keeps the contents. False: there is no memory, and
  // nothing has changed.
  bool try_grow(std::size_t count) noexcept {
    if (count <= capacity()) {
      if (count > size_) size_ = count;
      return true;
    }
    tarn_scratch larger{};
    void* const moved = tarn_scratch_begin(&larger, nullptr, 0, count, sizeof(T), site_);
    if (moved == nullptr) return false;
    note_spill(count);
    if (size_ != 0) std::memcpy(moved, data_, size_ * sizeof(T));
    tarn_scratch_end(&scratch_);
    scratch_ = larger;
    data_ = static_cast<T*>(moved);
    size_ = count;
    return true;
  }
  void grow(std::size_t count) {
    if (!try_grow(count)) or_bad_alloc(nullptr);
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept {
    if (data_ == nullptr) return 0;  // It has never had memory.
    return is_spilled() ? size_ : N;
  }
  bool is_spilled() const noexcept { return scratch_.spilled != nullptr; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }

  // The number of spills, and the largest, of all Scratch<T, N> that were given no site. Uses are
  // not counted, since that would take some nanoseconds each; a site counts them.
  static ScratchSite stats() noexcept { return tarn_scratch_read(&spills_); }

 private:
  void take(std::size_t count) noexcept {
    data_ = static_cast<T*>(
        tarn_scratch_begin(&scratch_, stack_, sizeof stack_, count, sizeof(T), site_));
    size_ = data_ == nullptr ? 0 : count;
    if (is_spilled()) note_spill(count);
  }
  void note_spill(std::size_t count) noexcept {
    if (site_ == nullptr) tarn_scratch_count(&spills_, 0, count * sizeof(T));
  }

  static inline ScratchSite spills_{};

  ScratchSite* site_ = nullptr;
  tarn_scratch scratch_{};
  T* data_ = nullptr;
  std::size_t size_ = 0;
  alignas(T) unsigned char stack_[N * sizeof(T)];
};

}  // namespace tarn

#endif
#endif
