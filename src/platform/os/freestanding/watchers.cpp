// watchers without an OS: there are none.
//
// SPDX-License-Identifier: MIT
#include "platform/os/watchers.hpp"

namespace tarn::os {

bool watched() noexcept { return false; }
void watch_pool_begin(const void*) noexcept {}
void watch_pool_end(const void*) noexcept {}
void watch_close(const void*, std::size_t) noexcept {}
void watch_open(const void*, std::size_t) noexcept {}
void watch_leave(const void*, std::size_t) noexcept {}
void watch_allocated(const void*, const void*, std::size_t) noexcept {}
void watch_freed(const void*, const void*, std::size_t) noexcept {}
void watch_add(Watched*) noexcept {}
void watch_remove(Watched*) noexcept {}
WatchedName watch_name(const void*, std::size_t, const char*, const char*) noexcept { return 0; }
void watch_forget(WatchedName) noexcept {}
void watch_report(const void*, const void*) noexcept {}

}  // namespace tarn::os
