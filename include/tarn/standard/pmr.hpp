// pmr.hpp: std::pmr over heaps, pools and arenas of tarn's (C++17; header only over the library).
//
//   tarn::Resource<> resource(heap);                         // a std::pmr::memory_resource
//   std::pmr::vector<std::pmr::string> lines(&resource);
//
//   std::vector<int, tarn::PropagatingAllocator<int>> a(&resource);   // goes along with it
//   tarn::DefaultResourceAlarm alarm;                        // says where none was named
//
// tarn/standard/checking_resource.hpp has a resource that verifies each deallocation.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_PMR_HPP
#define TARN_PMR_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/errors.hpp"
#include "../diagnose/report.h"
#include "allocator.hpp"

namespace tarn {

// A memory_resource over a heap, pool or arena, or over a handle to one; A is its type, or that of
// the handle. std::bad_alloc is thrown when there is no memory, or none of that size or alignment;
// without exceptions it traps, since callers of a memory_resource expect no null. Two over the same
// place are equal, if the program was compiled with run-time type information. Threads: as the
// allocator.
template <class A = HeapRef>
class Resource final : public std::pmr::memory_resource {
 public:
  template <class From, class = std::enable_if_t<LeadsTo<A, From&&>::value>>
  explicit Resource(From&& from) noexcept : place_(std::forward<From>(from)) {}

  A& allocator() noexcept { return place_.get(); }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const p = place_.get().try_allocate(bytes, alignment);
    if (TARN_UNLIKELY(p == nullptr)) throw_or_trap<std::bad_alloc>();
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    place_.get().deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    if (this == &other) return true;
#if defined(__cpp_rtti)
    const auto* const same = dynamic_cast<const Resource*>(&other);
    return same != nullptr && place_ == same->place_;
#else
    return false;
#endif
  }

  AllocatorPlace<A> place_;
};

// A std::pmr::polymorphic_allocator that goes along with its container: when that is copied and, as
// Propagation says, when it is moved, swapped or assigned to. Elements get the resource too, if
// they can take one. There is no default resource.
template <class T = std::byte, class Propagation = PropagateMoves>
class PropagatingAllocator : public Propagation {
 public:
  using value_type = T;
  using is_always_equal = std::false_type;
  template <class U>
  struct rebind {
    using other = PropagatingAllocator<U, Propagation>;
  };

  // pre: the resource is not null
  PropagatingAllocator(std::pmr::memory_resource* resource) noexcept : resource_(resource) {}
  template <class U>
  PropagatingAllocator(const PropagatingAllocator<U, Propagation>& other) noexcept
      : resource_(other.resource()) {}
  template <class U>
  PropagatingAllocator(const std::pmr::polymorphic_allocator<U>& other) noexcept
      : resource_(other.resource()) {}
  template <class U>
  operator std::pmr::polymorphic_allocator<U>() const noexcept {
    return resource_;
  }

  [[nodiscard]] T* allocate(std::size_t count) {
    return std::pmr::polymorphic_allocator<T>(resource_).allocate(count);
  }
  void deallocate(T* p, std::size_t count) noexcept {
    std::pmr::polymorphic_allocator<T>(resource_).deallocate(p, count);
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    std::pmr::polymorphic_allocator<T>(resource_).construct(p, std::forward<Args>(args)...);
  }

  std::pmr::memory_resource* resource() const noexcept { return resource_; }

 private:
  std::pmr::memory_resource* resource_;
};

template <class T, class U, class Propagation>
bool operator==(const PropagatingAllocator<T, Propagation>& a,
                const PropagatingAllocator<U, Propagation>& b) noexcept {
  return *a.resource() == *b.resource();
}
template <class T, class U, class Propagation>
bool operator!=(const PropagatingAllocator<T, Propagation>& a,
                const PropagatingAllocator<U, Propagation>& b) noexcept {
  return !(a == b);
}

// An allocation from the default resource.
struct DefaultUse {
  std::size_t bytes;      // The size that was asked for.
  std::size_t alignment;  // The alignment that was asked for.
  const void* caller;     // The code that asked.
  std::size_t number;     // How many there have been, including this one.
};

// Prints `tarn: default resource: 24 bytes, asked for at program+0x1234 (0x...)` to standard error.
inline void print_default_use(const DefaultUse& use) noexcept {
  char site[300];
  tarn_site_text(use.caller, site, sizeof site);
  char text[400];
  std::snprintf(text, sizeof text, "%zu bytes, asked for at %s", use.bytes, site);
  tarn_report_line("default resource", text);
}
// The same, and ends the process by SIGABRT.
inline void abort_on_default_use(const DefaultUse& use) noexcept {
  print_default_use(use);
  std::abort();
}

// While this object lives it is the default resource. It reports each allocation there, which is
// then served by what was the default before. on_use may throw; then nothing is allocated. Any
// thread. Alarms must end in the reverse order of their making, before the resources below them,
// and not while containers hold their memory.
class DefaultResourceAlarm final : public std::pmr::memory_resource {
 public:
  using OnUse = void (*)(const DefaultUse&);

  explicit DefaultResourceAlarm(OnUse on_use = print_default_use) noexcept
      : on_use_(on_use), before_(std::pmr::get_default_resource()) {
    std::pmr::set_default_resource(this);  // Last: other threads use it from here on.
  }
  ~DefaultResourceAlarm() override { std::pmr::set_default_resource(before_); }
  DefaultResourceAlarm(const DefaultResourceAlarm&) = delete;
  DefaultResourceAlarm& operator=(const DefaultResourceAlarm&) = delete;

  std::size_t uses() const noexcept { return uses_.load(std::memory_order_relaxed); }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t number = uses_.fetch_add(1, std::memory_order_relaxed) + 1;
    on_use_({bytes, alignment, __builtin_return_address(0), number});
    return before_->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    before_->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  OnUse on_use_;
  std::pmr::memory_resource* before_;
  std::atomic<std::size_t> uses_{0};
};

}  // namespace tarn

#endif
#endif
