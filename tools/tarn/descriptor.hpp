// descriptor: one open file, closed by its owner; the programs that tarn starts never inherit it.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <utility>

namespace tarn {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  void reset() noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace tarn
