// symbols: the names of functions, as the symbol tables in the modules' files have them.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/os/code.hpp"
#include "platform/os/linux/modules.hpp"
#include "platform/os/linux/uncancelled.hpp"

namespace tarn::os {

namespace {

// A file, mapped to be read.
class Image {
 public:
  explicit Image(const char* path) noexcept {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat about {};
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      bytes_ = static_cast<std::size_t>(about.st_size);
      start_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
  }
  ~Image() {
    if (start_ != MAP_FAILED) munmap(start_, bytes_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // What lies at an offset, so many of it; null when the file has not so much.
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const noexcept {
    const bool fits = start_ != MAP_FAILED && offset <= bytes_ &&
                      count <= (bytes_ - offset) / sizeof(T) && offset % alignof(T) == 0;
    return fits ? reinterpret_cast<const T*>(static_cast<const char*>(start_) + offset) : nullptr;
  }

 private:
  void* start_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

const Header* header_of(const Image& image) noexcept {
  const auto* const header = image.at<Header>(0);
  const bool is_one = header != nullptr && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                      header->e_phentsize == sizeof(Segment) &&
                      header->e_shentsize == sizeof(Section);
  return is_one ? header : nullptr;
}

// The address for which its first byte in memory was linked.
std::uint64_t first_address(const Image& image, const Header& header) noexcept {
  const auto* const segments = image.at<Segment>(header.e_phoff, header.e_phnum);
  for (unsigned i = 0; segments != nullptr && i != header.e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) return segments[i].p_vaddr & ~std::uint64_t{4095};
  }
  return 0;
}

// All functions, or, in a file that was stripped, those that others may call.
const Section* symbols_of(const Image& image, const Header& header) noexcept {
  const auto* const sections = image.at<Section>(header.e_shoff, header.e_shnum);
  const Section* found = nullptr;
  for (unsigned i = 0; sections != nullptr && i != header.e_shnum; ++i) {
    const bool is_all = sections[i].sh_type == SHT_SYMTAB;
    if (is_all || sections[i].sh_type == SHT_DYNSYM) found = &sections[i];
    if (is_all) break;
  }
  return found;
}

// The function at an address for which the file was linked; null when none is known.
const char* function_at(const Image& image, std::uint64_t address, std::size_t* room) noexcept {
  const Header& header = *header_of(image);
  const Section* const table = symbols_of(image, header);
  if (table == nullptr || table->sh_link >= header.e_shnum) return nullptr;
  const Section& names = image.at<Section>(header.e_shoff, header.e_shnum)[table->sh_link];
  const std::uint64_t count = table->sh_size / sizeof(Symbol);
  const auto* const symbols = image.at<Symbol>(table->sh_offset, count);
  const auto* const text = image.at<char>(names.sh_offset, names.sh_size);
  if (symbols == nullptr || text == nullptr) return nullptr;
  for (std::uint64_t i = 0; i != count; ++i) {
    const Symbol& symbol = symbols[i];
    const bool is_function = (symbol.st_info & 0xf) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (!is_function || address - symbol.st_value >= symbol.st_size) continue;
    if (symbol.st_name >= names.sh_size) return nullptr;
    *room = names.sh_size - symbol.st_name;
    return text + symbol.st_name;
  }
  return nullptr;
}

}  // namespace

bool find_function(const void* address, char* name, std::size_t bytes) noexcept {
  const Uncancelled uncancelled;
  const int saved = errno;
  ModulePlace place;
  bool found = false;
  if (find_place(address, &place)) {
    const Image image(place.path);
    const Header* const header = header_of(image);
    std::size_t room = 0;
    const char* const text =
        header == nullptr ? nullptr
                          : function_at(image, first_address(image, *header) + place.offset, &room);
    const std::size_t length = text == nullptr ? 0 : strnlen(text, room);
    found = length != 0 && length < bytes && length < room;
    if (found) memcpy(name, text, length + 1);
  }
  errno = saved;
  return found;
}

}  // namespace tarn::os
