// Makers: who makes the heaps and serves the blocks that are measured. Each is a class of static
// functions, so that a task is compiled once for each and differs in nothing else.
//
// Libraries are opened by dlopen and called through pointers; malloc itself stays glibc's, so the
// program around the heaps is the same whoever is measured.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <string_view>

#include "../meter/process.h"
#include "tarn/heap/heap.h"

namespace tarn {

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) fail_with("the library lacks ", name);
}

inline void* open_library(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail_with("cannot open the library: ", dlerror());
  return library;
}

// One malloc for all: the heap is nothing, and ends by nothing.
struct OneMalloc {
  struct Heap {};
  static constexpr bool has_heaps = false;
  static constexpr bool is_confined = false;
  static Heap create() { return {}; }
  static void destroy(Heap) {}
};

struct Glibc : OneMalloc {
  static void open(const char*) {}
  static void* allocate(Heap, std::size_t bytes) { return std::malloc(bytes); }
  static void deallocate(void* p) { std::free(p); }
  static void trim() { malloc_trim(0); }
};

struct TarnMalloc : OneMalloc {
  static void open(const char* path) {
    void* const library = open_library(path);
    find(library, "tarn_malloc", malloc_);
    find(library, "tarn_free", free_);
    find(library, "tarn_malloc_trim", trim_);
  }
  static void* allocate(Heap, std::size_t bytes) { return malloc_(bytes); }
  static void deallocate(void* p) { free_(p); }
  static void trim() { trim_(0); }

 private:
  inline static void* (*malloc_)(std::size_t);
  inline static void (*free_)(void*);
  inline static int (*trim_)(std::size_t);
};

// A heap each, in one of the three modes.
template <int threads>
struct TarnHeaps {
  using Heap = tarn_heap;
  static constexpr bool has_heaps = true;
  static constexpr bool is_confined = threads == TARN_HEAP_CONFINED;
  static void open(const char* path) {
    void* const library = open_library(path);
    find(library, "tarn_heap_create", create_);
    find(library, "tarn_heap_destroy", destroy_);
    find(library, "tarn_heap_allocate", allocate_);
    find(library, "tarn_heap_deallocate", deallocate_);
    find(library, "tarn_malloc_trim", trim_);
  }
  static Heap create() {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.threads = threads;
    return create_(threads == TARN_HEAP_SHARED ? nullptr : &options);
  }
  static void destroy(Heap heap) { destroy_(heap); }
  static void* allocate(Heap heap, std::size_t bytes) { return allocate_(heap, bytes); }
  static void deallocate(void* p) { deallocate_(p); }
  static void trim() { trim_(0); }

 private:
  inline static decltype(&tarn_heap_create) create_;
  inline static decltype(&tarn_heap_destroy) destroy_;
  inline static decltype(&tarn_heap_allocate) allocate_;
  inline static decltype(&tarn_heap_deallocate) deallocate_;
  inline static int (*trim_)(std::size_t);
};

// Blocks of one exact size: the first size that is asked for is the size of all.
struct TarnFixed : TarnHeaps<TARN_HEAP_SHARED> {
  using Base = TarnHeaps<TARN_HEAP_SHARED>;
  struct Heap {
    tarn_heap heap;
    tarn_fixed fixed;
  };
  static constexpr std::size_t block_bytes = 48;
  static void open(const char* path) {
    Base::open(path);
    void* const library = open_library(path);
    find(library, "tarn_heap_fixed", make_fixed_);
    find(library, "tarn_fixed_allocate", allocate_fixed_);
  }
  static Heap create() {
    const tarn_heap heap = Base::create();
    return {heap, make_fixed_(heap, block_bytes, 16)};
  }
  static void destroy(Heap heap) { Base::destroy(heap.heap); }
  static void* allocate(const Heap& heap, std::size_t) { return allocate_fixed_(heap.fixed); }

 private:
  inline static decltype(&tarn_heap_fixed) make_fixed_;
  inline static decltype(&tarn_fixed_allocate) allocate_fixed_;
};

struct MimallocMalloc : OneMalloc {
  static void open(const char* path) {
    void* const library = open_library(path);
    find(library, "mi_malloc", malloc_);
    find(library, "mi_free", free_);
    find(library, "mi_collect", collect_);
  }
  static void* allocate(Heap, std::size_t bytes) { return malloc_(bytes); }
  static void deallocate(void* p) { free_(p); }
  static void trim() { collect_(true); }

 private:
  inline static void* (*malloc_)(std::size_t);
  inline static void (*free_)(void*);
  inline static void (*collect_)(bool);
};

struct MimallocHeaps {
  using Heap = void*;
  static constexpr bool has_heaps = true;
  static constexpr bool is_confined = false;
  static void open(const char* path) {
    void* const library = open_library(path);
    find(library, "mi_heap_new", create_);
    find(library, "mi_heap_destroy", destroy_);
    find(library, "mi_heap_malloc", allocate_);
    find(library, "mi_free", free_);
    find(library, "mi_collect", collect_);
  }
  static Heap create() { return create_(); }
  static void destroy(Heap heap) { destroy_(heap); }
  static void* allocate(Heap heap, std::size_t bytes) { return allocate_(heap, bytes); }
  static void deallocate(void* p) { free_(p); }
  static void trim() { collect_(true); }

 private:
  inline static void* (*create_)();
  inline static void (*destroy_)(void*);
  inline static void* (*allocate_)(void*, std::size_t);
  inline static void (*free_)(void*);
  inline static void (*collect_)(bool);
};

// Calls body.run<Maker>() for the maker of this name; false if there is none.
template <class Body>
bool with_maker(std::string_view name, const char* library, Body&& body) {
  const auto call = [&]<class Maker>(Maker) {
    Maker::open(library);
    body.template run<Maker>();
    return true;
  };
  if (name == "glibc") return call(Glibc{});
  if (name == "tarn-malloc") return call(TarnMalloc{});
  if (name == "tarn") return call(TarnHeaps<TARN_HEAP_SHARED>{});
  if (name == "tarn-serialised") return call(TarnHeaps<TARN_HEAP_SERIALISED>{});
  if (name == "tarn-confined") return call(TarnHeaps<TARN_HEAP_CONFINED>{});
  if (name == "tarn-fixed") return call(TarnFixed{});
  if (name == "mimalloc3-malloc") return call(MimallocMalloc{});
  if (name == "mimalloc3") return call(MimallocHeaps{});
  return false;
}

template <class Maker>
void* take(const typename Maker::Heap& heap, std::size_t bytes) {
  void* const p = Maker::allocate(heap, bytes);
  if (p == nullptr) fail("out of memory: use a smaller size");
  return p;
}

}  // namespace tarn
