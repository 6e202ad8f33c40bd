// fixed_allocator.hpp: blocks of one size from one of three places, in C++ (C++17). Header only
// over tarn/pool/fixed_allocator.h, which says what each function promises.
//
//   tarn::FixedAllocator a(64);                          // each block from malloc's heap
//   tarn::FixedAllocator b(64, 1000);                    // one piece of it, for 1,000 blocks
//   tarn::FixedAllocator c(64, 0, memory, bytes);        // memory of one's own
//   tarn::FixedAllocatorFor<Packet, 100> d("packets");   // the same, with its memory inside
//
// SPDX-License-Identifier: MIT
#ifndef TARN_FIXED_ALLOCATOR_HPP
#define TARN_FIXED_ALLOCATOR_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>

#include "../detail/errors.hpp"
#include "../source/source.hpp"
#include "fixed_allocator.h"

namespace tarn {

struct FixedAllocatorOptions {
  const char* name = nullptr;
  std::size_t alignment = 0;
  bool recycle = false;
};

class FixedAllocator {
 public:
  // Blocks of a heap pool of so many objects; 0: each block comes from the heap by itself. Throws
  // InvalidOptions, or std::bad_alloc when there is no memory for the pool. Without exceptions the
  // allocator then never has a block.
  explicit FixedAllocator(std::size_t block_bytes, std::size_t objects = 0,
                          const FixedAllocatorOptions& options = {}) {
    make(block_bytes, objects, nullptr, 0, nullptr, options);
  }
  FixedAllocator(std::size_t block_bytes, std::size_t objects, SourceRef source,
                 const FixedAllocatorOptions& options = {}) {
    make(block_bytes, objects, nullptr, 0, &source.get(), options);
  }
  // As many blocks as fit into `memory`, but at most `objects` if that is not 0. Throws
  // InvalidOptions when not one fits.
  FixedAllocator(std::size_t block_bytes, std::size_t objects, void* memory,
                 std::size_t memory_bytes, const FixedAllocatorOptions& options = {}) {
    // Null stands for memory without bytes here; it does not ask for a heap's.
    if (memory == nullptr) {
      memory = this;
      memory_bytes = 0;
    }
    make(block_bytes, objects, memory, memory_bytes, nullptr, options);
  }
  ~FixedAllocator() { tarn_fixed_allocator_destroy(&own_); }
  FixedAllocator(const FixedAllocator&) = delete;
  FixedAllocator& operator=(const FixedAllocator&) = delete;

  [[nodiscard]] TARN_NOTES_CALLER void* allocate() {
    return or_bad_alloc(tarn_fixed_allocator_allocate(&own_));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate() noexcept {
    return tarn_fixed_allocator_allocate(&own_);
  }
  TARN_NOTES_CALLER void deallocate(void* p) noexcept { tarn_fixed_allocator_deallocate(&own_, p); }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the blocks
  // have.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > own_.block_bytes || alignment > own_.alignment) return nullptr;
    return try_allocate();
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  const char* name() const noexcept { return own_.name; }
  std::size_t block_bytes() const noexcept { return own_.block_bytes; }
  std::size_t block_count() const noexcept { return own_.held; }
  std::size_t blocks_in_use() const noexcept { return own_.live; }
  std::size_t blocks_in_use_peak() const noexcept { return own_.live_peak; }
  std::uint64_t allocations() const noexcept { return own_.allocations; }
  std::uint64_t deallocations() const noexcept { return own_.deallocations; }
  std::uint64_t failures() const noexcept { return own_.failures; }

  bool owns(const void* p) const noexcept { return tarn_fixed_allocator_owns(&own_, p) != 0; }
  bool check() const noexcept { return tarn_fixed_allocator_check(&own_) != 0; }
  tarn_fixed_allocator* get() noexcept { return &own_; }

 private:
  void make(std::size_t block_bytes, std::size_t objects, void* memory, std::size_t memory_bytes,
            const tarn_source* source, const FixedAllocatorOptions& from) {
    tarn_fixed_allocator_options options = TARN_FIXED_ALLOCATOR_OPTIONS();
    options.name = from.name;
    options.block_bytes = block_bytes;
    options.alignment = from.alignment;
    options.objects = objects;
    options.memory = memory;
    options.memory_bytes = memory_bytes;
    options.source = source;
    options.flags = from.recycle ? unsigned{TARN_FIXED_RECYCLE} : 0;
    if (tarn_fixed_allocator_init(&own_, &options) == 0) return;
#if defined(__cpp_exceptions)
    if (own_.place == TARN_FIXED_HEAP_POOL) throw std::bad_alloc();
    throw InvalidOptions(
        "tarn::FixedAllocator: block_bytes must not be 0, alignment must be a power of two, and "
        "memory must have room for one block");
#endif
  }

  tarn_fixed_allocator own_;
};

// An allocator for `count` objects of one type, whose memory lies in the allocator itself.
template <class T, std::size_t count>
class FixedAllocatorFor {
 public:
  explicit FixedAllocatorFor(const char* name = nullptr)
      : allocator_(sizeof(T), count, memory_, sizeof memory_, options(name)) {}

  [[nodiscard]] TARN_NOTES_CALLER void* allocate() { return allocator_.allocate(); }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate() noexcept {
    return allocator_.try_allocate();
  }
  TARN_NOTES_CALLER void deallocate(void* p) noexcept { allocator_.deallocate(p); }
  FixedAllocator& allocator() noexcept { return allocator_; }

 private:
  static constexpr std::size_t alignment = alignof(T) > alignof(void*) ? alignof(T)
                                                                       : alignof(void*);
  static constexpr std::size_t stride = (sizeof(T) + alignment - 1) / alignment * alignment;
  static FixedAllocatorOptions options(const char* name) noexcept {
    FixedAllocatorOptions options;
    options.name = name;
    options.alignment = alignment;
    return options;
  }

  alignas(alignment) unsigned char memory_[count * stride + (count + 63) / 64 * 8 + 8];
  FixedAllocator allocator_;
};

}  // namespace tarn

#endif
#endif
