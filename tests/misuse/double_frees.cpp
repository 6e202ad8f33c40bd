// Blocks that are freed twice. After some, both calls that follow could be given the same block.
//
// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <new>
#include <vector>

#include "misuse.hpp"

namespace misuse {

namespace {

void immediate(std::size_t bytes) {
  char* const p = take(bytes);
  give(p);
  give(p);
}

void after_another(std::size_t bytes) {
  char* const p = take(bytes);
  char* const q = take(bytes);
  give(p);
  give(q);
  give(p);
}

void after_many(std::size_t bytes) {
  char* const p = take(bytes);
  std::vector<char*> others;
  for (int i = 0; i < 100; ++i) others.push_back(take(bytes));
  give(p);
  for (char* const other : others) give(other);
  give(p);
}

// The second free takes the block from whoever has it now.
void after_reuse(std::size_t bytes) {
  char* const p = take(bytes);
  give(p);
  char* const now = take(bytes);
  watch(now, bytes);
  give(p);
}

void after_work(std::size_t bytes) {
  char* const p = take(bytes);
  give(p);
  for (std::size_t i = 0; i < 5000; ++i) give(take(8 + i * 7 % 2000));
  give(p);
}

void by_another_thread(std::size_t bytes) {
  char* const p = take(bytes);
  elsewhere([=] { give(p); });
  give(p);
}

void first_by_another_thread(std::size_t bytes) {
  char* const p = take(bytes);
  give(p);
  elsewhere([=] { give(p); });
}

void twice_by_another_thread(std::size_t bytes) {
  char* const p = take(bytes);
  elsewhere([=] {
    give(p);
    give(p);
  });
}

void of_an_ended_thread(std::size_t bytes) {
  char* p = nullptr;
  elsewhere([&] { p = take(bytes); });
  give(p);
  give(p);
}

void by_delete(std::size_t bytes) {
  void* const p = opaque(::operator new(bytes));
  ::operator delete(opaque(p));
  ::operator delete(opaque(p));
}

void by_sized_delete(std::size_t bytes) {
  void* const p = opaque(::operator new(bytes));
  ::operator delete(opaque(p), bytes);
  ::operator delete(opaque(p), bytes);
}

void by_array_delete(std::size_t bytes) {
  char* const p = opaque(new char[bytes]);
  delete[] opaque(p);
  delete[] opaque(p);
}

void by_free_after_delete(std::size_t bytes) {
  void* const p = opaque(::operator new(bytes));
  ::operator delete(opaque(p));
  give(p);
}

void after_realloc(std::size_t bytes) {
  char* const p = take(bytes);
  char* const next = take(bytes);  // In the way, so that p moves.
  void* const moved = opaque(std::realloc(p, 4 * bytes));
  give(p);
  give(next);
  if (moved != p) give(moved);
}

void after_realloc_to_nothing(std::size_t bytes) {
  char* const p = take(bytes);
  static_cast<void>(opaque(std::realloc(p, 0)));
  give(p);
}

void by_realloc(std::size_t bytes) {
  char* const p = take(bytes);
  give(p);
  watch(opaque(std::realloc(opaque(p), bytes + bytes / 2)), bytes + bytes / 2);
}

void of_calloc(std::size_t bytes) {
  void* const p = opaque(std::calloc(1, bytes));
  give(p);
  give(p);
}

void of_aligned(std::size_t bytes) {
  void* const p = opaque(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  give(p);
  give(p);
}

void of_page_aligned(std::size_t bytes) {
  void* const p = opaque(memalign(4096, bytes));
  give(p);
  give(p);
}

void all_twice(std::size_t bytes) {
  std::vector<char*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(take(bytes));
  for (char* const each : blocks) give(each);
  for (char* const each : blocks) give(each);
}

constexpr Row rows[] = {
    {"immediate", immediate, sizes_all},
    {"after_another", after_another, sizes_all},
    {"after_many", after_many, sizes_four},
    {"after_reuse", after_reuse, sizes_all},
    {"after_work", after_work, sizes_four},
    {"by_another_thread", by_another_thread, sizes_four},
    {"first_by_another_thread", first_by_another_thread, sizes_some},
    {"twice_by_another_thread", twice_by_another_thread, sizes_some},
    {"of_an_ended_thread", of_an_ended_thread, sizes_some},
    {"by_delete", by_delete, sizes_some},
    {"by_sized_delete", by_sized_delete, sizes_some},
    {"by_array_delete", by_array_delete, size_small},
    {"by_free_after_delete", by_free_after_delete, size_small},
    {"after_realloc", after_realloc, sizes_some},
    {"after_realloc_to_nothing", after_realloc_to_nothing, size_small},
    {"by_realloc", by_realloc, sizes_four},
    {"of_calloc", of_calloc, size_small},
    {"of_aligned", of_aligned, sizes_some},
    {"of_page_aligned", of_page_aligned, size_small},
    {"all_twice", all_twice, sizes_some},
};

}  // namespace

const Family double_frees{"double_free", rows};

}  // namespace misuse
