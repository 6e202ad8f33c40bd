// library_sources: the sources that the library itself provides for pools and arenas.
//
// SPDX-License-Identifier: MIT
#include <atomic>

#include "engine/records/record.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/operations/life.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/os/system_malloc.hpp"
#include "platform/report/misuse.hpp"
#include "tarn/heap/heap.h"
#include "tarn/heap/heap_source.h"
#include "tarn/source/source.h"

namespace tarn {

namespace {

tarn_chunk from_heap(tarn_heap heap, std::size_t bytes, std::size_t alignment) noexcept {
  if (!is_power_of_two(alignment)) {
    os::set_error(os::Error::invalid);
    return {};
  }
  void* const data = heap_allocate_slow(
      heap, {.bytes = bytes, .alignment = alignment, .function = "tarn_heap_source"});
  TARN_ASSERT(is_aligned(data, alignment));
  return {data, data == nullptr ? 0 : bytes};
}

void to_heap(void*, tarn_chunk chunk) noexcept { deallocate(chunk.data); }

// The guarded heap, once it is made; it never ends. The load (acquire) pairs with the exchange of
// the thread that has made it (release).
constinit std::atomic<const tarn_heap*> guarded{nullptr};

const tarn_heap* guarded_heap() noexcept {
  const tarn_heap* known = guarded.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "guarded chunks";
  options.mode = TARN_MODE_GUARDED;
  auto* const made = static_cast<tarn_heap*>(allocate(sizeof(tarn_heap)));
  if (made == nullptr) return nullptr;
  process.start();
  *made = heap_create(&options);
  if (made->record != nullptr &&
      guarded.compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
    return made;
  }
  // There is no memory, or another thread was faster.
  if (made->record != nullptr) heap_clear(*made, true, "tarn_source_guarded");
  deallocate(made);
  return known;
}

tarn_source source(tarn_chunk (*acquire)(void*, std::size_t, std::size_t),
                   void (*release)(void*, tarn_chunk)) noexcept {
  tarn_source made = TARN_SOURCE();
  made.acquire = acquire;
  made.release = release;
  return made;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

TARN_EXPORT tarn_source tarn_source_default(void) {
  return source(
      [](void*, std::size_t bytes, std::size_t alignment) {
        return from_heap(main_record.handle(), bytes, alignment);
      },
      to_heap);
}

TARN_EXPORT tarn_source tarn_source_guarded(void) {
  return source(
      [](void*, std::size_t bytes, std::size_t alignment) {
        const tarn_heap* const heap = guarded_heap();
        return heap == nullptr ? tarn_chunk{} : from_heap(*heap, bytes, alignment);
      },
      to_heap);
}

TARN_EXPORT tarn_source tarn_source_malloc(void) {
  if (!system_malloc_known()) return {};
  return source(
      [](void*, std::size_t bytes, std::size_t alignment) {
        void* const data = system_allocate(bytes, alignment);
        return tarn_chunk{data, data == nullptr ? 0 : bytes};
      },
      [](void*, tarn_chunk chunk) { system_free(chunk.data); });
}

TARN_EXPORT tarn_source tarn_heap_source(const tarn_heap* heap) {
  tarn_source made = source(
      [](void* self, std::size_t bytes, std::size_t alignment) {
        const auto* const known = static_cast<const tarn_heap*>(self);
        return known == nullptr ? tarn_chunk{} : from_heap(*known, bytes, alignment);
      },
      to_heap);
  made.context = const_cast<tarn_heap*>(heap);
  return made;
}

TARN_EXPORT void tarn_source_misuse(int twice, const char* function, const void* data) {
  report_misuse(twice != 0 ? Misuse::double_free : Misuse::invalid_free, function, data);
}

}  // extern "C"
