// descriptors: the descriptors of spans, in use or spare. A thread takes one of its group
// (record_memory.hpp), and each goes back to the group that it came from.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/spans/record_memory.hpp"
#include "engine/spans/span.hpp"
#include "platform/base/check.hpp"

namespace tarn {

// The caller's lock guards the object.
class Descriptors {
 public:
  // Makes sure that so many are ready for the calling thread; false when out of memory.
  bool provide(int count) noexcept;

  // Takes one of kind idle. pre: provide()
  Span* take() noexcept {
    Span* const span = spares_[thread_group].pop();
    TARN_ASSERT(span->kind_now() == SpanKind::idle && span->group < thread_groups);
    return span;
  }
  void give(Span* span) noexcept {
    TARN_ASSERT(span->group < thread_groups);
    span->set_kind(SpanKind::idle);
    spares_[span->group].push(span);
  }

  // True when the descriptor is of the calling thread's group.
  static bool is_near(const Span* span) noexcept { return span->group == thread_group; }

  // In the child of a fork, when the lock's holder has vanished: forgets the spare ones. The caller
  // gives back those of kind idle.
  void forget_spares() noexcept;

  // Calls visit(span) for all descriptors. Those that were never taken are idle, and zero.
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    memory_.for_each(descriptor_bytes,
                     [&](std::byte* record) { visit(reinterpret_cast<Span*>(record)); });
  }

  template <class Visit>
  void for_each_region(Visit visit) const noexcept {
    memory_.for_each_region(visit);
  }

  std::size_t bytes_reserved() const noexcept { return memory_.bytes_reserved(); }

  bool check() const noexcept;  // True when the lists hold idle ones, as many as are counted.

 private:
  struct Spares {
    Span* first = nullptr;  // By next.
    int count = 0;

    void push(Span* span) noexcept {
      TARN_ASSERT(span->kind_now() == SpanKind::idle && span != first);
      TARN_ASSERT((first == nullptr) == (count == 0));
      span->next = first;
      first = span;
      ++count;
    }
    Span* pop() noexcept {
      TARN_ASSERT(first != nullptr);
      Span* const span = first;
      first = span->next;
      --count;
      TARN_ASSERT((first == nullptr) == (count == 0));
      return span;
    }
  };

  bool make(std::uint8_t group) noexcept;
  bool borrow(std::uint8_t group, int more_than) noexcept;

  std::array<Spares, thread_groups> spares_{};
  Records memory_;
};

}  // namespace tarn
