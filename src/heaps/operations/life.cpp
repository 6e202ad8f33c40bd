// life: how heaps begin.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/life.hpp"

#include <cerrno>

#include "engine/records/class_table.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "platform/base/check.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

bool is_sound(const tarn_heap_options& options) noexcept {
  return is_sized(options, "tarn_heap_create", "TARN_HEAP_OPTIONS") &&
         options.threads >= TARN_HEAP_SHARED && options.threads <= TARN_HEAP_CONFINED &&
         mode_is_sound(options) && (options.parent.record == nullptr) == (options.parent.id == 0) &&
         zone_options_are_sound(options);
}

}  // namespace

tarn_heap heap_create(const tarn_heap_options* options) noexcept {
  tarn_heap_options plain = TARN_HEAP_OPTIONS();
  if (options == nullptr) options = &plain;
  if (!is_sound(*options)) {
    errno = EINVAL;
    return {};
  }
  if (!mode_is_supported(*options)) {
    errno = ENOTSUP;
    return {};
  }
  if (const int error = class_table_error(*options)) {
    errno = error;
    return {};
  }
  if (options->parent.record != nullptr) live_record(options->parent, "tarn_heap_create");
  SpanSource source;
  if (!make_zone(*options, &source)) return {};
  const bool checks_wanted = options->mode != TARN_MODE_FAST;
  Checks* const checks = checks_wanted ? checks_make(static_cast<Mode>(options->mode)) : nullptr;
  HeapRecord* const record =
      checks_wanted && checks == nullptr ? nullptr : registry.make(*options, source, checks);
  TARN_ASSERT(record == nullptr || record->handle().id != 0);
  if (record != nullptr) return record->handle();
  if (checks != nullptr) checks_give(checks);
  if (!source.is_store()) end_zone(source);
  errno = ENOMEM;
  return {};
}

}  // namespace tarn
