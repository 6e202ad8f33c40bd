// elf: see elf.hpp.
// SPDX-License-Identifier: MIT
#include "elf.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace tarn {

namespace {

// Browsers have hundreds of megabytes. No more than this is read of one table or of the data, so
// that starting such a program does not read all of it.
constexpr std::uint64_t table_bytes_max = 64u << 20;
constexpr std::uint64_t data_bytes_max = 32u << 20;

#if defined(__x86_64__)
constexpr ElfW(Half) native_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) native_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr ElfW(Half) native_machine = EM_RISCV;
#else
#error "name the ELF machine of this target"
#endif
constexpr unsigned char native_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char native_order =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// The text at `offset` of a string table; empty when it does not end within the table.
std::string_view text_at(const std::vector<char>& table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* const start = table.data() + offset;
  const std::size_t room = table.size() - offset;
  const void* const end = std::memchr(start, 0, room);
  if (end == nullptr) return {};
  return {start, static_cast<std::size_t>(static_cast<const char*>(end) - start)};
}

}  // namespace

std::optional<Elf> Elf::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  Elf elf(std::move(file));
  if (!elf.read_header()) return std::nullopt;
  if (elf.is_native_) {
    elf.read_program_headers();
    elf.read_sections();
  }
  return elf;
}

std::size_t Elf::read_at(std::uint64_t offset, void* target, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(file_.number(), static_cast<char*>(target) + done, bytes - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

template <class Item>
std::vector<Item> Elf::read_items(std::uint64_t offset, std::uint64_t bytes) const {
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) return {};
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  // The size is checked against the file before memory is taken for it.
  if (bytes > table_bytes_max || offset > file_bytes || bytes > file_bytes - offset) return {};
  std::vector<Item> items(bytes / sizeof(Item));
  const std::size_t got = read_at(offset, items.data(), items.size() * sizeof(Item));
  items.resize(got / sizeof(Item));
  return items;
}

bool Elf::read_header() {
  if (read_at(0, &header_, sizeof header_) < EI_NIDENT + sizeof(ElfW(Half)) * 2) return false;
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return false;
  is_native_ = header_.e_ident[EI_CLASS] == native_class &&
               header_.e_ident[EI_DATA] == native_order && header_.e_machine == native_machine;
  return true;
}

std::string Elf::machine_name() const {
  unsigned machine = header_.e_machine;
  if (header_.e_ident[EI_DATA] != native_order) machine = (machine >> 8) | ((machine & 0xff) << 8);
  const char* const bits = header_.e_ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "64-bit";
  switch (machine) {
    case EM_386: return "32-bit x86";
    case EM_X86_64: return fmt::format("{} x86-64", bits);
    case EM_ARM: return "32-bit ARM";
    case EM_AARCH64: return "64-bit ARM";
    case EM_RISCV: return fmt::format("{} RISC-V", bits);
    case EM_PPC64: return "64-bit POWER";
    case EM_S390: return fmt::format("{} S/390", bits);
    default: return fmt::format("{} machine {}", bits, machine);
  }
}

void Elf::read_program_headers() {
  if (header_.e_phentsize != sizeof(ElfW(Phdr))) return;
  const auto segments =
      read_items<ElfW(Phdr)>(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(ElfW(Phdr)));
  for (const auto& segment : segments) {
    if (segment.p_type == PT_INTERP) {
      interpreter_ = text_at(read_items<char>(segment.p_offset, segment.p_filesz), 0);
    } else if (segment.p_type == PT_DYNAMIC) {
      read_dynamic(segment, segments);
    }
  }
}

void Elf::read_dynamic(const ElfW(Phdr) & dynamic, const std::vector<ElfW(Phdr)>& segments) {
  const auto entries = read_items<ElfW(Dyn)>(dynamic.p_offset, dynamic.p_filesz);
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) {
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) bytes = entry.d_un.d_val;
  }
  // The table is given by its address in memory; this finds the segment that is loaded there.
  std::vector<char> table;
  for (const auto& segment : segments) {
    const bool holds = segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                       address - segment.p_vaddr < segment.p_filesz;
    if (holds) table = read_items<char>(segment.p_offset + (address - segment.p_vaddr), bytes);
  }
  for (const auto& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed_.emplace_back(text_at(table, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) soname_ = text_at(table, entry.d_un.d_val);
  }
}

void Elf::read_sections() {
  if (header_.e_shentsize != sizeof(ElfW(Shdr))) return;
  const auto headers =
      read_items<ElfW(Shdr)>(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(ElfW(Shdr)));
  if (header_.e_shstrndx >= headers.size()) return;
  const auto& names_header = headers[header_.e_shstrndx];
  const auto names = read_items<char>(names_header.sh_offset, names_header.sh_size);
  for (const auto& header : headers) {
    sections_.push_back({std::string(text_at(names, header.sh_name)), header});
  }
}

bool Elf::has_section(std::string_view name) const {
  return std::ranges::any_of(sections_, [&](const Section& s) { return s.name == name; });
}

void Elf::visit_symbols(const SymbolVisitor& visit) const {
  for (const Section& section : sections_) {
    const bool is_exported = section.header.sh_type == SHT_DYNSYM;
    if (!is_exported && section.header.sh_type != SHT_SYMTAB) continue;
    if (section.header.sh_link >= sections_.size()) continue;
    const auto& names_header = sections_[section.header.sh_link].header;
    const auto names = read_items<char>(names_header.sh_offset, names_header.sh_size);
    const auto symbols = read_items<ElfW(Sym)>(section.header.sh_offset, section.header.sh_size);
    for (const auto& symbol : symbols) {
      if (symbol.st_shndx == SHN_UNDEF) continue;
      const std::string_view name = text_at(names, symbol.st_name);
      if (!name.empty()) visit(name, is_exported);
    }
  }
}

void Elf::visit_read_only_data(std::size_t overlap, const TextVisitor& visit) const {
  constexpr std::size_t piece_bytes = 1u << 20;
  for (const Section& section : sections_) {
    if (section.name != ".rodata" || section.header.sh_type != SHT_PROGBITS) continue;
    const std::uint64_t bytes = std::min<std::uint64_t>(section.header.sh_size, data_bytes_max);
    std::string piece;
    for (std::uint64_t start = 0; start < bytes;) {
      piece.resize(std::min<std::uint64_t>(piece_bytes, bytes - start));
      piece.resize(read_at(section.header.sh_offset + start, piece.data(), piece.size()));
      visit(piece);
      if (start + piece.size() >= bytes || piece.size() <= overlap) break;
      start += piece.size() - overlap;
    }
  }
}

}  // namespace tarn
