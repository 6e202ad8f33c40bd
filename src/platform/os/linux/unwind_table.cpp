// unwind_table: what the loader knows of the process's modules.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/base/config.hpp"
#include "platform/os/code.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern "C" int _dl_find_object(void*, dl_find_object*) noexcept __attribute__((weak));
#endif

namespace tarn::os {

namespace {

struct Wanted {
  std::uintptr_t code;
  const std::byte* table;
};

// Of dl_iterate_phdr(): not 0 ends it.
int look_at(dl_phdr_info* module, std::size_t, void* context) noexcept {
  auto& wanted = *static_cast<Wanted*>(context);
  const ElfW(Phdr)* const end = module->dlpi_phdr + module->dlpi_phnum;
  const std::byte* table = nullptr;
  bool is_it = false;
  for (const ElfW(Phdr)* part = module->dlpi_phdr; part != end; ++part) {
    const std::uintptr_t start = module->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) table = reinterpret_cast<const std::byte*>(start);
    if (part->p_type == PT_LOAD && wanted.code - start < part->p_memsz) is_it = true;
  }
  if (!is_it) return 0;
  wanted.table = table;
  return 1;
}

}  // namespace

const std::byte* find_unwind_table(const void* code) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  if (_dl_find_object != nullptr) {
    dl_find_object found{};
    if (_dl_find_object(const_cast<void*>(code), &found) != 0) return nullptr;
    return static_cast<const std::byte*>(found.dlfo_eh_frame);
  }
#endif
  Wanted wanted{reinterpret_cast<std::uintptr_t>(code), nullptr};
  dl_iterate_phdr(look_at, &wanted);
  return wanted.table;
}

bool is_readable(const void* p) noexcept {
  const int saved = errno;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(p);
  bool readable = false;
  if (TARN_UNLIKELY(watches_calls())) {  // The tool would report what is asked below.
    unsigned char in_memory = 0;
    auto* const page = reinterpret_cast<void*>(address & ~(page_bytes() - 1));
    readable = mincore(page, 1, &in_memory) == 0;
  } else {
    // The kernel reads the set of signals before it refuses what is to be done with it.
    constexpr int nothing_that_is = 255;
    const auto* const set = reinterpret_cast<const void*>(address & ~std::uintptr_t{7});
    readable = syscall(SYS_rt_sigprocmask, nothing_that_is, set, nullptr, std::size_t{8}) != 0 &&
               errno != EFAULT;
  }
  errno = saved;
  return readable;
}

}  // namespace tarn::os
