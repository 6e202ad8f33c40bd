// store_resize: making a span in use longer or shorter.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {
// Each remap with a spare takes new addresses and leaves old ones behind. Beyond this much clean
// space, and as much as is in use or warm, growing blocks use it up first.
constexpr std::size_t clean_slices_enough = (std::size_t{16} << 20) >> slice_shift;

bool is_free(SpanKind kind) noexcept { return kind == SpanKind::clean || kind == SpanKind::dirty; }
}  // namespace

bool Store::extend_locked(Span* span, std::size_t slices, std::size_t* excess) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && slices > span->slices);
  const std::size_t missing = slices - span->slices;
  Span* const right = page_map.span_of(span->end());
  if (!is_free(right->kind_now()) || right->base != span->end() || right->slices < missing) {
    return false;
  }
  if (right->kind_now() == SpanKind::clean && excess != nullptr) {
    *excess = excess_locked(missing);
    if (*excess != 0) return false;
  }
  if (right->kind_now() == SpanKind::clean && excess != nullptr) note_taken_clean_locked(missing);
  page_map.clear_ends(span->base, span->slices);
  remove_locked(right);
  settle_locked();  // From here on it may be part of a block.
  put_rest_locked(right, missing);
  span->slices += static_cast<std::uint32_t>(missing);
  span->zeroed = false;
  page_map.set_ends(span);
  TARN_ASSERT(span->slices == slices && change_start_ == nullptr);
  note_committed_locked();
  return true;
}

bool Store::extend(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(slices > span->slices);
  if (slices > span_slices_max) return false;
  std::size_t excess = 0;
  {
    os::Locked locked(lock_);
    if (extend_locked(span, slices, &excess)) return true;
  }
  if (excess == 0) return false;
  make_room(excess);
  os::Locked locked(lock_);
  return extend_locked(span, slices, nullptr);
}

// Gives all that is free back, if that may make room for so many bytes more.
bool Store::release_for(std::size_t bytes) noexcept {
  os::Locked locked(lock_);
  return free_will_do_locked(bytes) && release_free_locked();
}

bool Store::remap(Span* span, std::size_t slices, std::size_t spare) noexcept {
  TARN_ASSERT(slices > span->slices && span->kind_now() == SpanKind::large);
  if (slices > span_slices_max || spare > span_slices_max - slices) return false;
  const std::size_t bytes = (slices + spare) << slice_shift;
  std::size_t excess = 0;
  {
    os::Locked locked(lock_);
    excess = excess_locked(slices - span->slices);
  }
  if (excess != 0) make_room(excess);
  Span* const rest = begin_remap(span, spare != 0);
  if (rest == nullptr) return false;
  PageMap::Reserve leaves = PageMap::reserve_leaves(bytes);
  void* moved = nullptr;
  if (leaves.count != 0) moved = os::vm_grow(span->base, span->bytes(), bytes);
  if (moved == nullptr && spare == 0 && release_for(bytes - span->bytes())) {
    if (leaves.count == 0) leaves = PageMap::reserve_leaves(bytes);
    if (leaves.count != 0) moved = os::vm_grow(span->base, span->bytes(), bytes);
  }
  count_map_call();
  {
    os::Locked locked(lock_);
    TARN_ASSERT(span->kind_now() == SpanKind::moving);
    TARN_ASSERT(page_map.span_of(span->base) != span);
    span->set_kind(SpanKind::large);
    if (moved == nullptr) {
      page_map.set_ends(span);
      descriptors_.give(rest);
    } else {
      reserved_slices_ += slices + spare - span->slices;
      TARN_ASSERT(reserved_slices_ >= slices + spare);
      page_map.cover(static_cast<std::byte*>(moved), bytes, leaves);
      span->base = static_cast<std::byte*>(moved);
      span->slices = static_cast<std::uint32_t>(slices);
      span->zeroed = false;
      page_map.set_ends(span);
      rest->base = span->end();
      rest->slices = static_cast<std::uint32_t>(spare);
      if (spare == 0) {
        descriptors_.give(rest);
      } else {
        insert_locked(join_locked(rest, SpanKind::clean), SpanKind::clean);
        settle_locked();
      }
      note_committed_locked();
    }
  }
  PageMap::release(leaves);
  return moved != nullptr;
}

// Takes the span out of the page map: another thread may be given its addresses at the moment at
// which the OS has them. Returns a descriptor for the room behind its new place; null when out of
// memory.
Span* Store::begin_remap(Span* span, bool has_spare) noexcept {
  os::Locked locked(lock_);
  TARN_ASSERT(page_map.span_of(span->base) == span && clean_.slices() <= reserved_slices_);
  const std::size_t clean = clean_.slices();
  if (has_spare && clean > clean_slices_enough && clean > reserved_slices_ - clean) return nullptr;
  if (!descriptors_.provide(1)) return nullptr;
  Span* const rest = make_span_locked(nullptr, 0);
  rest->set_kind(SpanKind::large);
  page_map.clear_ends(span->base, span->slices);
  span->set_kind(SpanKind::moving);
  return rest;
}

bool Store::shrink(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0 && slices < span->slices && span->kind_now() == SpanKind::large);
  Span* tail = nullptr;
  {
    os::Locked locked(lock_);
    if (!descriptors_.provide(1)) return false;
    page_map.clear_ends(span->base, span->slices);
    tail = make_span_locked(span->base + (slices << slice_shift), span->slices - slices);
    tail->set_kind(SpanKind::large);
    span->slices = static_cast<std::uint32_t>(slices);
    page_map.set_ends(span);
    TARN_ASSERT(tail->base == span->end() && tail->slices != 0);
  }
  give(tail);
  return true;
}

}  // namespace tarn
