// replay: the entry of a target as a plain test, with any compiler: a fixed series of made-up
// inputs, then the files of the corpus.
//
//   fuzz_X COUNT|FIRST-LAST BYTES [FILE OR FOLDER]...
//
// FIRST-LAST are numbers of made-up inputs, which begin with 1.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "input.hpp"

namespace {

// Weyl sequence through a 64-bit mixer: the same numbers everywhere.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93;
    return z ^ z >> 32;
  }

 private:
  std::uint64_t state_;
};

void run_made_up(std::uint64_t seed, std::size_t bytes_max) {
  Sequence sequence(seed);
  std::vector<std::uint8_t> input(sequence.next() % bytes_max + 1);
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(sequence.next() >> 56);
  tarn::fuzz::run(input.data(), input.size());
}

void run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::uint8_t> input(text.size());
  if (!text.empty()) std::memcpy(input.data(), text.data(), text.size());
  tarn::fuzz::run(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s COUNT|FIRST-LAST BYTES [FILE OR FOLDER]...\n", argv[0]);
    return 2;
  }
  char* end = argv[1];
  std::uint64_t first = 1;
  std::uint64_t last = std::strtoull(argv[1], &end, 10);
  if (*end == '-') {
    first = last;
    last = std::strtoull(end + 1, &end, 10);
  }
  const std::size_t bytes_max = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed <= last; ++seed) run_made_up(seed, bytes_max);

  std::size_t files = 0;
  for (int i = 3; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      run_file(argv[i]);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      run_file(entry.path());
      ++files;
    }
  }
  std::printf("%llu made-up inputs, %zu files, %llu steps\n",
              static_cast<unsigned long long>(last + 1 - first), files,
              static_cast<unsigned long long>(tarn::fuzz::steps_begun));
  return 0;
}
