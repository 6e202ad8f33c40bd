// elf: the few facts of an executable file that decide whether a malloc can be preloaded into it.
//
// Files are read in pieces with every offset checked, and never mapped: a broken or hostile file
// yields fewer facts, and one that shrinks meanwhile does not kill the command. Symbols are read
// only from files for this kind of machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"

namespace tarn {

class Elf {
 public:
  // Nothing if the file cannot be read or is not ELF.
  static std::optional<Elf> open(const std::string& path);

  bool is_native() const noexcept { return is_native_; }  // machine, word size and byte order
  std::string machine_name() const;
  bool is_shared_object() const noexcept { return header_.e_type == ET_DYN; }
  const std::string& interpreter() const noexcept { return interpreter_; }  // empty: static
  const std::string& soname() const noexcept { return soname_; }
  const std::vector<std::string>& needed() const noexcept { return needed_; }

  bool has_section(std::string_view name) const;
  // Calls `visit` with each symbol that the file itself defines; `is_exported` tells whether other
  // objects can bind to it.
  using SymbolVisitor = std::function<void(std::string_view name, bool is_exported)>;
  void visit_symbols(const SymbolVisitor& visit) const;
  // Calls `visit` with pieces of the read-only data. The last `overlap` bytes of each are repeated
  // in the next.
  using TextVisitor = std::function<void(std::string_view piece)>;
  void visit_read_only_data(std::size_t overlap, const TextVisitor& visit) const;

 private:
  struct Section {
    std::string name;
    ElfW(Shdr) header;
  };

  explicit Elf(Descriptor file) : file_(std::move(file)) {}
  bool read_header();
  void read_program_headers();
  void read_dynamic(const ElfW(Phdr) & dynamic, const std::vector<ElfW(Phdr)>& segments);
  void read_sections();
  std::size_t read_at(std::uint64_t offset, void* target, std::size_t bytes) const;
  template <class Item>
  std::vector<Item> read_items(std::uint64_t offset, std::uint64_t bytes) const;

  Descriptor file_;
  ElfW(Ehdr) header_{};
  bool is_native_ = false;
  std::string interpreter_;
  std::string soname_;
  std::vector<std::string> needed_;
  std::vector<Section> sections_;
};

}  // namespace tarn
