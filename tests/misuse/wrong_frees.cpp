// What is freed, or resized, and is no block.
//
// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "misuse.hpp"

namespace misuse {

namespace {

// The offset leads into the block, from its start.
template <std::size_t offset>
void inside(std::size_t bytes) {
  give(take(bytes) + offset);
}

constexpr std::size_t sizes_that_have_a_middle[] = {40, 200, 3000, 40'000, 1'000'000};
void in_the_middle(std::size_t bytes) { give(take(bytes) + bytes / 2 / 16 * 16); }
void at_the_last_byte(std::size_t bytes) { give(take(bytes) + bytes - 1); }
void at_the_end(std::size_t bytes) { give(take(bytes) + (bytes + 15) / 16 * 16); }
void before_the_start(std::size_t bytes) { give(take(bytes) - 16); }

void inside_of_a_freed_block(std::size_t bytes) {
  char* const p = take(bytes);
  give(p);
  give(p + 16);
}

void inside_by_another_thread(std::size_t bytes) {
  char* const p = take(bytes);
  elsewhere([=] { give(p + 16); });
}

void inside_by_sized_delete(std::size_t bytes) {
  char* const p = static_cast<char*>(opaque(::operator new(bytes)));
  ::operator delete(opaque(p + 16), bytes - 16);
}

void inside_by_realloc(std::size_t bytes) {
  char* const p = take(bytes);
  watch(opaque(std::realloc(opaque(p + 16), 2 * bytes)), 2 * bytes);
}

void inside_of_aligned(std::size_t bytes) {
  char* const p = static_cast<char*>(opaque(std::aligned_alloc(256, (bytes + 255) / 256 * 256)));
  give(p + 16);
}

// Looks as if a block of the size lay there, with a header as many allocators have.
alignas(64) char on_static[256] = {};
void fake_header(char* memory) {
  const std::uint64_t header = 0x41;
  std::memcpy(memory + 8, &header, sizeof header);
  std::memcpy(memory + 8 + 0x40, &header, sizeof header);
}

void stack(std::size_t) {
  alignas(64) char memory[256] = {};
  give(opaque(memory));
}

void stack_with_header(std::size_t) {
  alignas(64) char memory[256] = {};
  fake_header(memory);
  give(opaque(memory) + 16);
}

void stack_by_realloc(std::size_t bytes) {
  alignas(64) char memory[256] = {};
  watch(opaque(std::realloc(opaque(memory), bytes)), bytes);
}

void stack_by_delete(std::size_t) {
  alignas(64) char memory[256] = {};
  ::operator delete(static_cast<void*>(opaque(memory)));
}

void static_memory(std::size_t) { give(on_static); }
void static_with_header(std::size_t) {
  fake_header(on_static);
  give(on_static + 16);
}
void literal(std::size_t) { give(const_cast<char*>(opaque("a string of the program"))); }
void function(std::size_t) { give(reinterpret_cast<void*>(&give)); }
void small_number(std::size_t) { give(reinterpret_cast<void*>(std::uintptr_t{0x10})); }
void no_address(std::size_t) {
  give(reinterpret_cast<void*>(std::uintptr_t{0xdead'beef'dead'beef}));
}
void minus_one(std::size_t) { give(reinterpret_cast<void*>(~std::uintptr_t{0})); }

char* map(std::size_t bytes) {
  return static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
void mapping(std::size_t bytes) { give(map(bytes)); }
void inside_of_mapping(std::size_t bytes) { give(map(bytes) + 64); }
void program_break(std::size_t bytes) { give(sbrk(static_cast<std::intptr_t>(bytes))); }
void environment(std::size_t) { give(environ[0]); }
void stack_of_a_thread(std::size_t) {
  elsewhere([] {
    alignas(64) char memory[256] = {};
    give(opaque(memory));
  });
}

struct First {
  virtual ~First() = default;
  long number = 0;
};
struct Second {  // Has no virtual destructor.
  long other = 0;
};
struct Both : First, Second {};
void second_base(std::size_t) {
  Second* const second = opaque(new Both);
  delete second;
}

void usable_size_of_stack(std::size_t) {
  alignas(64) char memory[256] = {};
  if (malloc_usable_size(opaque(memory)) > sizeof memory) leaked();
}

constexpr Row rows[] = {
    {"plus_1", inside<1>, sizes_some},
    {"plus_8", inside<8>, sizes_four},
    {"plus_16", inside<16>, sizes_all},
    {"plus_page", inside<4096>, sizes_large},
    {"in_the_middle", in_the_middle, sizes_that_have_a_middle},
    {"at_the_last_byte", at_the_last_byte, sizes_some},
    {"at_the_end", at_the_end, sizes_some},
    {"before_the_start", before_the_start, sizes_some},
    {"inside_of_a_freed_block", inside_of_a_freed_block, sizes_some},
    {"inside_by_another_thread", inside_by_another_thread, sizes_some},
    {"inside_by_sized_delete", inside_by_sized_delete, sizes_some},
    {"inside_by_realloc", inside_by_realloc, sizes_some},
    {"inside_of_aligned", inside_of_aligned, size_small},
    {"stack", stack, size_small},
    {"stack_with_header", stack_with_header, size_small},
    {"stack_by_realloc", stack_by_realloc, size_small},
    {"stack_by_delete", stack_by_delete, size_small},
    {"stack_of_a_thread", stack_of_a_thread, size_small},
    {"static", static_memory, size_small},
    {"static_with_header", static_with_header, size_small},
    {"literal", literal, size_small},
    {"function", function, size_small},
    {"small_number", small_number, size_small},
    {"no_address", no_address, size_small},
    {"minus_one", minus_one, size_small},
    {"mapping", mapping, sizes_large},
    {"inside_of_mapping", inside_of_mapping, size_small},
    {"program_break", program_break, size_small},
    {"environment", environment, size_small},
    {"second_base", second_base, size_small},
    {"usable_size_of_stack", usable_size_of_stack, size_small},
};

}  // namespace

const Family wrong_frees{"wrong_free", rows};

}  // namespace misuse
