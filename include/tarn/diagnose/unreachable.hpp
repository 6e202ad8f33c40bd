// unreachable.hpp: finds blocks that no pointer reaches, in C++ (C++17). Header only over
// tarn/diagnose/unreachable.h, which says what counts and what is promised.
//
//   tarn::find_unreachable([](const tarn::UnreachableBlock& block) { ... });   // of all heaps
//   auto found = tarn::find_unreachable({names, nodes});                       // of these
//   if (found.ok() && found->blocks != 0) tarn::print_unreachable(2);
//
//   tarn::Root root(buffer, bytes);     // memory of mmap, say, that leads to blocks
//
// Nothing here throws. An exception of a visitor passes on when the search is over.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_UNREACHABLE_HPP
#define TARN_UNREACHABLE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "../heap/heap.hpp"
#include "unreachable.h"

namespace tarn {

using UnreachableBlock = tarn_unreachable_block;

// The totals of a search, or the error that prevented it.
class Unreachable {
 public:
  bool ok() const noexcept { return error_ == 0; }
  int error() const noexcept { return error_; }  // An errno.
  const tarn_unreachable_result& operator*() const noexcept { return result_; }
  const tarn_unreachable_result* operator->() const noexcept { return &result_; }

 private:
  friend class UnreachableSearch;
  tarn_unreachable_result result_{};
  int error_ = 0;
};

// A search: which heaps it covers, and how it is made.
class UnreachableSearch {
 public:
  UnreachableSearch() noexcept { options_.bytes = sizeof options_; }
  // The array of heaps is read when the search is made, so it must live until then.
  UnreachableSearch& heaps(const tarn_heap* heaps, std::size_t count) noexcept {
    options_.heaps = heaps;
    options_.heap_count = count;
    return *this;
  }
  UnreachableSearch& strict(bool on = true) noexcept { return flag(TARN_UNREACHABLE_STRICT, on); }
  UnreachableSearch& json(bool on = true) noexcept { return flag(TARN_UNREACHABLE_JSON, on); }
  UnreachableSearch& signal(int number) noexcept {
    options_.signal = number;
    return *this;
  }
  UnreachableSearch& wait_ms(unsigned ms) noexcept {
    options_.wait_ms = ms;
    return *this;
  }
  const tarn_unreachable_options& options() const noexcept { return options_; }

  Unreachable count() const noexcept { return run(nullptr, nullptr); }

  // Calls visit(block) for each unreachable block. If visit returns anything, false ends the
  // visits.
  template <class Visit>
  Unreachable find(Visit&& visit) const {
    Visitor<Visit> visitor{visit};
    const Unreachable found = run(&Visitor<Visit>::show, &visitor);
    visitor.rethrow();
    return found;
  }

  Unreachable print(int file) const noexcept {
    Unreachable found;
    found.result_.bytes = sizeof found.result_;
    if (tarn_print_unreachable(file, &options_, &found.result_) != 0) found.error_ = errno;
    return found;
  }

 private:
  // Keeps an exception of the visitor, because it must not pass through C.
  template <class Visit>
  struct Visitor {
    std::remove_reference_t<Visit>& visit;
#if defined(__cpp_exceptions)
    std::exception_ptr thrown{};
#endif

    static int show(const tarn_unreachable_block* block, void* context) {
      auto& self = *static_cast<Visitor*>(context);
#if defined(__cpp_exceptions)
      try {
        return self.call(*block);
      } catch (...) {
        self.thrown = std::current_exception();
        return 1;
      }
#else
      return self.call(*block);
#endif
    }
    int call(const tarn_unreachable_block& block) {
      if constexpr (std::is_void_v<decltype(visit(block))>) {
        visit(block);
        return 0;
      } else {
        return visit(block) ? 0 : 1;
      }
    }
    void rethrow() {
#if defined(__cpp_exceptions)
      if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
#endif
    }
  };

  UnreachableSearch& flag(unsigned flag, bool on) noexcept {
    options_.flags = on ? options_.flags | flag : options_.flags & ~flag;
    return *this;
  }
  Unreachable run(tarn_unreachable_visit visit, void* context) const noexcept {
    Unreachable found;
    found.result_.bytes = sizeof found.result_;
    if (tarn_find_unreachable(&options_, visit, context, &found.result_) < 0) {
      found.error_ = errno;
    }
    return found;
  }

  tarn_unreachable_options options_{};
};

// Searches with the usual options. An empty list stands for all heaps.
template <class Visit>
Unreachable find_unreachable(Visit&& visit) {
  return UnreachableSearch().find(std::forward<Visit>(visit));
}
inline Unreachable find_unreachable(std::initializer_list<tarn_heap> heaps) noexcept {
  return UnreachableSearch().heaps(heaps.begin(), heaps.size()).count();
}
template <class Visit>
Unreachable find_unreachable(std::initializer_list<tarn_heap> heaps, Visit&& visit) {
  return UnreachableSearch().heaps(heaps.begin(), heaps.size()).find(std::forward<Visit>(visit));
}
inline Unreachable print_unreachable(int file) noexcept { return UnreachableSearch().print(file); }

// Memory that is a root as long as this object lives. False as a truth value when it could not be
// registered.
class Root {
 public:
  Root() noexcept = default;
  Root(const void* start, std::size_t bytes) noexcept
      : start_(tarn_add_root(start, bytes) == 0 ? start : nullptr) {}
  template <class T, class = std::enable_if_t<!std::is_pointer_v<T>>>
  explicit Root(const T& object) noexcept : Root(&object, sizeof object) {}
  ~Root() { reset(); }
  Root(Root&& other) noexcept : start_(std::exchange(other.start_, nullptr)) {}
  Root& operator=(Root&& other) noexcept {
    std::swap(start_, other.start_);
    return *this;
  }

  explicit operator bool() const noexcept { return start_ != nullptr; }
  void reset() noexcept {
    if (start_ != nullptr) tarn_remove_root(std::exchange(start_, nullptr));
  }

 private:
  const void* start_ = nullptr;
};

}  // namespace tarn

#endif
#endif
