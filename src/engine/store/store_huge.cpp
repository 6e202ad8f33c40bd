// store_huge: a store that has become large grows by huge pages. See docs/design/source.md.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {

// What may become a huge page; and the longest span for which it does, as long as pages of small
// blocks are: of a longer one much may never be used. Each window apart from the others splits a
// mapping, of which the OS allows 65,530.
constexpr std::size_t window_bytes = std::size_t{2} << 20;
constexpr std::size_t window_span_slices_max = (std::size_t{64} << 10) >> slice_shift;
constexpr std::size_t windows_apart_max = 4096;

}  // namespace

// The window whose first bytes are among those taken, if all of it was clean. What is left of it is
// dirty from now on, so that it is taken next, and purged in time.
std::byte* Store::window_locked(const Span* taken, const std::byte* clean_end) noexcept {
  if (clean_end == nullptr || taken->slices > window_span_slices_max) return nullptr;
  const std::uintptr_t window = align_up(address_of(taken->base), window_bytes);
  if (window >= address_of(taken->end())) return nullptr;
  if (address_of(clean_end) - window < window_bytes) return nullptr;
  if (window != window_end_ && windows_apart_++ >= windows_apart_max) return nullptr;
  window_end_ = window + window_bytes;
  const std::size_t rest = (window_end_ - address_of(taken->end())) >> slice_shift;
  if (rest != 0) {
    Span* const clean = page_map.span_of(taken->end());
    remove_locked(clean);
    Span* const warm = make_span_locked(clean->base, rest);
    warm->stamp_ms = os::clock_coarse_ms();
    put_rest_locked(clean, rest);
    insert_locked(warm, SpanKind::dirty);
  }
  return reinterpret_cast<std::byte*>(window);
}

void Store::fill_window(std::byte* window) noexcept {
  if (!os::vm_fill_huge(window, window_bytes)) {
    policy.huge_from_slices.store(0, std::memory_order_relaxed);
  }
}

}  // namespace tarn
