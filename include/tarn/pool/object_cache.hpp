// object_cache.hpp: a cache of objects that are expensive to build, in C++ (C++17). Header only
// over tarn/pool/object_cache.h, which says what each function promises.
//
//   tarn::ObjectCache<Parser> parsers;
//   {
//     auto parser = parsers.borrow();   // built, or as the last user left it
//     parser->run(text);
//   }                                   // given back: parsers.give(p) without a Lease
//
// SPDX-License-Identifier: MIT
#ifndef TARN_OBJECT_CACHE_HPP
#define TARN_OBJECT_CACHE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "../detail/construct.hpp"
#include "../detail/errors.hpp"
#include "object_cache.h"
#include "pool.hpp"

namespace tarn {

template <class T>
class ObjectCache {
 public:
  // idle_max: the most idle objects that are kept built; 0: no limit. Throws as tarn::Pool does.
  explicit ObjectCache(std::size_t idle_max = 0, const PoolOptions& objects = {}) {
    make(idle_max, nullptr, objects);
  }
  ObjectCache(SourceRef source, std::size_t idle_max = 0, const PoolOptions& objects = {}) {
    make(idle_max, &source.get(), objects);
  }
  ~ObjectCache() { tarn_object_cache_destroy(&cache_); }
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // Takes an idle object as it is, or a new one that is built from these arguments. Throws
  // std::bad_alloc, and what the constructor throws.
  template <class... Args>
  [[nodiscard]] TARN_NOTES_CALLER T* take(Args&&... args) {
    if (cache_.idle != nullptr) return static_cast<T*>(tarn_object_cache_take(&cache_));
    T* const object = construct_in<T>(
        or_bad_alloc(tarn_object_cache_allocate(&cache_)),
        [this](void* p) { tarn_object_cache_deallocate(&cache_, p); }, std::forward<Args>(args)...);
    if (object != nullptr) cache_.misses += 1;  // Null: without exceptions.
    return object;
  }

  // Gives an object back to be taken again; null is ignored. It is destroyed when idle_max objects
  // are idle already.
  TARN_NOTES_CALLER void give(T* object) noexcept { tarn_object_cache_give(&cache_, object); }

  // An object for as long as the lease lives.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : cache_(other.cache_), object_(std::exchange(other.object_, nullptr)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(cache_, other.cache_);
      std::swap(object_, other.object_);
      return *this;
    }
    ~Lease() { cache_->give(object_); }
    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }

   private:
    friend ObjectCache;
    Lease(ObjectCache* cache, T* object) noexcept : cache_(cache), object_(object) {}
    ObjectCache* cache_;
    T* object_;
  };
  template <class... Args>
  [[nodiscard]] TARN_NOTES_CALLER Lease borrow(Args&&... args) {
    return Lease(this, take(std::forward<Args>(args)...));
  }

  // Destroys idle objects until at most `keep` are left. Returns how many it destroyed.
  std::size_t trim(std::size_t keep = 0) noexcept { return tarn_object_cache_trim(&cache_, keep); }

  std::size_t idle() const noexcept { return cache_.idle_count; }
  std::uint64_t hits() const noexcept { return cache_.hits; }
  std::uint64_t misses() const noexcept { return cache_.misses; }
  bool check() const noexcept { return tarn_pool_check(&cache_.pool) != 0; }

 private:
  void make(std::size_t idle_max, const tarn_source* source, const PoolOptions& from) {
    tarn_object_cache_options options = TARN_OBJECT_CACHE_OPTIONS();
    options.idle_max = idle_max;
    options.destruct = [](void* object, void*) { static_cast<T*>(object)->~T(); };
    options.objects = c_options(sizeof(T), source, from);
    if (options.objects.alignment < alignof(T)) options.objects.alignment = alignof(T);
    if (tarn_object_cache_init(&cache_, &options) == 0) return;
#if defined(__cpp_exceptions)
    // If it works without the reserve, there was no memory; else the options are invalid.
    options.objects.reserve_blocks = 0;
    if (tarn_object_cache_init(&cache_, &options) == 0) {
      tarn_object_cache_destroy(&cache_);
      throw std::bad_alloc();
    }
    throw InvalidOptions("tarn::ObjectCache: see tarn::Pool for what its options must be");
#endif
  }

  tarn_object_cache cache_;
};

}  // namespace tarn

#endif
#endif
