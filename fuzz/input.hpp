// input: the bytes of one fuzz input, read as numbers, and the check that a body makes. Each target
// is one file that defines run(); libfuzzer.cpp and replay.cpp call it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tarn::fuzz {

// Runs one input to its end; a broken promise ends the process. What it takes, it gives back.
void run(const std::uint8_t* data, std::size_t size);

inline std::uint64_t steps_begun = 0;  // By all inputs so far.

// Reads past the end give zeros, so that every input is a whole program.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  // Asked at the head of a body's loop.
  bool has_step() {
    if (!empty()) ++steps_begun;
    return !empty();
  }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : *at_++; }

  std::uint64_t number(unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value = value << 8 | byte();
    return value;
  }

  // pre: count > 0
  std::size_t below(std::size_t count) {
    const unsigned bytes = count <= 256 ? 1 : count <= 65536 ? 2 : 4;
    return static_cast<std::size_t>(number(bytes) % count);
  }

  // Of any magnitude up to `bits` bits, each magnitude as likely as the others.
  std::uint64_t magnitude(unsigned bits) {
    const unsigned shift = 64 - (byte() % bits + 1);
    return number(8) >> shift;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// The body of most targets: a model of what is tested, which takes steps until the input ends.
template <class Model>
void run_model(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Model model(input);
  while (input.has_step()) model.step(input);
}

[[noreturn]] inline void broken(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, condition);
  std::abort();
}

}  // namespace tarn::fuzz

#define TARN_REQUIRE(condition) \
  ((condition) ? (void)0 : ::tarn::fuzz::broken(#condition, __FILE__, __LINE__))
