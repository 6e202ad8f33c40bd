// new: operators new and delete, every form. The library does not link libstdc++: what it takes to
// throw std::bad_alloc is looked up when it must be thrown, in the program's scope first, then in a
// libstdc++ that something loaded for itself (RTLD_LOCAL).
//
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <new>

#include "heap/blocks.hpp"
#include "os/process.hpp"
#include "report/report.hpp"

// Weak: null in a program without C++. The personality routine is only needed where an exception of a
// new-handler passes.
__asm__(".weak __gxx_personality_v0");
extern "C" {
[[gnu::weak, noreturn]] void _ZSt17__throw_bad_allocv();        // std::__throw_bad_alloc()
[[gnu::weak]] std::new_handler _ZSt15get_new_handlerv() noexcept;  // std::get_new_handler()
[[gnu::weak]] void* __cxa_begin_catch(void*) noexcept;
[[gnu::weak]] void __cxa_end_catch();
}

namespace {

constexpr const char* cxx_libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};

// A function of the C++ run-time library that is loaded but not in the program's scope, or null.
void* find_loaded(const char* name) noexcept {
#if defined(TARN_STATIC_ONLY)
  (void)name;
#else
  for (const char* library : cxx_libraries) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const found = dlsym(handle, name);
    dlclose(handle);  // Whoever loaded it holds it: code of it is calling us.
    if (found != nullptr) return found;
  }
#endif
  return nullptr;
}

std::new_handler installed_handler() noexcept {
  if (_ZSt15get_new_handlerv != nullptr) return _ZSt15get_new_handlerv();
  using Get = std::new_handler (*)();
  const auto get = reinterpret_cast<Get>(find_loaded("_ZSt15get_new_handlerv"));
  return get == nullptr ? nullptr : get();
}

[[noreturn]] void throw_bad_alloc() {
  if (_ZSt17__throw_bad_allocv != nullptr) _ZSt17__throw_bad_allocv();
  using Throw = void (*)();
  const auto thrower = reinterpret_cast<Throw>(find_loaded("_ZSt17__throw_bad_allocv"));
  if (thrower != nullptr) thrower();
  tarn::Line()
      .text("tarn: out of memory: operator new was called where no C++ library is loaded that could "
            "throw std::bad_alloc")
      .print();
  tarn::os::process_abort();
}

void* allocate_once(std::size_t bytes, std::size_t alignment) noexcept {
  return alignment <= tarn::block_align ? tarn::allocate(bytes)
                                        : tarn::allocate_aligned(bytes, alignment);
}

// [new.delete.single]: call the handler and try again, until there is memory or no handler.
TARN_COLD void* new_slow(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    const std::new_handler handler = installed_handler();
    if (handler == nullptr) throw_bad_alloc();
    handler();
    void* const p = allocate_once(bytes, alignment);
    if (p != nullptr) return p;
  }
}

TARN_COLD void* new_nothrow_slow(std::size_t bytes, std::size_t alignment) noexcept {
  for (;;) {
    const std::new_handler handler = installed_handler();
    if (handler == nullptr) return nullptr;
    try {
      handler();
    } catch (...) {
      return nullptr;
    }
    void* const p = allocate_once(bytes, alignment);
    if (p != nullptr) return p;
  }
}

TARN_INLINE void* new_block(std::size_t bytes) {
  void* const p = tarn::allocate(bytes);
  return TARN_LIKELY(p != nullptr) ? p : new_slow(bytes, 1);
}

TARN_INLINE void* new_aligned(std::size_t bytes, std::align_val_t alignment) {
  const auto a = static_cast<std::size_t>(alignment);
  void* const p = tarn::allocate_aligned(bytes, a);
  return TARN_LIKELY(p != nullptr) ? p : new_slow(bytes, a);
}

TARN_INLINE void* new_nothrow(std::size_t bytes) noexcept {
  void* const p = tarn::allocate(bytes);
  return TARN_LIKELY(p != nullptr) ? p : new_nothrow_slow(bytes, 1);
}

TARN_INLINE void* new_aligned_nothrow(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto a = static_cast<std::size_t>(alignment);
  void* const p = tarn::allocate_aligned(bytes, a);
  return TARN_LIKELY(p != nullptr) ? p : new_nothrow_slow(bytes, a);
}

}  // namespace

using Nothrow = std::nothrow_t;
using Align = std::align_val_t;
using Size = std::size_t;

TARN_EXPORT void* operator new(Size n) { return new_block(n); }
TARN_EXPORT void* operator new[](Size n) { return new_block(n); }
TARN_EXPORT void* operator new(Size n, const Nothrow&) noexcept { return new_nothrow(n); }
TARN_EXPORT void* operator new[](Size n, const Nothrow&) noexcept { return new_nothrow(n); }
TARN_EXPORT void* operator new(Size n, Align a) { return new_aligned(n, a); }
TARN_EXPORT void* operator new[](Size n, Align a) { return new_aligned(n, a); }
TARN_EXPORT void* operator new(Size n, Align a, const Nothrow&) noexcept {
  return new_aligned_nothrow(n, a);
}
TARN_EXPORT void* operator new[](Size n, Align a, const Nothrow&) noexcept {
  return new_aligned_nothrow(n, a);
}

TARN_EXPORT void operator delete(void* p) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete[](void* p) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete(void* p, const Nothrow&) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, const Nothrow&) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete(void* p, Size) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, Size) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete(void* p, Align) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, Align) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete(void* p, Size, Align) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, Size, Align) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete(void* p, Align, const Nothrow&) noexcept { tarn::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, Align, const Nothrow&) noexcept {
  tarn::deallocate(p);
}
