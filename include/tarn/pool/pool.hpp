// pool.hpp: blocks of one size, in C++ (C++17). Header only over tarn/pool/pool.h, which says what
// each function promises; the hit paths are the same.
//
//   tarn::Pool nodes(sizeof(Node));   // raw memory
//   void* p = nodes.allocate();
//
//   tarn::ObjectPool<Node> pool;      // objects
//   Node* node = pool.create(1, "one");
//   pool.destroy(node);         // or nothing: the pool destroys what is left
//
// Functions that allocate throw std::bad_alloc; those that begin with try_ give null instead.
// Without exceptions all give null. One thread at a time.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_POOL_HPP
#define TARN_POOL_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/construct.hpp"
#include "../detail/errors.hpp"
#include "../source/mode.hpp"
#include "../source/source.hpp"
#include "pool.h"

namespace tarn {

// The options of a pool; each field means what it does in tarn_pool_options.
struct PoolOptions {
  const char* name = nullptr;
  std::size_t alignment = 0;
  std::size_t chunk_bytes = 0;
  std::size_t chunk_blocks = 0;
  std::size_t chunk_bytes_max = 0;
  std::size_t reserve_blocks = 0;
  Mode mode = Mode::fast;
  bool keep_chunks = false;
};

// The same for functions of the C interface.
inline tarn_pool_options c_options(std::size_t block_bytes, const tarn_source* source,
                                   const PoolOptions& from) noexcept {
  tarn_pool_options options = TARN_POOL_OPTIONS();
  options.name = from.name;
  options.block_bytes = block_bytes;
  options.alignment = from.alignment;
  options.source = source;
  options.chunk_bytes = from.chunk_bytes;
  options.chunk_blocks = from.chunk_blocks;
  options.chunk_bytes_max = from.chunk_bytes_max;
  options.reserve_blocks = from.reserve_blocks;
  options.mode = static_cast<int>(from.mode);
  options.flags = from.keep_chunks ? unsigned{TARN_POOL_KEEP_CHUNKS} : 0;
  return options;
}

class Pool {
 public:
  // Makes a pool of blocks of `block_bytes` from malloc's heap, or from a source, which must
  // outlive the pool. Throws InvalidOptions, or std::bad_alloc when there is no memory for the
  // reserve. Without exceptions the pool is false as a truth value instead, and never has a block.
  explicit Pool(std::size_t block_bytes, const PoolOptions& options = {}) {
    make(block_bytes, nullptr, options);
  }
  Pool(std::size_t block_bytes, SourceRef source, const PoolOptions& options = {}) {
    make(block_bytes, &source.get(), options);
  }
  ~Pool() { tarn_pool_destroy(&pool_); }

  // The blocks stay where they are and become the new pool's. Linear in the chunks.
  Pool(Pool&& other) noexcept { tarn_pool_move(&pool_, &other.pool_); }
  Pool& operator=(Pool&& other) noexcept {
    if (this != &other) {
      tarn_pool_destroy(&pool_);
      tarn_pool_move(&pool_, &other.pool_);
    }
    return *this;
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  explicit operator bool() const noexcept { return pool_.stride != 0; }

  [[nodiscard]] TARN_NOTES_CALLER void* allocate() {
    return or_bad_alloc(tarn_pool_allocate(&pool_));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate() noexcept {
    return tarn_pool_allocate(&pool_);
  }
  TARN_NOTES_CALLER void deallocate(void* p) noexcept { tarn_pool_deallocate(&pool_, p); }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the pool's
  // blocks have.
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate(std::size_t bytes,
                                                     std::size_t alignment) noexcept {
    if (bytes > pool_.block_bytes || alignment > pool_.alignment) return nullptr;
    return tarn_pool_allocate(&pool_);
  }
  [[nodiscard]] TARN_NOTES_CALLER void* allocate(std::size_t bytes, std::size_t alignment) {
    return or_bad_alloc(try_allocate(bytes, alignment));
  }
  TARN_NOTES_CALLER void deallocate(void* p, std::size_t, std::size_t) noexcept {
    tarn_pool_deallocate(&pool_, p);
  }

  std::size_t block_bytes() const noexcept { return pool_.block_bytes; }
  std::size_t alignment() const noexcept { return pool_.alignment; }
  const char* name() const noexcept { return pool_.name; }

  bool reserve(std::size_t blocks) noexcept { return tarn_pool_reserve(&pool_, blocks) == 0; }
  std::size_t trim() noexcept { return tarn_pool_trim(&pool_); }
  void clear() noexcept { tarn_pool_clear(&pool_); }

  bool owns(const void* p) const noexcept { return tarn_pool_owns(&pool_, p) != 0; }
  bool check() const noexcept { return tarn_pool_check(&pool_) != 0; }

  tarn_pool_stats stats() const noexcept {
    tarn_pool_stats stats = TARN_POOL_STATS();
    tarn_pool_get_stats(&pool_, &stats);
    return stats;
  }

  // Calls visit(block) for each live block (what it may do: tarn_pool_walk), until it returns
  // false if it returns anything. True at the end. It must not throw.
  template <class Visit>
  bool walk(Visit&& visit) noexcept {
    using Decayed = std::remove_reference_t<Visit>;
    const auto each = [](void* block, void* context) noexcept -> int {
      Decayed& call = *static_cast<Decayed*>(context);
      if constexpr (std::is_void_v<decltype(call(block))>) {
        call(block);
        return 0;
      } else {
        return call(block) ? 0 : 1;
      }
    };
    void* const context = const_cast<void*>(static_cast<const void*>(std::addressof(visit)));
    return tarn_pool_walk(&pool_, each, context) == 0;
  }

  // For functions of the C interface.
  tarn_pool* get() noexcept { return &pool_; }

 private:
  void make(std::size_t block_bytes, const tarn_source* source, const PoolOptions& from) {
    tarn_pool_options options = c_options(block_bytes, source, from);
    if (tarn_pool_init(&pool_, &options) == 0) return;
#if defined(__cpp_exceptions)
    // The same without reserving tells which it was.
    options.reserve_blocks = 0;
    if (tarn_pool_init(&pool_, &options) == 0) {
      tarn_pool_destroy(&pool_);
      throw std::bad_alloc();
    }
    throw InvalidOptions(
        "tarn::Pool: block_bytes must not be 0, alignment must be a power of two, chunk_bytes and "
        "chunk_blocks exclude each other, chunk_bytes_max must not be below chunk_bytes");
#endif
  }

  tarn_pool pool_;
};

// A pool of objects of one type. Its destructor destroys the objects that are left, in any order
// and in time linear in their number.
template <class T>
class ObjectPool {
 public:
  explicit ObjectPool(const PoolOptions& options = {}) : pool_(sizeof(T), for_objects(options)) {}
  explicit ObjectPool(SourceRef source, const PoolOptions& options = {})
      : pool_(sizeof(T), source, for_objects(options)) {}
  ~ObjectPool() { destroy_all(); }

  ObjectPool(ObjectPool&&) noexcept = default;
  ObjectPool& operator=(ObjectPool&& other) noexcept {
    if (this != &other) {
      destroy_all();
      pool_ = std::move(other.pool_);
    }
    return *this;
  }

  // Makes a T. When its constructor throws, the memory goes back.
  template <class... Args>
  [[nodiscard]] TARN_NOTES_CALLER T* create(Args&&... args) {
    return construct(pool_.allocate(), std::forward<Args>(args)...);
  }

  // The same, but returns null when there is no memory. It still throws what the constructor
  // throws.
  template <class... Args>
  [[nodiscard]] TARN_NOTES_CALLER T* try_create(Args&&... args) {
    return construct(pool_.try_allocate(), std::forward<Args>(args)...);
  }

  // Destroys an object; null is ignored. During destroy_all() and for_each() an object that has
  // been destroyed in their course is ignored, too.
  TARN_NOTES_CALLER void destroy(T* object) noexcept {
    if (object == nullptr) return;
    // The limit is 0 while the pool is walked.
    if (TARN_UNLIKELY(pool_.get()->limit == 0) &&
        tarn_pool_ended_in_walk(pool_.get(), object) != 0) {
      return;
    }
    object->~T();
    pool_.deallocate(object);
  }

  // Destroys all objects, in any order. Their destructors may destroy other objects of this pool,
  // even if these have gone already, but must not read them. They cannot create objects meanwhile.
  void destroy_all() noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      pool_.clear();
    } else {
      pool_.walk([this](void* block) { destroy(static_cast<T*>(block)); });
    }
  }

  // Calls visit(object) for each object, as Pool::walk does.
  template <class Visit>
  bool for_each(Visit&& visit) noexcept {
    return pool_.walk([&visit](void* block) { return visit(*static_cast<T*>(block)); });
  }

  bool owns(const T* object) const noexcept { return pool_.owns(object); }
  Pool& pool() noexcept { return pool_; }
  const Pool& pool() const noexcept { return pool_; }

 private:
  static PoolOptions for_objects(PoolOptions options) noexcept {
    if (options.alignment < alignof(T)) options.alignment = alignof(T);
    return options;
  }

  template <class... Args>
  TARN_NOTES_CALLER T* construct(void* p, Args&&... args) {
    return construct_in<T>(
        p, [this](void* block) { pool_.deallocate(block); }, std::forward<Args>(args)...);
  }

  Pool pool_;
};

}  // namespace tarn

#endif
#endif
