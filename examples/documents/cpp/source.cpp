// source: reads a file into a node that grows, and checks that it is text.
//
// SPDX-License-Identifier: MIT
#include "source.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "document.hpp"

namespace documents {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The bytes of the UTF-8 letter that begins there; 0 when there is none.
std::size_t letter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first != 0 ? 1 : 0;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_none = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return is_long || is_none ? 0 : bytes;
}

}  // namespace

std::string_view read_source(void* parent, const std::string& path) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) throw Problem(path + ": " + std::strerror(errno));
  std::size_t room = 4096;
  std::size_t length = 0;
  char* text = tarn::tree::create_array<char>(parent, room);
  for (;;) {
    length += std::fread(text + length, 1, room - length, file.get());
    if (std::ferror(file.get()) != 0) throw Problem(path + ": " + std::strerror(errno));
    if (length < room) break;
    room *= 2;
    text = static_cast<char*>(tarn::or_bad_alloc(tarn_tree_reallocate(text, room)));
  }
  tarn_tree_set_static_name(text, "source");
  const std::string_view source(text, length);
  for (std::size_t i = 0, bytes = 0; i < length; i += bytes) {
    bytes = letter(source.substr(i));
    if (bytes == 0) throw Problem(path + ": not UTF-8 at byte " + std::to_string(i));
  }
  return source;
}

}  // namespace documents
