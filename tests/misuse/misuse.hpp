// misuse: programs that misuse the heap, one a run. Each is a small program with some blocks of its
// own, which makes one mistake, goes on as if nothing had happened, and looks whether that is so.
//
// How a run ends: by a signal, when the allocator or the processor stopped it; else the exit status
// is an Outcome.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>

namespace misuse {

enum class Outcome : int {
  unharmed = 0,  // Nothing of the program's own has changed.
  harmed = 3,    // A block of the program's has lost its contents, or two blocks overlap.
  leaked = 4,    // The mistake read what it should not have seen.
};

struct Row {
  const char* name;
  void (*mistake)(std::size_t bytes);
  std::span<const std::size_t> sizes;
};

struct Family {
  const char* name;
  std::span<const Row> rows;
};

extern const Family double_frees;
extern const Family wrong_frees;
extern const Family overruns;
extern const Family underruns;
extern const Family uses_after_free;
extern const Family leftovers;  // What a former block leaves behind.
extern const Family mismatches;
extern const Family c_strings;

// Sizes that most mistakes are made with: a small block, one of some hundred bytes, one of a page,
// one of ten, and one that is large for every allocator.
inline constexpr std::size_t size_small[] = {24};
inline constexpr std::size_t sizes_some[] = {24, 1000};
inline constexpr std::size_t sizes_four[] = {24, 200, 3000, 40'000};
inline constexpr std::size_t sizes_all[] = {24, 200, 3000, 40'000, 1'000'000};
inline constexpr std::size_t sizes_large[] = {40'000, 1'000'000};

// The same pointer, of which the compiler knows nothing any more.
template <class T>
T* opaque(T* p) noexcept {
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

inline char* take(std::size_t bytes) { return static_cast<char*>(opaque(std::malloc(bytes))); }
inline void give(void* p) { std::free(opaque(p)); }

// A block whose bytes all are `byte`.
inline char* take_filled(std::size_t bytes, int byte) {
  return static_cast<char*>(std::memset(take(bytes), byte, bytes));
}

// Blocks that the program goes on to use: each must keep what it holds. Looked at by go_on().
void watch(void* block, std::size_t bytes);

// The program says that a read gave it the bytes of a secret.
void leaked();

// It ends, since malloc gave it, or it called, what an attacker chose.
[[noreturn]] inline void harmed() { std::exit(static_cast<int>(Outcome::harmed)); }

inline constexpr int secret_byte = 0x5e;
inline constexpr int other_byte = 0x27;

// Notes a leak when at least half of the bytes are the secret's.
void look_for_secret(const char* bytes, std::size_t count);

// In a thread of its own, to its end.
template <class Work>
void elsewhere(Work work) {
  std::thread(work).join();
}

}  // namespace misuse
