// allocator_marks: see allocator_marks.hpp.
// SPDX-License-Identifier: MIT
#include "allocator_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>

#include "quantity.hpp"

namespace tarn {

namespace {

struct Mark {
  std::string_view allocator;
  std::string_view text;
  bool is_whole = false;  // redis defines a mallctl_int, and has no jemalloc in it

  bool fits(std::string_view name) const {
    return is_whole ? name == text : name.starts_with(text);
  }
};

// tarn's functions are also found in programs that leave malloc alone (tarn::tarn).
constexpr std::string_view tarn_functions = "tarn's functions";
constexpr std::string_view tarn_malloc = "tarn's malloc";

// Prefixes of symbols that only the allocator itself defines, mangled names included.
constexpr std::array symbol_marks = {
    Mark{"jemalloc", "je_malloc"},
    Mark{"jemalloc", "_rjem_"},
    Mark{"jemalloc", "mallctl", true},
    Mark{"mimalloc", "mi_malloc"},
    Mark{"mimalloc", "mi_heap_malloc"},
    Mark{"tcmalloc", "tc_malloc"},
    Mark{"tcmalloc", "TCMallocInternal"},
    Mark{"PartitionAlloc", "_ZN15partition_alloc"},
    Mark{"PartitionAlloc", "_ZN4base13PartitionRoot"},
    Mark{"snmalloc", "_ZN8snmalloc"},
    Mark{"snmalloc", "sn_rust_alloc"},
    Mark{"rpmalloc", "rpmalloc", true},
    Mark{"mozjemalloc", "moz_arena_malloc"},
    Mark{"the Go runtime's heap", "runtime.mallocgc"},
    Mark{tarn_functions, "tarn_malloc", true},
};

// Strings of messages and environment variables, which remain in stripped files.
constexpr std::array data_marks = {
    Mark{"jemalloc", "<jemalloc>"},
    Mark{"mimalloc", "mimalloc: "},
    Mark{"tcmalloc", "TCMALLOC_"},
    Mark{"PartitionAlloc", "partition_alloc/partition_"},
    Mark{"snmalloc", "snmalloc"},
    Mark{"rpmalloc", "rpmalloc"},
    Mark{tarn_malloc, "tarn: committed bytes = "},  // of malloc_stats (src/entry/malloc/malloc.cpp)
};

constexpr std::array library_marks = {
    Mark{"jemalloc", "libjemalloc"}, Mark{"mimalloc", "libmimalloc"},
    Mark{"tcmalloc", "libtcmalloc"}, Mark{"snmalloc", "libsnmalloc"},
    Mark{"rpmalloc", "librpmalloc"}, Mark{"hardened_malloc", "libhardened_malloc"},
    Mark{"Hoard", "libhoard"},       Mark{"tarn", "libtarn.so"},
};

// The first that fits counts: AddressSanitizer also has the leak sanitizer's functions.
constexpr std::array sanitizer_symbols = {
    Mark{"AddressSanitizer", "__asan_init", true},
    Mark{"HWAddressSanitizer", "__hwasan_init", true},
    Mark{"ThreadSanitizer", "__tsan_init", true},
    Mark{"MemorySanitizer", "__msan_init", true},
    Mark{"LeakSanitizer", "__lsan_init", true},
};

constexpr std::array sanitizer_libraries = {
    Mark{"AddressSanitizer", "libasan.so"},
    Mark{"HWAddressSanitizer", "libhwasan.so"},
    Mark{"ThreadSanitizer", "libtsan.so"},
    Mark{"LeakSanitizer", "liblsan.so"},
    Mark{"AddressSanitizer", "libclang_rt.asan"},
    Mark{"ThreadSanitizer", "libclang_rt.tsan"},
    Mark{"HWAddressSanitizer", "libclang_rt.hwasan"},
};

struct Found {
  std::set<std::string_view> allocators;
  bool has_malloc = false;
  bool exports_malloc = false;
};

Found search(const Elf& elf) {
  Found found;
  elf.visit_symbols([&](std::string_view name, bool is_exported) {
    if (name == "malloc") {
      found.has_malloc = true;
      found.exports_malloc = found.exports_malloc || is_exported;
    }
    for (const Mark& mark : symbol_marks) {
      if (mark.fits(name)) found.allocators.insert(mark.allocator);
    }
  });
  for (const std::string_view section : {".gopclntab", ".note.go.buildid"}) {
    if (elf.has_section(section)) found.allocators.insert("the Go runtime's heap");
  }
  return found;
}

std::set<std::string_view> search_data(const Elf& elf) {
  std::set<std::string_view> allocators;
  std::size_t longest = 0;
  for (const Mark& mark : data_marks) longest = std::max(longest, mark.text.size());
  elf.visit_read_only_data(longest, [&](std::string_view piece) {
    for (const Mark& mark : data_marks) {
      if (piece.find(mark.text) != std::string_view::npos) allocators.insert(mark.allocator);
    }
  });
  return allocators;
}

bool note_libraries(const Elf& elf, const std::string& name, Inspection& inspection) {
  bool has_any = false;
  for (const std::string& needed : elf.needed()) {
    for (const Mark& mark : library_marks) {
      if (!mark.fits(needed)) continue;
      has_any = true;
      const std::string consequence =
          mark.allocator == "tarn" ? "it runs on tarn with or without this command"
                                   : "its malloc gives way to tarn's, but calls by that library's "
                                     "own names still go there";
      inspection.notes.push_back(
          {"linked_allocator",
           fmt::format("{} is linked with {}: {}", name, text_of_name(needed), consequence)});
    }
  }
  return has_any;
}

}  // namespace

std::string_view sanitizer_of(const Elf& elf) {
  for (const std::string& needed : elf.needed()) {
    for (const Mark& mark : sanitizer_libraries) {
      if (mark.fits(needed)) return mark.allocator;
    }
  }
  std::set<std::string_view> defined;
  elf.visit_symbols([&](std::string_view name, bool) {
    for (const Mark& mark : sanitizer_symbols) {
      if (mark.fits(name)) defined.insert(mark.allocator);
    }
  });
  for (const Mark& mark : sanitizer_symbols) {
    if (defined.contains(mark.allocator)) return mark.allocator;
  }
  return "";
}

void add_python_note(const Elf& elf, const std::string& name, Inspection& inspection) {
  bool is_python = std::ranges::any_of(
      elf.needed(), [](const std::string& needed) { return needed.starts_with("libpython3"); });
  elf.visit_symbols([&](std::string_view symbol, bool is_exported) {
    is_python = is_python || (is_exported && symbol == "PyObject_Malloc");
  });
  const char* const chosen = std::getenv("PYTHONMALLOC");
  if (!is_python || (chosen != nullptr && std::string_view(chosen).starts_with("malloc"))) return;
  inspection.notes.push_back(
      {"pymalloc", fmt::format("{} takes blocks of up to 512 bytes from pools of its own "
                               "(pymalloc), which do not come to tarn; with PYTHONMALLOC=malloc "
                               "in the environment they do",
                               name)});
}

void add_allocator_notes(const Elf& elf, const std::string& name, Inspection& inspection) {
  const bool is_static = elf.interpreter().empty();
  Found found = search(elf);
  const bool has_functions = found.allocators.erase(tarn_functions) != 0;
  if (found.has_malloc && search_data(elf).contains(tarn_malloc)) {
    inspection.notes.push_back(
        {"linked_tarn", fmt::format("{} has tarn's malloc linked in already", name)});
    return;
  }
  if (has_functions) {
    inspection.notes.push_back(
        {"linked_heaps", fmt::format("{} has tarn's functions linked in beside malloc: what it "
                                     "allocates by their names stays there, and is not counted "
                                     "here",
                                     name)});
  }
  // A program that is linked with an allocator's library names it in its own messages as well.
  const bool is_linked = note_libraries(elf, name, inspection);
  // A program whose symbols show tarn's functions was not stripped of them.
  if (!is_linked && !has_functions && found.allocators.empty()) {
    found.allocators = search_data(elf);
    found.allocators.erase(tarn_malloc);  // Only strings, as in this command.
  }
  std::string names;
  for (const std::string_view allocator : found.allocators) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", allocator);
  }
  if (found.exports_malloc) {
    // The program's own symbols come before those of any preloaded library.
    inspection.notes.push_back(
        {"allocator", fmt::format("{} exports a malloc of its own{}, which comes before any "
                                  "preloaded one: tarn will see nothing or little of it",
                                  name, names.empty() ? "" : fmt::format(" ({})", names))});
  } else if (!names.empty()) {
    inspection.notes.push_back(
        {"allocator", fmt::format("{} seems to bring an allocator of its own ({}): what it "
                                  "allocates there does not come to tarn",
                                  name, names)});
  } else if (found.has_malloc && !is_static) {
    inspection.notes.push_back(
        {"allocator", fmt::format("{} has a malloc of its own for its own calls: these do not "
                                  "come to tarn",
                                  name)});
  }
}

}  // namespace tarn
