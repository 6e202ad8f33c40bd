// compat/Allocator.h: D. Lafreniere's Allocator ("An Efficient C++ Fixed Block Memory Allocator")
// under its own names, in C++11, over tarn/pool/fixed_allocator.h. Wrong frees are reported.
// docs/xallocator.md says what differs from the source.
//
//   Allocator a(sizeof(Packet), 0, nullptr, "packets");     // blocks from the heap
//   Allocator b(sizeof(Packet), 100);                       // a pool of 100, from the heap
//   Allocator c(sizeof(Packet), 100, memory, "packets");    // a pool in your own memory
//   AllocatorPool<Packet, 100> d;                           // the same, with its memory inside
//
// One thread at a time. All but AllocatorPool are constant-initialised, so constructors may use
// them before main. Those of DECLARE_ALLOCATOR may also be used by destructors after main.
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
#include "../pool/fixed_allocator.h"
#include "../source/source.h"
#include "DataTypes.h"

class Allocator {
 public:
  // size: of a block, at least 1; a block is no smaller than a pointer. objects: how many blocks
  // there are; 0: as many as the heap has memory for. memory: objects * size bytes (or
  // memory_bytes), aligned; null: from the heap. Below a pointer's size it has room for fewer
  // blocks (the source wrote beyond it). name: not copied. alignment: a power of two. 0 stands for
  // 16; in the caller's memory, for what an object of that size can need, at most a pointer's, so
  // that there are `objects` blocks.
  constexpr Allocator(std::size_t size, std::size_t objects = 0, void* memory = nullptr,
                      const char* name = nullptr, std::size_t alignment = 0,
                      std::size_t memory_bytes = 0) noexcept
      : size_(size),
        objects_(objects),
        memory_(memory),
        name_(name),
        alignment_(alignment),
        memory_bytes_(memory_bytes != 0 ? memory_bytes : size * objects) {}
  // Gives its memory back, and with it all blocks that are live.
  ~Allocator() { Destroy(); }
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

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
    if (size > size_) return nullptr;
    for (Pool** at = &first_; *at != nullptr; at = &(*at)->next) {
      if ((*at)->blocks.live != (*at)->blocks.held) return take_from(at);
    }
    return add_pool() ? take_from(&first_) : nullptr;
  }

  // Frees a block. Null is ignored. What is no live block of this allocator is reported and ends
  // the process. This is exact, except for double frees in the caller's memory, if that has more
  // than 1,024 blocks and no room for one bit for each. Time linear in the pools, of which each has
  // as many blocks as all before it.
  TARN_NOTES_CALLER void Deallocate(void* p) noexcept {
    if (p == nullptr) return;
    Pool** at = &first_;
    while (*at != nullptr && !tarn_fixed_allocator_owns(&(*at)->blocks, p)) at = &(*at)->next;
    if (*at == nullptr) {  // It is reported by one that has it not.
      tarn_fixed_allocator none = {};
      none.name = name_;
      none.place = TARN_FIXED_STATIC_POOL;
      none.stride = size_;
      return tarn_fixed_allocator_deallocate(first_ != nullptr ? &first_->blocks : &none, p);
    }
    tarn_fixed_allocator_deallocate(&(*at)->blocks, p);
    --live_;
    ++deallocations_;
    move_to_front(at);  // So the next block is this one.
  }

  const char* GetName() const noexcept { return name_; }
  // As in the source, a block is no smaller than a pointer.
  std::size_t GetBlockSize() const noexcept {
    return size_ < sizeof(void*) ? sizeof(void*) : size_;
  }
  // How many blocks were made: the most that were in use at the same time.
  std::size_t GetBlockCount() const noexcept { return peak_; }
  std::size_t GetBlocksInUse() const noexcept { return live_; }
  std::size_t GetAllocations() const noexcept { return live_ + deallocations_; }
  std::size_t GetDeallocations() const noexcept { return deallocations_; }

  // Whether its blocks serve a request of this size and alignment.
  bool Serves(std::size_t size, std::size_t alignment) const noexcept {
    return size <= size_ && (alignment <= alignment_ || alignment <= usual_alignment());
  }
  // Whether p, any pointer, lies in a block that was handed out.
  bool Owns(const void* p) const noexcept {
    for (const Pool* pool = first_; pool != nullptr; pool = pool->next) {
      if (tarn_fixed_allocator_owns(&pool->blocks, p) != 0) return true;
    }
    return false;
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
  bool Check() const noexcept {
    std::size_t live = 0;
    for (const Pool* pool = first_; pool != nullptr; pool = pool->next) {
      if (tarn_fixed_allocator_check(&pool->blocks) == 0) return false;
      live += pool->blocks.live;
    }
    return live == live_ && live_ <= peak_;
  }

 private:
  struct Pool {
    tarn_fixed_allocator blocks;
    Pool* next;
    tarn_chunk memory;  // In which it lies itself; none for the first one, which is a member.
  };

  static constexpr std::size_t first_pool_bytes = 1024;

  std::size_t usual_alignment() const noexcept {
    if (alignment_ != 0) return 1;
    return memory_ != nullptr ? tarn::natural_alignment(size_, alignof(void*)) : 16;
  }

  // pre: the pool has a block
  void* take_from(Pool** at) noexcept {
    void* const block = tarn_fixed_allocator_allocate(&(*at)->blocks);
    if (++live_ > peak_) peak_ = live_;
    move_to_front(at);
    return block;
  }
  void move_to_front(Pool** at) noexcept {
    if (at == &first_) return;
    Pool* const pool = *at;
    *at = pool->next;
    pool->next = first_;
    first_ = pool;
  }

  // The pool, or another one where blocks come from the heap. False when there is no memory.
  bool add_pool() noexcept {
    const bool fixed = objects_ != 0;
    if (fixed && first_ != nullptr) return false;
    tarn_fixed_allocator_options options = TARN_FIXED_ALLOCATOR_OPTIONS();
    options.name = name_;
    options.block_bytes = size_;
    options.alignment = alignment_ != 0 ? alignment_ : usual_alignment();
    options.objects = fixed ? objects_ : objects_to_add();
    options.memory = fixed ? memory_ : nullptr;
    options.memory_bytes = fixed && memory_ != nullptr ? memory_bytes_ : 0;
    Pool* pool = &own_;
    tarn_chunk memory = {nullptr, 0};
    if (first_ != nullptr) {
      const tarn_source heap = tarn_source_default();
      memory = heap.acquire(heap.context, sizeof(Pool), alignof(Pool));
      if (memory.data == nullptr) return false;
      pool = ::new (memory.data) Pool();
    }
    pool->memory = memory;
    if (tarn_fixed_allocator_init(&pool->blocks, &options) != 0) {
      release(*pool);
      return false;
    }
    tarn_fixed_allocator& blocks = pool->blocks;
    if (blocks.live_bits == nullptr && blocks.held <= sizeof bits_ * 8) blocks.live_bits = bits_;
    held_ += blocks.held;
    pool->next = first_;
    first_ = pool;
    return true;
  }
  std::size_t objects_to_add() const noexcept {
    const std::size_t first = first_pool_bytes / size_ + 1;
    return held_ > first ? held_ : first;
  }
  // Gives back what the pool has, and where it lies.
  static void release(Pool& pool) noexcept {
    const tarn_chunk memory = pool.memory;
    tarn_fixed_allocator_destroy(&pool.blocks);
    const tarn_source heap = tarn_source_default();
    if (memory.data != nullptr) heap.release(heap.context, memory);
  }
  void Destroy() noexcept {
    for (Pool* pool = first_; pool != nullptr;) {
      Pool* const next = pool->next;
      release(*pool);
      pool = next;
    }
    first_ = nullptr;
    live_ = peak_ = held_ = 0;
  }

  std::size_t size_;
  std::size_t objects_;
  void* memory_;
  const char* name_;
  std::size_t alignment_;
  std::size_t memory_bytes_;
  std::size_t others_ = 0;  // Blocks of the global operators.
  std::size_t live_ = 0;
  std::size_t peak_ = 0;
  std::size_t deallocations_ = 0;
  std::size_t held_ = 0;      // The blocks of all pools.
  Pool* first_ = nullptr;     // The one that a block was taken from or freed into last.
  std::uint64_t bits_[16]{};  // For a pool whose memory has no room for live bits.
  Pool own_{};
};

// An Allocator that never ends: static objects may still free its blocks when they are destroyed.
union LastingAllocator {
  constexpr LastingAllocator(std::size_t size, std::size_t objects, void* memory, const char* name,
                             std::size_t alignment) noexcept
      : allocator(size, objects, memory, name, alignment) {}
  ~LastingAllocator() {}

  Allocator allocator;
};

// A pool with its memory inside. A static one lies in .bss: its constructor runs before main, in
// its turn, and it may be used from then on.
template <class T, std::size_t Objects>
class AllocatorPool : public Allocator {
  static constexpr std::size_t alignment = alignof(T) > alignof(void*) ? alignof(T)
                                                                       : alignof(void*);
  static constexpr std::size_t stride = (sizeof(T) + alignment - 1) / alignment * alignment;

 public:
  explicit AllocatorPool(const char* name = nullptr) noexcept
      : Allocator(sizeof(T), Objects, at_run_time(memory_), name, alignment, sizeof memory_) {}

 private:
  // A compiler that knew the value would put the whole pool into the executable.
  static void* at_run_time(void* p) noexcept {
#if defined(__GNUC__)
    __asm__("" : "+r"(p));
#endif
    return p;
  }

  alignas(alignment) char memory_[Objects * stride + (Objects + 63) / 64 * 8 + 8];
};

// Callers of `new` check for null only if the operator is noexcept.
#if defined(__cpp_exceptions)
#define TARN_ALLOCATOR_NEW_NOEXCEPT
#else
#define TARN_ALLOCATOR_NEW_NOEXCEPT noexcept
#endif

// The forms with an alignment, which C++17 has.
#if defined(__cpp_aligned_new)
#define TARN_ALLOCATOR_ALIGNED_FORMS                                                  \
  static void* operator new(std::size_t size, std::align_val_t alignment)             \
      TARN_ALLOCATOR_NEW_NOEXCEPT {                                                   \
    return _allocator.Serves(size, std::size_t(alignment))                            \
               ? _allocator.Allocate(size)                                            \
               : _allocator.CountOther(::operator new(size, alignment));              \
  }                                                                                   \
  static void* operator new(std::size_t size, std::align_val_t alignment,             \
                            const std::nothrow_t& nothrow) noexcept {                 \
    return _allocator.Serves(size, std::size_t(alignment))                            \
               ? _allocator.Allocate(size, nothrow)                                   \
               : _allocator.CountOther(::operator new(size, alignment, nothrow));     \
  }                                                                                   \
  static void operator delete(void* p, std::align_val_t alignment) noexcept {         \
    _allocator.Takes(p) ? _allocator.Deallocate(p) : ::operator delete(p, alignment); \
  }                                                                                   \
  static void operator delete(void* p, std::align_val_t alignment,                    \
                              const std::nothrow_t&) noexcept {                       \
    _allocator.Takes(p) ? _allocator.Deallocate(p) : ::operator delete(p, alignment); \
  }                                                                                   \
  static void* operator new[](std::size_t size, std::align_val_t alignment) {         \
    return ::operator new[](size, alignment);                                         \
  }                                                                                   \
  static void* operator new[](std::size_t size, std::align_val_t alignment,           \
                              const std::nothrow_t& nothrow) noexcept {               \
    return ::operator new[](size, alignment, nothrow);                                \
  }                                                                                   \
  static void operator delete[](void* p, std::align_val_t alignment) noexcept {       \
    ::operator delete[](p, alignment);                                                \
  }                                                                                   \
  static void operator delete[](void* p, std::align_val_t alignment,                  \
                                const std::nothrow_t& nothrow) noexcept {             \
    ::operator delete[](p, alignment, nothrow);                                       \
  }
#else
#define TARN_ALLOCATOR_ALIGNED_FORMS
#endif

// Use this at the top of a class (it ends with `private:`): its objects are blocks of one
// allocator. Larger derived classes, arrays and greater alignments use the global operators.
#define DECLARE_ALLOCATOR                                                                 \
 public:                                                                                  \
  static void* operator new(std::size_t size) TARN_ALLOCATOR_NEW_NOEXCEPT {               \
    return _allocator.Serves(size, 1) ? _allocator.Allocate(size) : ::operator new(size); \
  }                                                                                       \
  static void* operator new(std::size_t size, const std::nothrow_t& nothrow) noexcept {   \
    return _allocator.Serves(size, 1) ? _allocator.Allocate(size, nothrow)                \
                                      : ::operator new(size, nothrow);                    \
  }                                                                                       \
  static void* operator new(std::size_t, void* place) noexcept { return place; }          \
  static void operator delete(void* p, std::size_t size) noexcept {                       \
    _allocator.Serves(size, 1) ? _allocator.Deallocate(p) : ::operator delete(p);         \
  }                                                                                       \
  static void operator delete(void* p, const std::nothrow_t&) noexcept {                  \
    _allocator.Owns(p) ? _allocator.Deallocate(p) : ::operator delete(p);                 \
  }                                                                                       \
  static void operator delete(void*, void*) noexcept {}                                   \
  static void* operator new[](std::size_t size) { return ::operator new[](size); }        \
  static void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept { \
    return ::operator new[](size, nothrow);                                               \
  }                                                                                       \
  static void* operator new[](std::size_t, void* place) noexcept { return place; }        \
  static void operator delete[](void* p) noexcept { ::operator delete[](p); }             \
  static void operator delete[](void* p, const std::nothrow_t& nothrow) noexcept {        \
    ::operator delete[](p, nothrow);                                                      \
  }                                                                                       \
  static void operator delete[](void*, void*) noexcept {}                                 \
  TARN_ALLOCATOR_ALIGNED_FORMS                                                            \
                                                                                          \
 private:                                                                                 \
  static LastingAllocator _lasting_allocator;                                             \
  static Allocator& _allocator;

// Use this in one file, for each class: `objects` and `memory` are those of the constructor.
#define IMPLEMENT_ALLOCATOR(Class, objects, memory)                                  \
  LastingAllocator Class::_lasting_allocator(sizeof(Class), objects, memory, #Class, \
                                             alignof(Class));                        \
  Allocator& Class::_allocator = Class::_lasting_allocator.allocator;

#endif
#endif
