// symbolize_subject: a program with a double free, a frame that is inlined, and debug information.
// The tests know its lines by their words.
// SPDX-License-Identifier: MIT
#include <cstdlib>

namespace {

struct Row {
  char* text;

  void fill(std::size_t bytes) {
    text = static_cast<char*>(std::malloc(bytes));  // Row::fill
  }
};

[[gnu::noinline]] void drop(Row& row) {
  std::free(row.text);  // drop
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] Row* make(std::size_t bytes) {
  static Row row;
  row.fill(bytes);  // make
  asm volatile("" ::: "memory");
  return &row;
}

}  // namespace

int main() {
  Row* const row = make(24);
  drop(*row);  // first
  drop(*row);  // second
  return 0;
}
