// Contestants: what is measured beside tarn's pools. A new one is a class here, and a word in
// `Contestants` below. It has
//
//   static constexpr const char* name;   for the report
//   static constexpr bool frees;         false: blocks go all at once, by all_freed()
//   static constexpr bool reserves;      true: Order::at_once is heeded
//   Contestant(Order, Memory&);          over this memory, where it can be had
//   void* allocate(std::size_t bytes, std::size_t alignment);
//   void deallocate(void* p, std::size_t bytes, std::size_t alignment);
//   void all_freed();                    called when every block has been
//
// FreesEach or FreesAtOnce (order.hpp) has what it does not say itself.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <tuple>

#include TARN_BENCH_PEERS
#include "memory.hpp"
#include "order.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/heap/heap.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/region_array_pool.hpp"
#include "tarn/standard/array_allocator.hpp"

namespace tarn {

// The floor: a pointer that moves on.
class Bump : public FreesAtOnce {
 public:
  static constexpr const char* name = "bump";
  static constexpr bool reserves = true;
  Bump(Order order, Memory& memory) : memory_(memory) {
    begin_ = cursor_ = take(order.block_bytes * order.blocks);
  }

  void* allocate(std::size_t bytes, std::size_t) {
    char* const block = cursor_;
    if (__builtin_expect(block + bytes > end_, 0)) return allocate_slow(bytes);
    cursor_ = block + bytes;
    return block;
  }
  void all_freed() { cursor_ = begin_; }

 private:
  char* take(std::size_t bytes) {
    auto* const data = static_cast<char*>(memory_.acquire(bytes, 64).data);
    end_ = data + bytes;
    return data;
  }
  [[gnu::noinline]] void* allocate_slow(std::size_t bytes) {
    begin_ = take(chunk_blocks * bytes);
    cursor_ = begin_ + bytes;
    return begin_;
  }

  static constexpr std::size_t chunk_blocks = 1024;
  char* cursor_;
  char* end_;
  char* begin_;
  Memory& memory_;
};

// The unchecked free list that one writes by hand: its blocks are linked before they are needed.
class HandList : public FreesEach {
 public:
  static constexpr const char* name = "hand-written list";
  static constexpr bool reserves = true;
  HandList(Order order, Memory& memory) : block_bytes_(order.block_bytes), memory_(memory) {
    thread(order.blocks);
  }

  void* allocate(std::size_t, std::size_t) {
    Link* const block = head_;
    if (__builtin_expect(block == nullptr, 0)) return allocate_slow();
    head_ = block->next;
    return block;
  }
  void deallocate(void* p, std::size_t, std::size_t) {
    auto* const block = static_cast<Link*>(p);
    block->next = head_;
    head_ = block;
  }

 private:
  struct Link {
    Link* next;
  };

  void thread(std::size_t blocks) {
    auto* const data = static_cast<char*>(memory_.acquire(block_bytes_ * blocks, 64).data);
    for (std::size_t at = blocks; at-- > 0;) deallocate(data + at * block_bytes_, 0, 0);
  }
  [[gnu::noinline]] void* allocate_slow() {
    thread(1024);
    return allocate(0, 0);
  }

  Link* head_ = nullptr;
  std::size_t block_bytes_;
  Memory& memory_;
};

class TarnPool : public FreesEach {
 public:
  static constexpr const char* name = "tarn Pool";
  static constexpr bool reserves = true;
  TarnPool(Order order, Memory& memory) : pool_(order.block_bytes, memory, options(order)) {}

  void* allocate(std::size_t, std::size_t) { return pool_.allocate(); }
  void deallocate(void* p, std::size_t, std::size_t) { pool_.deallocate(p); }

 private:
  static PoolOptions options(Order order) {
    PoolOptions options;
    options.reserve_blocks = order.at_once ? order.blocks : 0;
    return options;
  }

  Pool pool_;
};

class TarnArena : public FreesAtOnce {
 public:
  static constexpr const char* name = "tarn Arena";
  TarnArena(Order, Memory& memory) : arena_(memory) {}

  void* allocate(std::size_t bytes, std::size_t alignment) {
    return arena_.allocate(bytes, alignment);
  }
  void all_freed() { arena_.reset(keep_all); }

 private:
  Arena arena_;
};

// The form whose sizes are said when it runs; its bookkeeping lies apart.
class TarnArrayPool : public FreesEach {
 public:
  static constexpr const char* name = "tarn ArrayPool";
  TarnArrayPool(Order order, Memory& memory) {
    const std::size_t bytes = RegionArrayPool::bookkeeping_bytes(order.blocks, order.block_bytes);
    void* const bookkeeping = memory.acquire(bytes, 64).data;
    void* const blocks = memory.acquire(order.blocks * order.block_bytes, 64).data;
    pool_ = RegionArrayPool::make({bookkeeping, bytes}, blocks, order.blocks, order.block_bytes);
    if (!pool_) fail("an array pool could not be made");
  }

  void* allocate(std::size_t, std::size_t) { return pool_.allocate(); }
  void deallocate(void* p, std::size_t, std::size_t) { pool_.deallocate(p); }

 private:
  RegionArrayPool pool_;
};

// The stateless allocator of containers: its pools are static, one for each size of nodes, with
// room for the longest list; for threads, as it is, and for one. For lists only.
template <class Lock>
class TarnArrayAllocatorOf : public FreesEach {
 public:
  static constexpr const char* name =
      std::is_same_v<Lock, NoLock> ? "tarn ArrayAllocator, NoLock" : "tarn ArrayAllocator";
  template <class T>
  using Allocator = ArrayAllocator<T, 1'000'000, OverflowThrow, void, Lock>;
  TarnArrayAllocatorOf(Order, Memory&) {}

  // As its lists do.
  void* allocate(std::size_t bytes, std::size_t) {
    if (bytes == sizeof(Node<2>)) return Allocator<Node<2>>().allocate(1);
    if (bytes == sizeof(Node<3>)) return Allocator<Node<3>>().allocate(1);
    fail("the array allocator has no nodes of this size");
  }
  void deallocate(void* p, std::size_t bytes, std::size_t) {
    if (bytes == sizeof(Node<2>)) return Allocator<Node<2>>().deallocate(as<2>(p), 1);
    return Allocator<Node<3>>().deallocate(as<3>(p), 1);
  }

 private:
  template <std::size_t count>
  struct Node {
    void* words[count];
  };
  template <std::size_t count>
  static Node<count>* as(void* p) {
    return static_cast<Node<count>*>(p);
  }
};
using TarnArrayAllocator = TarnArrayAllocatorOf<DefaultLock>;
using TarnUnlockedAllocator = TarnArrayAllocatorOf<NoLock>;

// Not over the memory that is given: a heap of the process's own.
class TarnHeap : public FreesEach {
 public:
  static constexpr const char* name = "tarn Heap";
  TarnHeap(Order, Memory&) {}

  void* allocate(std::size_t bytes, std::size_t) { return heap_.allocate(bytes); }
  void deallocate(void* p, std::size_t, std::size_t) { heap_.deallocate(p); }

 private:
  Heap heap_;
};

// Whatever is the process's malloc: glibc's, or what was preloaded.
class Malloc : public FreesEach {
 public:
  static constexpr const char* name = "malloc";
  Malloc(Order, Memory&) {}

  void* allocate(std::size_t bytes, std::size_t) { return std::malloc(bytes); }
  void deallocate(void* p, std::size_t, std::size_t) { std::free(p); }
};

class Upstream final : public std::pmr::memory_resource {
 public:
  explicit Upstream(Memory& memory) : memory_(memory) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return memory_.acquire(bytes, alignment).data;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override {
    memory_.release({p, bytes});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  Memory& memory_;
};

// Called as std::pmr::polymorphic_allocator does, through the base class; default options.
template <class Resource, class Frees>
class Pmr : public Frees {
 public:
  Pmr(Order, Memory& memory) : upstream_(memory), resource_(&upstream_) {}

  void* allocate(std::size_t bytes, std::size_t alignment) {
    return base_->allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) {
    base_->deallocate(p, bytes, alignment);
  }

 protected:
  Upstream upstream_;
  Resource resource_;
  std::pmr::memory_resource* base_ = &resource_;
};

class PmrPool : public Pmr<std::pmr::unsynchronized_pool_resource, FreesEach> {
 public:
  static constexpr const char* name = "pmr unsynchronized pool";
  using Pmr::Pmr;
};

class PmrMonotonic : public Pmr<std::pmr::monotonic_buffer_resource, FreesAtOnce> {
 public:
  static constexpr const char* name = "pmr monotonic";
  using Pmr::Pmr;
  void all_freed() { resource_.release(); }
};

// Boost's and foonathan's come from TARN_BENCH_PEERS.
using OurContestants =
    std::tuple<Bump, HandList, TarnPool, TarnArena, TarnArrayPool, TarnHeap, PmrPool, PmrMonotonic>;
using Contestants =
    decltype(std::tuple_cat(std::declval<OurContestants>(), std::declval<PeerContestants>()));
using EveryContestant =
    decltype(std::tuple_cat(std::declval<Contestants>(), std::declval<std::tuple<Malloc>>()));
using ListContestants =
    decltype(std::tuple_cat(std::declval<Contestants>(),
                            std::declval<std::tuple<TarnArrayAllocator, TarnUnlockedAllocator>>()));
using EveryListContestant =
    decltype(std::tuple_cat(std::declval<ListContestants>(), std::declval<std::tuple<Malloc>>()));

}  // namespace tarn
