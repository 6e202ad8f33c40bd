// talloc, as its authors document it: typed calls name a node for where it is made.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>
#include <talloc.h>

#include <tuple>

#include "contestants.hpp"

namespace tarn {

struct Talloc {
  static constexpr const char* name = "talloc";

  static void* root(const Room&) {
    others_bytes() = malloc_bytes();
    return talloc_new(nullptr);
  }
  static void* allocate(void* parent, std::size_t bytes) { return talloc_size(parent, bytes); }
  static void* string(void* parent, const char* text) { return talloc_strdup(parent, text); }
  static bool steal(void* parent, void* node) { return talloc_steal(parent, node) == node; }
  static void* allocate_object(void* parent, std::size_t bytes, Destructor destructor) {
    void* const node = allocate(parent, bytes);
    if (node != nullptr) talloc_set_destructor(node, destructor);
    return node;
  }
  static bool dispose(void* node) { return talloc_free(node) == 0; }

  // Of malloc's blocks, since before there was a root.
  static std::size_t held_bytes(void*) { return malloc_bytes() - others_bytes(); }

 private:
  static std::size_t malloc_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  static std::size_t& others_bytes() {
    static std::size_t bytes = 0;
    return bytes;
  }
};

// All nodes in one pool, made for exactly so many: the best that can be done with one.
struct TallocPool : Talloc {
  static constexpr const char* name = "talloc pool";

  static void* root(const Room& room) {
    static_cast<void>(Talloc::root(room));
    return talloc_pooled_object(nullptr, char, static_cast<unsigned>(room.nodes), room.bytes);
  }
};

using Peers = std::tuple<Talloc, TallocPool>;

}  // namespace tarn
