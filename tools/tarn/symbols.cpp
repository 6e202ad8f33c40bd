// symbols: see symbols.hpp.
// SPDX-License-Identifier: MIT
#include "symbols.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <cstdlib>

#include "failure.hpp"

namespace tarn {

namespace {

constinit char* no_debuginfo_path = nullptr;

Dwfl* begin(int (*find_elf)(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, ::Elf**)) {
  // Kept by the session.
  static Dwfl_Callbacks callbacks{};
  callbacks.find_elf = find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.section_address = dwfl_offline_section_address;
  callbacks.debuginfo_path = &no_debuginfo_path;
  Dwfl* const session = dwfl_begin(&callbacks);
  if (session == nullptr) throw Failure(status_refused, dwfl_errmsg(-1));
  return session;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

// The attribute of a function, or of what it is an instance of.
const char* text_of(Dwarf_Die* function, unsigned attribute) {
  Dwarf_Attribute found;
  return dwarf_formstring(dwarf_attr_integrate(function, attribute, &found));
}

// Where a function is declared: of an instance, or of a definition outside of its class.
Dwarf_Die declaration_of(Dwarf_Die function) {
  for (const unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute found;
    Dwarf_Die other;
    if (dwarf_formref_die(dwarf_attr(&function, attribute, &found), &other) != nullptr) {
      function = other;
    }
  }
  return function;
}

// Namespaces and classes around a function, and its name.
std::string qualified_name(Dwarf_Die* function) {
  Dwarf_Die declaration = declaration_of(*function);
  const char* const own = dwarf_diename(&declaration);
  if (own == nullptr) return "";
  std::string name = own;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  for (int i = 1; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    const bool is_class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
    if (!is_class && tag != DW_TAG_namespace && tag != DW_TAG_union_type) break;
    const char* const outer = dwarf_diename(&scopes[i]);
    if (outer != nullptr) name = std::string(outer) + "::" + name;
    if (outer == nullptr && !is_class) name = "(anonymous namespace)::" + name;
  }
  std::free(scopes);
  return name;
}

std::string name_of(Dwarf_Die* function) {
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* const name = text_of(function, attribute)) return demangled(name);
  }
  return qualified_name(function);
}

std::uint64_t number_of(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(die, attribute, &found), &number) != 0) return 0;
  return number;
}

// Where an inlined function was called.
void set_call(CodeFrame& frame, Dwarf_Die* inlined, Dwarf_Die* unit) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  frame.line = static_cast<int>(number_of(inlined, DW_AT_call_line));
  if (dwarf_getsrcfiles(unit, &files, &count) != 0) return;
  const char* const file =
      dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), nullptr, nullptr);
  if (file != nullptr) frame.file = file;
}

// The functions around the address, each inlined into the next.
std::vector<CodeFrame> frames_of(Dwarf_Die* unit, Dwarf_Addr address, CodeFrame innermost) {
  std::vector<CodeFrame> frames;
  Dwarf_Die* scopes = nullptr;
  int count = dwarf_getscopes(unit, address, &scopes);
  if (count > 0) {  // By where they lie in the unit: one scope's definition may be elsewhere.
    Dwarf_Die inner = scopes[0];
    std::free(scopes);
    scopes = nullptr;
    count = dwarf_getscopes_die(&inner, &scopes);
  }
  CodeFrame next = std::move(innermost);
  for (int i = 0; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    next.function = name_of(&scopes[i]);
    next.is_inlined = tag == DW_TAG_inlined_subroutine;
    frames.push_back(std::move(next));
    next = {};
    if (tag == DW_TAG_subprogram) break;
    set_call(next, &scopes[i], unit);
  }
  std::free(scopes);
  return frames;
}

struct Named {
  const std::string& name;
  Dwfl_Module* module;
};

int look_for_name(Dwfl_Module* module, void**, const char* name, Dwarf_Addr, void* context) {
  auto& named = *static_cast<Named*>(context);
  if (named.name != name) return DWARF_CB_OK;
  named.module = module;
  return DWARF_CB_ABORT;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

std::string text_of(const CodeFrame& frame) {
  std::string text = frame.function.empty() ? "" : " " + frame.function;
  if (!frame.file.empty()) text += fmt::format(" at {}:{}", frame.file, frame.line);
  return frame.is_inlined ? text + " (inlined)" : text;
}

Symbols Symbols::of_process(pid_t process) {
  Symbols symbols(begin(dwfl_linux_proc_find_elf), true);
  Dwfl* const session = symbols.session_.get();
  dwfl_report_begin(session);
  const int failed = dwfl_linux_proc_report(session, process);
  if (failed != 0 || dwfl_report_end(session, nullptr, nullptr) != 0) {
    throw Failure(status_refused,
                  fmt::format("symbolize: the modules of process {} cannot be read", process));
  }
  return symbols;
}

Symbols Symbols::of_files(const std::vector<std::string>& files) {
  Symbols symbols(begin(dwfl_build_id_find_elf), false);
  Dwfl* const session = symbols.session_.get();
  dwfl_report_begin(session);
  for (const std::string& file : files) {
    if (dwfl_report_offline(session, base_name(file).c_str(), file.c_str(), -1) == nullptr) {
      throw Failure(status_usage, fmt::format("symbolize: {}: {}", file, dwfl_errmsg(-1)));
    }
  }
  dwfl_report_end(session, nullptr, nullptr);
  return symbols;
}

std::vector<CodeFrame> Symbols::at(const std::string& module, std::uint64_t offset,
                                   std::uint64_t address) const {
  Dwfl_Module* found = nullptr;
  if (is_process_) {
    found = dwfl_addrmodule(session_.get(), address);
  } else {
    Named named{module, nullptr};
    dwfl_getmodules(session_.get(), look_for_name, &named, 0);
    found = named.module;
    Dwarf_Addr start = 0;
    if (found != nullptr) {
      dwfl_module_info(found, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
    address = start + offset;
  }
  if (found == nullptr) return {};
  CodeFrame innermost;
  if (Dwfl_Line* const line = dwfl_module_getsrc(found, address)) {
    const char* const file =
        dwfl_lineinfo(line, nullptr, &innermost.line, nullptr, nullptr, nullptr);
    if (file != nullptr) innermost.file = file;
  }
  Dwarf_Addr bias = 0;
  std::vector<CodeFrame> frames;
  if (Dwarf_Die* const unit = dwfl_module_addrdie(found, address, &bias)) {
    frames = frames_of(unit, address - bias, innermost);
  }
  if (!frames.empty()) return frames;
  const char* const name = dwfl_module_addrname(found, address);
  if (name != nullptr) innermost.function = demangled(name);
  if (name == nullptr && innermost.file.empty()) return {};
  return {innermost};
}

}  // namespace tarn
