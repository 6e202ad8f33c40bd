// module: which executable or library an address lies in. For reports: no allocation, and no
// dladdr, which would have to be in the program.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "platform/os/code.hpp"
#include "platform/os/linux/modules.hpp"
#include "platform/os/linux/uncancelled.hpp"

namespace tarn::os {

namespace {

void put_name(char* to, std::size_t bytes, const char* path) noexcept {
  const char* const slash = strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  std::size_t length = strlen(name);
  if (length >= bytes) length = bytes - 1;
  memcpy(to, name, length);
  to[length] = '\0';
}

// Tells paths apart, in place of a copy on a stack that may be small.
std::uint64_t hash_of(const char* path) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo).
  for (; *path != '\0'; ++path) hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3;
  return hash;
}

// start-end rights offset device inode path. A module's lines follow each other.
bool find_in(Lines& lines, std::uintptr_t address, ModulePlace* place) noexcept {
  std::uint64_t module = 0;
  std::uintptr_t begin = 0;
  while (lines.next(place->line)) {
    const char* text = place->line;
    const std::uintptr_t start = read_hexadecimal(&text);
    if (*text == '-') ++text;
    const std::uintptr_t end = read_hexadecimal(&text);
    place->path = strchr(text, '/');
    const std::uint64_t hash = place->path == nullptr ? module : hash_of(place->path);
    if (hash != module) begin = start;
    module = hash;
    if (address < start || address >= end) continue;
    place->offset = address - begin;
    return place->path != nullptr;
  }
  return false;
}

}  // namespace

bool find_place(const void* address, ModulePlace* place) noexcept {
  const Uncancelled uncancelled;
  const int saved = errno;
  const int file = open_maps();
  bool found = false;
  if (file >= 0) {
    Lines lines(file);
    found = find_in(lines, reinterpret_cast<std::uintptr_t>(address), place);
    close(file);
  }
  errno = saved;
  return found;
}

bool find_module(const void* address, char* name, std::size_t bytes,
                 std::uintptr_t* offset) noexcept {
  ModulePlace place;
  if (!find_place(address, &place)) return false;
  put_name(name, bytes, place.path);
  *offset = place.offset;
  return true;
}

}  // namespace tarn::os
