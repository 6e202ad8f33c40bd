// interposed: a program that runs on libtarn.so gets tarn's function for every name of the family.
//
// A name that stayed with the C library would hand out blocks that tarn's free does not know, and
// every other test of this folder would pass all the same if it were never called.
//
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

namespace {

constexpr const char* names[] = {
    "malloc", "calloc", "realloc", "free", "reallocarray", "posix_memalign", "aligned_alloc",
    "memalign", "valloc", "pvalloc", "malloc_usable_size", "malloc_trim", "mallinfo", "mallinfo2",
    "malloc_stats", "malloc_info", "mallopt", "free_sized", "free_aligned_sized",
    // operator new: plain, array, nothrow, aligned, and their combinations.
    "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    // operator delete: the same, and sized.
    "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    // Only to clear RTLD_DEEPBIND.
    "dlopen", "dlmopen"};

class Interposed : public testing::TestWithParam<const char*> {};

TEST_P(Interposed, ComesFromTarn) {
  void* address = dlsym(RTLD_DEFAULT, GetParam());
  ASSERT_NE(address, nullptr);
  Dl_info info{};
  ASSERT_NE(dladdr(address, &info), 0);
  EXPECT_NE(std::strstr(info.dli_fname, "libtarn"), nullptr) << info.dli_fname;
}

INSTANTIATE_TEST_SUITE_P(Family, Interposed, testing::ValuesIn(names));

}  // namespace
