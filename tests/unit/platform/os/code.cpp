// The names of functions, from files that are whole, cut short, damaged or gone: a name is right,
// or there is none.
//
// SPDX-License-Identifier: MIT
#include "platform/os/code.hpp"

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

// Not in the table of what others may call.
extern "C" [[gnu::noinline, gnu::visibility("hidden")]] int tarn_test_named_function() {
  static volatile int calls;
  calls = calls + 1;
  return calls;
}

namespace tarn {
namespace {

constexpr const char* known_name = "tarn_test_named_function";

// A copy of this program, mapped, whose file a test changes.
class NamedFunctions : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream program("/proc/self/exe", std::ios::binary | std::ios::ate);
    bytes_.resize(static_cast<std::size_t>(program.tellg()));
    program.seekg(0);
    ASSERT_TRUE(program.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size())));
    const int file = mkstemp(path_);
    ASSERT_GE(file, 0);
    write(bytes_.data(), bytes_.size());
    map_ = mmap(nullptr, bytes_.size(), PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    ASSERT_NE(map_, MAP_FAILED);
    char module[100];
    std::uintptr_t offset = 0;
    const void* const code = reinterpret_cast<const void*>(&tarn_test_named_function);
    ASSERT_TRUE(os::find_module(code, module, sizeof module, &offset));
    ASSERT_LT(offset, bytes_.size());
    address_ = static_cast<char*>(map_) + offset;
    ASSERT_EQ(name(), known_name);
  }
  void TearDown() override {
    munmap(map_, bytes_.size());
    unlink(path_);
  }

  // Some of its bytes, in place, as another file would not be the one that is mapped.
  void write(const void* from, std::size_t bytes) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<const char*>(from) - bytes_.data());
    file.write(static_cast<const char*>(from), static_cast<std::streamsize>(bytes));
  }
  std::string name(std::size_t room = 100) const {
    char text[100] = "";
    return os::find_function(address_, text, room) ? text : "";
  }

  ElfW(Ehdr) & head() { return *reinterpret_cast<ElfW(Ehdr)*>(bytes_.data()); }
  // The first section of a kind; the section that it leads to.
  ElfW(Shdr) * sections() { return reinterpret_cast<ElfW(Shdr)*>(bytes_.data() + head().e_shoff); }
  ElfW(Shdr) & symbols() {
    ElfW(Shdr)* section = sections();
    while (section->sh_type != SHT_SYMTAB) ++section;
    return *section;
  }
  ElfW(Shdr) & names() { return sections()[symbols().sh_link]; }
  ElfW(Sym) & symbol() {
    auto* symbol = reinterpret_cast<ElfW(Sym)*>(bytes_.data() + symbols().sh_offset);
    const char* const text = bytes_.data() + names().sh_offset;
    while (std::strcmp(text + symbol->st_name, known_name) != 0) ++symbol;
    return *symbol;
  }

  // No name while the field has another value, and only then.
  template <class T>
  void expect_none(T& field, std::type_identity_t<T> wrong, const char* what) {
    const T right = field;
    field = wrong;
    write(&field, sizeof field);
    EXPECT_EQ(name(), "") << what;
    field = right;
    write(&field, sizeof field);
    EXPECT_EQ(name(), known_name) << what;
  }

  std::vector<char> bytes_;
  char path_[32] = "/tmp/tarn_code_XXXXXX";
  void* map_ = nullptr;
  const char* address_ = nullptr;
};

TEST_F(NamedFunctions, AreCutNowhere) {
  const std::size_t length = std::strlen(known_name);
  EXPECT_EQ(name(length + 1), known_name);
  EXPECT_EQ(name(length), "") << "no room for the NUL";
  EXPECT_EQ(name(0), "");
}

TEST_F(NamedFunctions, OfNoElfFile) {
  expect_none(head().e_ident[EI_MAG0], 'x', "other first bytes");
  expect_none(head().e_phentsize, 1, "other segments");
  expect_none(head().e_shentsize, 1, "other sections");
}

TEST_F(NamedFunctions, WhoseSectionsAreElsewhere) {
  expect_none(head().e_shoff, bytes_.size() + 8, "behind the file's end");
  expect_none(head().e_shoff, bytes_.size() - 8, "across the file's end");
  expect_none(head().e_shoff, head().e_shoff + 1, "not aligned");
  expect_none(head().e_shnum, 0, "none");
  expect_none(symbols().sh_type, SHT_NULL, "without this one, those that others may call are left");
  expect_none(symbols().sh_link, head().e_shnum, "the names are in no section");
  expect_none(symbols().sh_offset, bytes_.size() + 8, "behind the file's end");
  expect_none(symbols().sh_size, 0, "no symbols");
  expect_none(symbols().sh_size, bytes_.size(), "across the file's end");
}

TEST_F(NamedFunctions, WhoseNamesAreElsewhere) {
  const std::size_t place = symbol().st_name;
  expect_none(names().sh_offset, bytes_.size() + 8, "behind the file's end");
  expect_none(names().sh_size, place, "the names end before it");
  expect_none(names().sh_size, place + 5, "the names end amid it");
  const auto behind = static_cast<ElfW(Word)>(names().sh_size + 1);
  expect_none(symbol().st_name, behind, "it is behind the names");
  expect_none(symbol().st_info, STT_OBJECT, "it is of no function");
  expect_none(symbol().st_shndx, SHN_UNDEF, "it is of a function elsewhere");
  expect_none(bytes_[names().sh_offset + place], '\0', "it is empty");
}

TEST_F(NamedFunctions, OfFilesThatWereCutShort) {
  const std::size_t step = bytes_.size() / 40;
  int named = 0;
  for (std::size_t bytes = 0; bytes < bytes_.size(); bytes += step) {
    ASSERT_EQ(truncate(path_, static_cast<off_t>(bytes)), 0);
    const std::string found = name();
    EXPECT_TRUE(found.empty() || found == known_name) << bytes << " bytes: " << found;
    named += found.empty() ? 0 : 1;
    write(bytes_.data(), bytes_.size());
  }
  EXPECT_EQ(named, 0) << "the sections lie at the end";
  EXPECT_EQ(name(), known_name);
}

TEST_F(NamedFunctions, OfFilesThatAreGone) {
  ASSERT_EQ(unlink(path_), 0);
  EXPECT_EQ(name(), "");
  const char here = 0;
  char text[100];
  EXPECT_FALSE(os::find_function(&here, text, sizeof text)) << "no file at all";
}

}  // namespace
}  // namespace tarn
