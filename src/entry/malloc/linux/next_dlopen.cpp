// next_dlopen: finds libc's dlopen and dlmopen for dlopen.S, when the library starts or at the
// first call, whichever comes first.
//
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/report/report.hpp"

extern "C" {

__attribute__((visibility("hidden"))) void* tarn_next_dlopen = nullptr;
__attribute__((visibility("hidden"))) void* tarn_next_dlmopen = nullptr;

static void* find_next(const char* name, void** known) noexcept {
  // Relaxed: every thread finds the same address.
  void* next = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (next != nullptr) return next;
  next = dlsym(RTLD_NEXT, name);
  if (next == nullptr) {
    tarn::Line().text("tarn: internal error: the C library has no ").text(name).print();
    tarn::os::process_abort();
  }
  __atomic_store_n(known, next, __ATOMIC_RELAXED);
  return next;
}

__attribute__((visibility("hidden"))) void* tarn_find_next_dlopen() noexcept {
  return find_next("dlopen", &tarn_next_dlopen);
}

__attribute__((visibility("hidden"))) void* tarn_find_next_dlmopen() noexcept {
  return find_next("dlmopen", &tarn_next_dlmopen);
}

__attribute__((constructor(102))) static void find_both() noexcept {
  tarn_find_next_dlopen();
  tarn_find_next_dlmopen();
}

}  // extern "C"
