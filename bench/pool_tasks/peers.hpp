// Boost's and foonathan_memory's pools, as their authors recommend them: Boost's pool grows by
// doubling from 32 blocks, its locked form takes a mutex around each call as singleton_pool (and so
// fast_pool_allocator) does; foonathan's begins with 4 KiB.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/pool/detail/guard.hpp>
#include <boost/pool/detail/mutex.hpp>
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#include <cstddef>
#include <foonathan/memory/allocator_storage.hpp>
#include <foonathan/memory/memory_pool.hpp>
#include <mutex>
#include <tuple>
#include <type_traits>

#include "memory.hpp"
#include "order.hpp"

namespace tarn {

// Boost's pools are told where memory is by a type.
struct BoostMemory {
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  inline static Memory* memory = nullptr;

  // The size goes before the block: it is not named again at the end.
  static char* malloc(size_type bytes) {
    const Chunk chunk = memory->acquire(bytes + header_bytes, header_bytes);
    *static_cast<size_type*>(chunk.data) = chunk.bytes;
    return static_cast<char*>(chunk.data) + header_bytes;
  }
  static void free(char* block) {
    void* const data = block - header_bytes;
    memory->release({data, *static_cast<size_type*>(data)});
  }

 private:
  static constexpr std::size_t header_bytes = 64;
};

class BoostPool : public FreesEach {
 public:
  static constexpr const char* name = "Boost pool";
  static constexpr bool reserves = true;
  BoostPool(Order order, Memory& memory)
      : pool_(order.block_bytes, order.at_once ? order.blocks : default_blocks) {
    BoostMemory::memory = &memory;
    if (order.at_once) pool_.free(pool_.malloc());
  }

  void* allocate(std::size_t, std::size_t) { return pool_.malloc(); }
  void deallocate(void* p, std::size_t, std::size_t) { pool_.free(p); }

 private:
  static constexpr std::size_t default_blocks = 32;
  boost::pool<BoostMemory> pool_;
};

class BoostLockedPool : public FreesEach {
 public:
  static constexpr const char* name = "Boost pool, locked";
  using Mutex = boost::details::pool::default_mutex;
  static_assert(!std::is_same_v<Mutex, boost::details::pool::null_mutex>);
  BoostLockedPool(Order order, Memory& memory) : pool_(order, memory) {}

  void* allocate(std::size_t bytes, std::size_t alignment) {
    boost::details::pool::guard<Mutex> guard(mutex_);
    return pool_.allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) {
    boost::details::pool::guard<Mutex> guard(mutex_);
    pool_.deallocate(p, bytes, alignment);
  }

 private:
  Mutex mutex_;
  BoostPool pool_;
};

// memory_pool<> as it is in the author's library, called as his std_allocator calls it; its blocks
// are malloc's.
class FoonathanPool : public FreesEach {
 public:
  static constexpr const char* name = "foonathan";
  FoonathanPool(Order order, Memory&) : pool_(order.block_bytes, first_bytes) {}

  void* allocate(std::size_t bytes, std::size_t alignment) {
    return reference_.allocate_node(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) {
    reference_.deallocate_node(p, bytes, alignment);
  }

  static constexpr std::size_t first_bytes = 4096;

 private:
  foonathan::memory::memory_pool<> pool_;
  foonathan::memory::allocator_reference<foonathan::memory::memory_pool<>> reference_{pool_};
};

// The same without checks of sizes, compiled into the program for a source of its own.
class FoonathanInlined : public FreesEach {
 public:
  static constexpr const char* name = "foonathan, inlined";
  static constexpr bool reserves = true;
  FoonathanInlined(Order order, Memory& memory)
      : pool_(order.block_bytes, bytes_of(order), Blocks{&memory}) {}

  void* allocate(std::size_t, std::size_t) { return pool_.allocate_node(); }
  void deallocate(void* p, std::size_t, std::size_t) { pool_.deallocate_node(p); }

 private:
  struct Blocks {  // A "raw allocator".
    using is_stateful = std::true_type;
    void* allocate_node(std::size_t bytes, std::size_t alignment) {
      return memory->acquire(bytes, alignment).data;
    }
    void deallocate_node(void* p, std::size_t bytes, std::size_t) noexcept {
      memory->release({p, bytes});
    }
    Memory* memory;
  };
  using NodePool = foonathan::memory::memory_pool<foonathan::memory::node_pool, Blocks>;

  static std::size_t bytes_of(Order order) {
    if (!order.at_once) return FoonathanPool::first_bytes;
    return NodePool::min_block_size(order.block_bytes, order.blocks);
  }

  NodePool pool_;
};

using PeerContestants = std::tuple<BoostPool, BoostLockedPool, FoonathanPool, FoonathanInlined>;

// Objects, destroyed one by one: Boost keeps the free list in the order of addresses.
template <class T>
class PeerObjects {
 public:
  static constexpr bool is_there = true;
  static constexpr const char* name = "Boost object_pool";
  explicit PeerObjects(Memory& memory) { BoostMemory::memory = &memory; }
  T* create() { return pool_.construct(); }
  void destroy(T* object) { pool_.destroy(object); }

 private:
  boost::object_pool<T, BoostMemory> pool_;
};

}  // namespace tarn
