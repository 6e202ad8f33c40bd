// misuse: see misuse.hpp.
//
//   misuse --list           family/name/bytes, a line each
//   misuse FAMILY/NAME/BYTES
//
// SPDX-License-Identifier: MIT
#include "misuse.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace misuse {

namespace {

constexpr const Family* families[] = {&double_frees,    &wrong_frees, &overruns,   &underruns,
                                      &uses_after_free, &leftovers,   &mismatches, &c_strings};

struct Watched {
  unsigned char* block;
  std::size_t bytes;
  unsigned char byte;
};

std::vector<Watched> watched;
bool has_leaked = false;

bool is_intact(const Watched& each) {
  for (std::size_t i = 0; i < each.bytes; ++i) {
    if (each.block[i] != each.byte) return false;
  }
  return true;
}

bool all_intact() {
  for (const Watched& each : watched) {
    if (!is_intact(each)) return false;
  }
  return true;
}

// What a program has before it makes a mistake: blocks of many sizes, and holes between them.
void begin() {
  watched.reserve(4096);
  std::vector<void*> holes;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t bytes = 8 + i * 37 % 4000;
    if (i % 4 == 0) {
      holes.push_back(take(bytes));
    } else {
      watch(take(bytes), bytes);
    }
  }
  for (void* hole : holes) give(hole);
}

// Goes on after a mistake with a block of so many bytes: takes blocks of this size and of others,
// frees half of them, and takes again.
bool go_on(std::size_t bytes) {
  for (std::size_t round = 0; round < 4; ++round) {
    const std::size_t first = watched.size();
    for (std::size_t i = 0; i < 40; ++i) {
      const std::size_t others = 8 + i * 131 % 3000;
      watch(take(bytes), bytes);
      watch(take(others), others);
    }
    if (!all_intact()) return false;
    for (std::size_t i = first; i < watched.size(); ++i) {
      give(watched[i].block);
      watched[i] = watched.back();
      watched.pop_back();
    }
  }
  if (!all_intact()) return false;
  for (const Watched& each : watched) give(each.block);
  return true;
}

int run(const Row& row, std::size_t bytes) {
  begin();
  row.mistake(bytes);
  if (!go_on(bytes)) return static_cast<int>(Outcome::harmed);
  return static_cast<int>(has_leaked ? Outcome::leaked : Outcome::unharmed);
}

std::string name_of(const Family& family, const Row& row, std::size_t bytes) {
  return std::string(family.name) + "/" + row.name + "/" + std::to_string(bytes);
}

}  // namespace

void watch(void* block, std::size_t bytes) {
  static unsigned char next = 0;
  const Watched each{static_cast<unsigned char*>(block), bytes, ++next};
  std::memset(block, each.byte, bytes);
  watched.push_back(each);
}

void leaked() { has_leaked = true; }

void look_for_secret(const char* bytes, std::size_t count) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += opaque(bytes)[i] == secret_byte ? 1 : 0;
  if (2 * found >= count) leaked();
}

}  // namespace misuse

int main(int argc, char** argv) {
  using namespace misuse;
  const std::string wanted = argc == 2 ? argv[1] : "";
  for (const Family* family : families) {
    for (const Row& row : family->rows) {
      for (const std::size_t bytes : row.sizes) {
        const std::string name = name_of(*family, row, bytes);
        if (wanted == "--list") std::puts(name.c_str());
        if (wanted == name) return run(row, bytes);
      }
    }
  }
  if (wanted == "--list") return 0;
  std::fputs("usage: misuse --list, or misuse FAMILY/NAME/BYTES, one that it lists\n", stderr);
  return 2;
}
