// Blocks that are used after they were freed, and what a freed block leaves to the next.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <new>
#include <vector>

#include "misuse.hpp"

namespace misuse {

namespace {

char* freed(std::size_t bytes) {
  char* const p = take_filled(bytes, secret_byte);
  give(p);
  return opaque(p);
}

void write_first(std::size_t bytes) { freed(bytes)[0] = 1; }
void write_last(std::size_t bytes) { freed(bytes)[bytes - 1] = 1; }
void write_all(std::size_t bytes) { std::memset(freed(bytes), other_byte, bytes); }

// Into whoever has the memory now.
void write_after_reuse(std::size_t bytes) {
  char* const p = freed(bytes);
  for (int i = 0; i < 40; ++i) watch(take(bytes), bytes);
  std::memset(opaque(p), other_byte, bytes < 64 ? bytes : 64);
}

void write_by_another_thread(std::size_t bytes) {
  char* const p = freed(bytes);
  elsewhere([=] { opaque(p)[0] = 1; });
}

void write_after_another_thread_freed(std::size_t bytes) {
  char* const p = take(bytes);
  elsewhere([=] { give(p); });
  std::memset(opaque(p), other_byte, bytes);
}

void write_after_realloc(std::size_t bytes) {
  char* const p = take(bytes);
  char* const next = take(bytes);  // In the way, so that p moves.
  char* const moved = static_cast<char*>(opaque(std::realloc(p, 8 * bytes)));
  watch(moved, 8 * bytes);
  give(next);
  if (moved != p) std::memset(opaque(p), other_byte, bytes);
}

void read(std::size_t bytes) {
  const char* const p = freed(bytes);
  look_for_secret(p + bytes / 2, bytes / 2);
}

void read_after_reuse(std::size_t bytes) {
  const char* const p = freed(bytes);
  for (int i = 0; i < 40; ++i) watch(take_filled(bytes, secret_byte), bytes);
  for (int i = 0; i < 40; ++i) take_filled(bytes, secret_byte);
  look_for_secret(p + bytes / 2, bytes / 2);
}

void read_after_realloc(std::size_t bytes) {
  char* const p = take_filled(bytes, secret_byte);
  char* const next = take(bytes);
  void* const moved = opaque(std::realloc(p, 8 * bytes));
  if (moved != p) look_for_secret(p + bytes / 2, bytes / 2);
  give(moved);
  give(next);
}

// Where a freed block's first word leads to the next one, a write there chooses what malloc
// returns.
alignas(64) std::array<char, 4096> target{};

void lead_to_target(char* freed_block) {
  char* const where = target.data() + 64;
  std::memcpy(opaque(freed_block), &where, sizeof where);
}

void take_until_target(std::size_t bytes, int count) {
  for (int i = 0; i < count; ++i) {
    char* const p = take(bytes);
    if (p >= target.data() && p < target.data() + target.size()) harmed();
    watch(p, bytes);
  }
}

void list_to_target(std::size_t bytes) {
  char* const first = take(bytes);
  char* const second = take(bytes);
  give(first);
  give(second);
  lead_to_target(second);
  take_until_target(bytes, 100);
}

// As that, of the last block of a list that others follow.
void list_end_to_target(std::size_t bytes) {
  std::vector<char*> blocks;
  for (int i = 0; i < 30; ++i) blocks.push_back(take(bytes));
  for (char* const each : blocks) give(each);
  lead_to_target(blocks[0]);
  take_until_target(bytes, 200);
}

struct Shape {
  virtual ~Shape() = default;
  virtual int corners() const { return 4; }
  std::array<char, 40> name{};
};

void call_virtual(std::size_t) {
  Shape* const shape = opaque(new Shape);
  delete shape;
  if (opaque(shape)->corners() == 4) leaked();
}

int chosen_by_the_attacker(const void*) { harmed(); }

void call_virtual_after_reuse(std::size_t) {
  static void* table[4] = {};
  for (void*& entry : table) entry = reinterpret_cast<void*>(&chosen_by_the_attacker);
  Shape* const shape = opaque(new Shape);
  delete shape;
  for (int i = 0; i < 40; ++i) {
    void* const now = take(sizeof(Shape));
    void** const first = table;
    std::memcpy(now, &first, sizeof first);
  }
  static_cast<void>(opaque(shape)->corners());
}

constexpr Row use_rows[] = {
    {"write_first", write_first, sizes_all},
    {"write_last", write_last, sizes_four},
    {"write_all", write_all, sizes_all},
    {"write_after_reuse", write_after_reuse, sizes_four},
    {"write_by_another_thread", write_by_another_thread, sizes_some},
    {"write_after_another_thread_freed", write_after_another_thread_freed, sizes_some},
    {"write_after_realloc", write_after_realloc, sizes_four},
    {"read", read, sizes_all},
    {"read_after_reuse", read_after_reuse, sizes_four},
    {"read_after_realloc", read_after_realloc, sizes_some},
    {"list_to_target", list_to_target, sizes_four},
    {"list_end_to_target", list_end_to_target, sizes_some},
    {"call_virtual", call_virtual, size_small},
    {"call_virtual_after_reuse", call_virtual_after_reuse, size_small},
};

void in_a_new_block(std::size_t bytes) {
  freed(bytes);
  for (int i = 0; i < 40; ++i) {
    const char* const p = take(bytes);
    look_for_secret(p + bytes / 2, bytes / 2);
  }
}

void in_a_grown_block(std::size_t bytes) {
  freed(4 * bytes);
  for (int i = 0; i < 40; ++i) {
    char* const p = static_cast<char*>(opaque(std::realloc(take_filled(bytes, 1), 4 * bytes)));
    look_for_secret(p + 2 * bytes, 2 * bytes);
  }
}

void in_another_thread(std::size_t bytes) {
  freed(bytes);
  elsewhere([=] {
    for (int i = 0; i < 40; ++i) look_for_secret(take(bytes) + bytes / 2, bytes / 2);
  });
}

constexpr Row leftover_rows[] = {
    {"in_a_new_block", in_a_new_block, sizes_four},
    {"in_a_grown_block", in_a_grown_block, sizes_some},
    {"in_another_thread", in_another_thread, size_small},
};

}  // namespace

const Family uses_after_free{"use_after_free", use_rows};
const Family leftovers{"leftover", leftover_rows};

}  // namespace misuse
