// new: all forms of operators new and delete. All are weak, and every form calls the plain pair in
// the end, so that a program that replaces the pair replaces them all, as the standard says.
// TARN_BESIDE_MALLOC: for a program that keeps its own malloc; delete takes blocks of either.
//
// The library does not link libstdc++. When std::bad_alloc must be thrown, the functions for it are
// looked up: in the program's scope, then in the module that called new (which may have come with a
// C++ library of its own), then in a libstdc++ that a module loaded for itself (RTLD_LOCAL).
//
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <new>
#include <type_traits>

#include "heaps/blocks/lookup.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/os/process.hpp"
#include "platform/os/system_malloc.hpp"
#include "platform/report/report.hpp"

// These are weak in libtarn.so: null in a program without C++. (The personality routine is needed
// only where an exception of a new-handler passes.) They are strong in libtarn.a, since a weak
// reference fetches nothing from a static libstdc++; only a C++ program links this object.
#if defined(TARN_STATIC_ONLY)
#define TARN_FROM_CXX
#else
#define TARN_FROM_CXX gnu::weak
__asm__(".weak __gxx_personality_v0");
#endif
extern "C" {
[[TARN_FROM_CXX]] [[noreturn]] void _ZSt17__throw_bad_allocv();        // std::__throw_bad_alloc()
[[TARN_FROM_CXX]] std::new_handler _ZSt15get_new_handlerv() noexcept;  // std::get_new_handler()
[[TARN_FROM_CXX]] void* __cxa_begin_catch(void*) noexcept;
[[TARN_FROM_CXX]] void __cxa_end_catch();
}

namespace {

using tarn::Family;
using tarn::Origin;

#if defined(TARN_STATIC_ONLY)

std::new_handler installed_handler(const void*) noexcept { return _ZSt15get_new_handlerv(); }
[[noreturn]] void throw_bad_alloc(const void*) { _ZSt17__throw_bad_allocv(); }

#else

constexpr const char* cxx_libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};

void* find_in(const char* library, const char* name) noexcept {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, name);
  dlclose(handle);  // The module stays loaded: its code is calling us.
  return found;
}

// A function of the C++ run-time library that `caller` sees, or of such a library that is loaded;
// or null.
void* find_loaded(const char* name, const void* caller) noexcept {
  Dl_info module{};
  if (dladdr(caller, &module) != 0 && module.dli_fname != nullptr) {
    void* const found = find_in(module.dli_fname, name);
    if (found != nullptr) return found;
  }
  for (const char* library : cxx_libraries) {
    void* const found = find_in(library, name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::new_handler installed_handler(const void* caller) noexcept {
  if (_ZSt15get_new_handlerv != nullptr) return _ZSt15get_new_handlerv();
  using Get = std::new_handler (*)();
  const auto get = reinterpret_cast<Get>(find_loaded("_ZSt15get_new_handlerv", caller));
  return get == nullptr ? nullptr : get();
}

[[noreturn]] void throw_bad_alloc(const void* caller) {
  if (_ZSt17__throw_bad_allocv != nullptr) _ZSt17__throw_bad_allocv();
  using Throw = void (*)();
  const auto thrower = reinterpret_cast<Throw>(find_loaded("_ZSt17__throw_bad_allocv", caller));
  if (thrower != nullptr) thrower();
  tarn::Line()
      .text(
          "tarn: out of memory: operator new was called where no C++ library is loaded that "
          "could throw std::bad_alloc")
      .print();
  tarn::os::process_abort();
}

#endif

// [new.delete.single]: calls the handler and tries again, until there is memory or no handler.
TARN_COLD void* new_slow(std::size_t bytes, std::size_t alignment, Family family,
                         const void* caller) {
  for (;;) {
    const std::new_handler handler = installed_handler(caller);
    if (handler == nullptr) throw_bad_alloc(caller);
    handler();
    void* const p = tarn::allocate_aligned(bytes, alignment, family, caller);
    if (p != nullptr) return p;
  }
}

// The same for the nothrow forms: null instead of an exception.
TARN_COLD void* nothrow_slow(std::size_t bytes, std::size_t alignment, Family family,
                             const void* caller) noexcept {
  for (;;) {
    const std::new_handler handler = installed_handler(caller);
    if (handler == nullptr) return nullptr;
    try {
      handler();
    } catch (...) {
      return nullptr;
    }
    void* const p = tarn::allocate_aligned(bytes, alignment, family, caller);
    if (p != nullptr) return p;
  }
}

// What is not at hand: in a function of its own, so that a hit needs no stack.
TARN_NOINLINE void* new_past_hand(std::size_t bytes, Family family, const void* caller) {
  void* const p = tarn::allocate_past_hand(bytes, family, caller);
  return TARN_LIKELY(p != nullptr) ? p : new_slow(bytes, 1, family, caller);
}

using Nothrow = std::nothrow_t;
using Align = std::align_val_t;
using Size = std::size_t;

TARN_INLINE void* new_aligned(Size n, Align a, Family family, const void* caller) {
  void* const p = tarn::allocate_aligned(n, static_cast<Size>(a), family, caller);
  return TARN_LIKELY(p != nullptr) ? p : new_slow(n, static_cast<Size>(a), family, caller);
}

#if defined(TARN_BESIDE_MALLOC)

TARN_COLD void release_slow(void* p, const void* site, tarn::Said said) noexcept {
  if (p == nullptr) return;
  if (!tarn::is_known(p)) return tarn::system_free(p);
  tarn::deallocate_slow(p, said, site);
}

// Like tarn::deallocate_sized(); what is not tarn's is the program's malloc's.
TARN_INLINE void release(void* p, Origin origin) noexcept {
  if (TARN_LIKELY(tarn::deallocate_tagged(p))) return;
  release_slow(p, __builtin_return_address(0), tarn::Said(origin));
}
TARN_INLINE void release(void* p, Size bytes, Origin origin) noexcept {
  if (TARN_LIKELY(tarn::deallocate_tagged(p, tarn::SaidSize{bytes}))) return;
  release_slow(p, __builtin_return_address(0), tarn::Said::of(origin, bytes));
}

#else

TARN_INLINE void release(void* p, Origin origin) noexcept { tarn::deallocate(p, origin); }
TARN_INLINE void release(void* p, Size bytes, Origin origin) noexcept {
  tarn::deallocate_sized(p, bytes, origin);
}

#endif

}  // namespace

#define TARN_REPLACEABLE TARN_EXPORT [[gnu::weak]]

// The plain pair, and the aligned one.
TARN_REPLACEABLE void* operator new(Size n) {
  if (void* const p = tarn::allocate_at_hand(n)) return p;
  return new_past_hand(n, Family::object, __builtin_return_address(0));
}
TARN_REPLACEABLE void operator delete(void* p) noexcept { release(p, Family::object); }
TARN_REPLACEABLE void* operator new(Size n, Align a) {
  return new_aligned(n, a, Family::aligned_object, __builtin_return_address(0));
}
TARN_REPLACEABLE void operator delete(void* p, Align a) noexcept {
  release(p, Origin(Family::aligned_object, static_cast<Size>(a)));
}

// Those of arrays are below.
TARN_REPLACEABLE void* operator new[](Size n);
TARN_REPLACEABLE void* operator new[](Size n, Align a);
TARN_REPLACEABLE void operator delete[](void* p) noexcept;
TARN_REPLACEABLE void operator delete[](void* p, Align a) noexcept;

namespace {

// Names for our own definitions of these four, and of the same for arrays, by which we see whether
// the program has replaced one. A hidden alias cannot be interposed, so its address is that of the
// definition in this object.
extern "C" {
#define TARN_LIKE_NEW gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)
[[TARN_LIKE_NEW]] void* tarn_own_new(Size) __attribute__((alias("_Znwm")));
[[TARN_LIKE_NEW]] void* tarn_own_new_aligned(Size, Align)
    __attribute__((alias("_ZnwmSt11align_val_t")));
[[gnu::visibility("hidden"), gnu::nothrow]] void tarn_own_delete(void*)
    __attribute__((alias("_ZdlPv")));
[[gnu::visibility("hidden"), gnu::nothrow]] void tarn_own_delete_aligned(void*, Align)
    __attribute__((alias("_ZdlPvSt11align_val_t")));
[[TARN_LIKE_NEW]] void* tarn_own_array_new(Size) __attribute__((alias("_Znam")));
[[TARN_LIKE_NEW]] void* tarn_own_array_new_aligned(Size, Align)
    __attribute__((alias("_ZnamSt11align_val_t")));
[[gnu::visibility("hidden"), gnu::nothrow]] void tarn_own_array_delete(void*)
    __attribute__((alias("_ZdaPv")));
[[gnu::visibility("hidden"), gnu::nothrow]] void tarn_own_array_delete_aligned(void*, Align)
    __attribute__((alias("_ZdaPvSt11align_val_t")));
}

// True where the program has one of its own, which the standard says serves the other forms, too.
// `own` chooses the form of `visible`.
template <class Form>
TARN_INLINE bool is_replaced(std::type_identity_t<Form>* visible, Form* own) noexcept {
  return visible != own;
}
TARN_INLINE bool is_new_replaced() noexcept { return is_replaced(&operator new, &tarn_own_new); }
TARN_INLINE bool is_aligned_new_replaced() noexcept {
  return is_replaced(&operator new, &tarn_own_new_aligned);
}
TARN_INLINE bool is_delete_replaced() noexcept {
  return is_replaced(&operator delete, &tarn_own_delete);
}
TARN_INLINE bool is_aligned_delete_replaced() noexcept {
  return is_replaced(&operator delete, &tarn_own_delete_aligned);
}

// Separate functions, so that the usual case falls through.
TARN_COLD void* replaced_new(Size n) { return operator new(n); }
TARN_COLD void* replaced_new(Size n, Align a) { return operator new(n, a); }
TARN_COLD void replaced_delete(void* p) noexcept { operator delete(p); }
TARN_COLD void replaced_delete(void* p, Align a) noexcept { operator delete(p, a); }

// Frees with the size, which checked heaps compare, unless the program has its own operator delete.
TARN_INLINE void delete_sized(void* p, Size n, Family family) noexcept {
  if (TARN_UNLIKELY(is_delete_replaced())) return replaced_delete(p);
  release(p, n, family);
}
TARN_INLINE void delete_sized(void* p, Size n, Align a, Family family) noexcept {
  if (TARN_UNLIKELY(is_aligned_delete_replaced())) return replaced_delete(p, a);
  release(p, n, Origin(family, static_cast<Size>(a)));
}

// Calls the program's own operator new and catches what it throws. Ours is not called this way, so
// a program whose C++ library is not in scope has no exception to catch.
template <class... Words>
void* replaced_nothrow(Words... words) noexcept {
  try {
    return operator new(words...);
  } catch (...) {
    return nullptr;
  }
}
template <class... Words>
void* replaced_array_nothrow(Words... words) noexcept {
  try {
    return operator new[](words...);
  } catch (...) {
    return nullptr;
  }
}

TARN_INLINE void* nothrow_block(Size n, Family family, const void* caller) noexcept {
  if (is_new_replaced()) return replaced_nothrow(n);
  void* p = tarn::allocate_at_hand(n);
  if (TARN_UNLIKELY(p == nullptr)) p = tarn::allocate_past_hand(n, family, caller);
  return TARN_LIKELY(p != nullptr) ? p : nothrow_slow(n, 1, family, caller);
}

TARN_INLINE void* nothrow_block(Size n, Align a, Family family, const void* caller) noexcept {
  if (is_aligned_new_replaced()) return replaced_nothrow(n, a);
  void* const p = tarn::allocate_aligned(n, static_cast<Size>(a), family, caller);
  return TARN_LIKELY(p != nullptr) ? p : nothrow_slow(n, static_cast<Size>(a), family, caller);
}

}  // namespace

TARN_REPLACEABLE void* operator new(Size n, const Nothrow&) noexcept {
  return nothrow_block(n, Family::object, __builtin_return_address(0));
}
TARN_REPLACEABLE void* operator new(Size n, Align a, const Nothrow&) noexcept {
  return nothrow_block(n, a, Family::aligned_object, __builtin_return_address(0));
}
TARN_REPLACEABLE void* operator new[](Size n) {
  if (TARN_UNLIKELY(is_new_replaced())) return replaced_new(n);
  if (void* const p = tarn::allocate_at_hand(n)) return p;
  return new_past_hand(n, Family::array, __builtin_return_address(0));
}
TARN_REPLACEABLE void* operator new[](Size n, Align a) {
  if (TARN_UNLIKELY(is_aligned_new_replaced())) return replaced_new(n, a);
  return new_aligned(n, a, Family::aligned_array, __builtin_return_address(0));
}
TARN_REPLACEABLE void* operator new[](Size n, const Nothrow&) noexcept {
  if (TARN_UNLIKELY(is_replaced(&operator new[], &tarn_own_array_new)))
    return replaced_array_nothrow(n);
  return nothrow_block(n, Family::array, __builtin_return_address(0));
}
TARN_REPLACEABLE void* operator new[](Size n, Align a, const Nothrow&) noexcept {
  if (TARN_UNLIKELY(is_replaced(&operator new[], &tarn_own_array_new_aligned)))
    return replaced_array_nothrow(n, a);
  return nothrow_block(n, a, Family::aligned_array, __builtin_return_address(0));
}

TARN_REPLACEABLE void operator delete(void* p, Size n) noexcept {
  delete_sized(p, n, Family::object);
}
TARN_REPLACEABLE void operator delete(void* p, const Nothrow&) noexcept { operator delete(p); }
TARN_REPLACEABLE void operator delete(void* p, Size n, Align a) noexcept {
  delete_sized(p, n, a, Family::aligned_object);
}
TARN_REPLACEABLE void operator delete(void* p, Align a, const Nothrow&) noexcept {
  operator delete(p, a);
}
TARN_REPLACEABLE void operator delete[](void* p) noexcept {
  if (TARN_UNLIKELY(is_delete_replaced())) return replaced_delete(p);
  release(p, Family::array);
}
TARN_REPLACEABLE void operator delete[](void* p, Align a) noexcept {
  if (TARN_UNLIKELY(is_aligned_delete_replaced())) return replaced_delete(p, a);
  release(p, Origin(Family::aligned_array, static_cast<Size>(a)));
}
TARN_REPLACEABLE void operator delete[](void* p, Size n) noexcept {
  if (TARN_UNLIKELY(is_replaced(&operator delete[], &tarn_own_array_delete)))
    return operator delete[](p);
  delete_sized(p, n, Family::array);
}
TARN_REPLACEABLE void operator delete[](void* p, const Nothrow&) noexcept { operator delete[](p); }
TARN_REPLACEABLE void operator delete[](void* p, Size n, Align a) noexcept {
  if (TARN_UNLIKELY(is_replaced(&operator delete[], &tarn_own_array_delete_aligned)))
    return operator delete[](p, a);
  delete_sized(p, n, a, Family::aligned_array);
}
TARN_REPLACEABLE void operator delete[](void* p, Align a, const Nothrow&) noexcept {
  operator delete[](p, a);
}
