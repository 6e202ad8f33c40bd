// compat/Allocator.h: D. Lafreniere's Allocator ("An Efficient C++ Fixed Block Memory Allocator")
// under its own names, in C++17, over tarn/pool/fixed_allocator.h and tarn/pool/class_pools.h.
// Wrong frees are reported. docs/xallocator.md says what differs from the source.
//
//   Allocator a(sizeof(Packet), 0, nullptr, "packets");     // blocks from the heap
//   Allocator b(sizeof(Packet), 100);                       // a pool of 100, from the heap
//   Allocator c(sizeof(Packet), 100, memory, "packets");    // a pool in your own memory
//   AllocatorPool<Packet, 100> d;                           // the same, with its memory inside
//
// One thread at a time. The allocators are constant-initialised, so constructors may use them
// before main. Those of DECLARE_ALLOCATOR may also be used by destructors after main.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_ALLOCATOR_H
#define TARN_COMPAT_ALLOCATOR_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <cstdint>
#include <new>

#include "../detail/align.hpp"
#include "../detail/class_operators.hpp"
#include "../pool/class_pools.h"
#include "../pool/fixed_allocator.h"

// An Allocator that never ends. Its memory lasts as long as the process, so static objects may
// still free blocks when they are destroyed.
class LastingAllocator {
 public:
  // size: of a block, at least 1; a block is no smaller than a pointer. objects: how many blocks
  // there are; 0: as many as the heap has memory for. memory: objects * size bytes (or
  // memory_bytes), aligned; null: from the heap. name: not copied. alignment: a power of two. 0
  // stands for 16; in the caller's memory, for what an object of that size can need, at most a
  // pointer's, so that there are `objects` blocks.
  constexpr LastingAllocator(std::size_t size, std::size_t objects = 0, void* memory = nullptr,
                             const char* name = nullptr, std::size_t alignment = 0,
                             std::size_t memory_bytes = 0) noexcept
      : size_(size),
        objects_(objects),
        memory_(memory),
        name_(name),
        alignment_(alignment),
        memory_bytes_(memory_bytes != 0 ? memory_bytes : size * objects) {}
  LastingAllocator(const LastingAllocator&) = delete;
  LastingAllocator& operator=(const LastingAllocator&) = delete;

  // A block of `size` bytes. When there is none, the new-handler is called; without a handler
  // std::bad_alloc is thrown (without exceptions: null). A size above the blocks' throws at once,
  // and does not count as an allocation.
  void* Allocate(std::size_t size) {
    if (size > size_) return tarn::or_bad_alloc(TryAllocate(size));
    return tarn::class_allocate([&]() noexcept { return TryAllocate(size); });
  }
  // As above, with null instead of an exception, as `new (std::nothrow)` requires.
  void* Allocate(std::size_t size, const std::nothrow_t&) noexcept {
    return tarn::null_if_it_throws([&] { return Allocate(size); });
  }
  // A block, or null. The new-handler is not called.
  void* TryAllocate(std::size_t size) noexcept {
    if (size > size_ || !make()) return nullptr;
    return objects_ != 0 ? tarn_fixed_allocator_allocate(&pool_)
                         : tarn_class_pools_allocate_aligned(&blocks_, heap_alignment(), size_);
  }

  // Frees a block. Null is ignored. What is no live block of this allocator is reported and ends
  // the process. This is exact, except for double frees in the caller's memory, if that has more
  // than 1,024 blocks and no room for one bit for each.
  void Deallocate(void* p) noexcept {
    if (p == nullptr) return;
    make();
    if (objects_ != 0) return tarn_fixed_allocator_deallocate(&pool_, p);
    tarn_class_pools_deallocate(&blocks_, p);
  }

  const char* GetName() const noexcept { return name_; }
  std::size_t GetBlockSize() const noexcept { return size_; }
  // How many blocks there are: in a pool all of them, else the most that were in use at the same
  // time.
  std::size_t GetBlockCount() noexcept {
    if (!make()) return 0;
    return objects_ != 0 ? pool_.held : static_cast<std::size_t>(heap_stats().in_use_peak);
  }
  std::size_t GetBlocksInUse() noexcept {
    return objects_ != 0 ? pool_.live : static_cast<std::size_t>(heap_stats().in_use);
  }
  std::size_t GetAllocations() noexcept {
    return static_cast<std::size_t>(objects_ != 0 ? pool_.allocations : heap_stats().allocations);
  }
  std::size_t GetDeallocations() noexcept {
    return static_cast<std::size_t>(objects_ != 0 ? pool_.deallocations
                                                  : heap_stats().deallocations);
  }

  // Whether its blocks serve a request of this size and alignment.
  bool Serves(std::size_t size, std::size_t alignment) const noexcept {
    return size <= size_ && (alignment <= alignment_ || alignment <= usual_alignment());
  }
  // Whether p, any pointer, lies in the memory of its blocks.
  bool Owns(const void* p) noexcept {
    return objects_ != 0 ? tarn_fixed_allocator_owns(&pool_, p) != 0
                         : tarn_class_pools_owns(&blocks_, p) != 0;
  }
  // For `delete` with an alignment, which is told no size. (Only a `new` whose constructor throws
  // has such a one.) CountOther() counts the blocks of the global operators; as long as there are
  // none, Takes() knows that p is one of these.
  void* CountOther(void* p) noexcept {
    if (p != nullptr) ++others_;
    return p;
  }
  bool Takes(const void* p) noexcept {
    if (p == nullptr || others_ == 0 || Owns(p)) return true;
    --others_;
    return false;
  }
  // Whether every invariant holds.
  bool Check() noexcept {
    return objects_ != 0 ? tarn_fixed_allocator_check(&pool_) != 0
                         : tarn_class_pools_check(&blocks_) != 0;
  }

 protected:
  void Destroy() noexcept {
    if (memory_ == nullptr) tarn_fixed_allocator_destroy(&pool_);  // Else it is the caller's.
    tarn_class_pools_destroy(&blocks_);
  }

 private:
  std::size_t usual_alignment() const noexcept {
    if (alignment_ != 0) return 1;
    return memory_ != nullptr ? tarn::natural_alignment(size_, alignof(void*)) : 16;
  }
  std::size_t heap_alignment() const noexcept { return alignment_ != 0 ? alignment_ : 16; }

  tarn_class_pool_stats heap_stats() noexcept {
    tarn_class_pool_stats stats = TARN_CLASS_POOL_STATS();
    tarn_class_pools_get_class_stats(&blocks_, 0, &stats);
    return stats;
  }

  // Makes the allocator at its first use. False when there is no memory this time.
  bool make() noexcept {
    if (pool_.stride != 0 || blocks_.class_count != 0) return true;
    return objects_ != 0 ? make_pool() : make_blocks();
  }
  bool make_pool() noexcept {
    tarn_fixed_allocator_options options = TARN_FIXED_ALLOCATOR_OPTIONS();
    options.name = name_;
    options.block_bytes = size_;
    options.alignment = alignment_ != 0 ? alignment_ : usual_alignment();
    options.objects = objects_;
    options.memory = memory_;
    options.memory_bytes = memory_ != nullptr ? memory_bytes_ : 0;
    if (tarn_fixed_allocator_init(&pool_, &options) != 0) {
      pool_ = tarn_fixed_allocator{};
      return false;
    }
    if (pool_.live_bits == nullptr && pool_.held <= sizeof bits_ * 8) pool_.live_bits = bits_;
    return true;
  }
  bool make_blocks() noexcept {
    tarn_class_pools_options options = TARN_CLASS_POOLS_OPTIONS();
    options.name = name_;
    options.class_bytes = &size_;
    options.class_count = 1;
    options.chunk_bytes = 1024;
    options.flags = TARN_CLASS_POOLS_TUNED_ONLY | TARN_CLASS_POOLS_KEEP_CHUNKS;
    return tarn_class_pools_init(&blocks_, &options) == 0;
  }

  std::size_t size_;
  std::size_t objects_;
  void* memory_;
  const char* name_;
  std::size_t alignment_;
  std::size_t memory_bytes_;
  std::size_t others_ = 0;       // Blocks of the global operators.
  std::uint64_t bits_[16]{};     // For a pool whose memory has no room for live bits.
  tarn_fixed_allocator pool_{};  // Used where `objects` was said.
  tarn_class_pools blocks_{};    // Used where it was not.
};

// An allocator that gives its memory back when it ends.
class Allocator : public LastingAllocator {
 public:
  using LastingAllocator::LastingAllocator;
  ~Allocator() { Destroy(); }
};

// A pool with its memory inside. A static one lies in the program's data (not in .bss), so no code
// runs for it before main.
template <class T, std::size_t Objects>
class AllocatorPool : public Allocator {
  static constexpr std::size_t alignment = alignof(T) > alignof(void*) ? alignof(T)
                                                                       : alignof(void*);
  static constexpr std::size_t stride = (sizeof(T) + alignment - 1) / alignment * alignment;

 public:
  explicit constexpr AllocatorPool(const char* name = nullptr) noexcept
      : Allocator(sizeof(T), Objects, memory_, name, alignment, sizeof memory_) {}

 private:
  alignas(alignment) char memory_[Objects * stride + (Objects + 63) / 64 * 8 + 8]{};
};

// Callers of `new` check for null only if the operator is noexcept.
#if defined(__cpp_exceptions)
#define TARN_ALLOCATOR_NEW_NOEXCEPT
#else
#define TARN_ALLOCATOR_NEW_NOEXCEPT noexcept
#endif

// Use this at the top of a class (it ends with `private:`): its objects are blocks of one
// allocator. Larger derived classes, arrays and greater alignments use the global operators.
#define DECLARE_ALLOCATOR                                                                 \
 public:                                                                                  \
  static void* operator new(std::size_t size) TARN_ALLOCATOR_NEW_NOEXCEPT {               \
    return _allocator.Serves(size, 1) ? _allocator.Allocate(size) : ::operator new(size); \
  }                                                                                       \
  static void* operator new(std::size_t size, std::align_val_t alignment)                 \
      TARN_ALLOCATOR_NEW_NOEXCEPT {                                                       \
    return _allocator.Serves(size, std::size_t(alignment))                                \
               ? _allocator.Allocate(size)                                                \
               : _allocator.CountOther(::operator new(size, alignment));                  \
  }                                                                                       \
  static void* operator new(std::size_t size, const std::nothrow_t& nothrow) noexcept {   \
    return _allocator.Serves(size, 1) ? _allocator.Allocate(size, nothrow)                \
                                      : ::operator new(size, nothrow);                    \
  }                                                                                       \
  static void* operator new(std::size_t size, std::align_val_t alignment,                 \
                            const std::nothrow_t& nothrow) noexcept {                     \
    return _allocator.Serves(size, std::size_t(alignment))                                \
               ? _allocator.Allocate(size, nothrow)                                       \
               : _allocator.CountOther(::operator new(size, alignment, nothrow));         \
  }                                                                                       \
  static void* operator new(std::size_t, void* place) noexcept { return place; }          \
  static void operator delete(void* p, std::size_t size) noexcept {                       \
    _allocator.Serves(size, 1) ? _allocator.Deallocate(p) : ::operator delete(p);         \
  }                                                                                       \
  static void operator delete(void* p, std::align_val_t alignment) noexcept {             \
    _allocator.Takes(p) ? _allocator.Deallocate(p) : ::operator delete(p, alignment);     \
  }                                                                                       \
  static void operator delete(void* p, const std::nothrow_t&) noexcept {                  \
    _allocator.Owns(p) ? _allocator.Deallocate(p) : ::operator delete(p);                 \
  }                                                                                       \
  static void operator delete(void* p, std::align_val_t alignment,                        \
                              const std::nothrow_t&) noexcept {                           \
    _allocator.Takes(p) ? _allocator.Deallocate(p) : ::operator delete(p, alignment);     \
  }                                                                                       \
  static void operator delete(void*, void*) noexcept {}                                   \
  static void* operator new[](std::size_t size) { return ::operator new[](size); }        \
  static void* operator new[](std::size_t size, std::align_val_t alignment) {             \
    return ::operator new[](size, alignment);                                             \
  }                                                                                       \
  static void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept { \
    return ::operator new[](size, nothrow);                                               \
  }                                                                                       \
  static void* operator new[](std::size_t size, std::align_val_t alignment,               \
                              const std::nothrow_t& nothrow) noexcept {                   \
    return ::operator new[](size, alignment, nothrow);                                    \
  }                                                                                       \
  static void* operator new[](std::size_t, void* place) noexcept { return place; }        \
  static void operator delete[](void* p) noexcept { ::operator delete[](p); }             \
  static void operator delete[](void* p, std::align_val_t alignment) noexcept {           \
    ::operator delete[](p, alignment);                                                    \
  }                                                                                       \
  static void operator delete[](void* p, const std::nothrow_t& nothrow) noexcept {        \
    ::operator delete[](p, nothrow);                                                      \
  }                                                                                       \
  static void operator delete[](void* p, std::align_val_t alignment,                      \
                                const std::nothrow_t& nothrow) noexcept {                 \
    ::operator delete[](p, alignment, nothrow);                                           \
  }                                                                                       \
  static void operator delete[](void*, void*) noexcept {}                                 \
                                                                                          \
 private:                                                                                 \
  static LastingAllocator _allocator;

// Use this in one file, for each class: `objects` and `memory` are those of the constructor.
#define IMPLEMENT_ALLOCATOR(Class, objects, memory) \
  LastingAllocator Class::_allocator(sizeof(Class), objects, memory, #Class, alignof(Class));

#endif
#endif
