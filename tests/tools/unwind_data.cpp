// unwind_data: the rules by which the library walks stacks (platform/stack/frame_rule), beside
// those that elfutils' libdw reads out of the same data, for the code of all modules of the test.
// SPDX-License-Identifier: MIT
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "platform/os/code.hpp"
#include "platform/stack/frame_rule.hpp"

#if defined(__x86_64__)

namespace tarn::test {

namespace {

constexpr int register_fp = 6;
constexpr int register_sp = 7;
constexpr int register_return = 16;

struct Saved {
  enum class Where { unchanged, undefined, at_offset, elsewhere } where;
  std::int64_t offset = 0;
};

Saved saved_of(Dwarf_Frame* frame, int reg) {
  std::array<Dwarf_Op, 3> room{};
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, reg, room.data(), &ops, &count) != 0) {
    return {Saved::Where::elsewhere};
  }
  if (count == 0) return {ops == nullptr ? Saved::Where::unchanged : Saved::Where::undefined};
  const bool is_plain = ops[0].atom == DW_OP_call_frame_cfa &&
                        (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst));
  if (!is_plain) return {Saved::Where::elsewhere};
  return {Saved::Where::at_offset, count == 1 ? 0 : static_cast<std::int64_t>(ops[1].number)};
}

FrameRule expected_of(Dwarf_Frame* frame) {
  const Saved returns = saved_of(frame, register_return);
  if (returns.where == Saved::Where::undefined) return FrameRule::of(FrameRule::Kind::outermost);
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1) return {};
  const bool is_indexed = ops[0].atom == DW_OP_bregx;
  const int reg = is_indexed ? static_cast<int>(ops[0].number) : ops[0].atom - DW_OP_breg0;
  const auto offset = static_cast<std::int64_t>(is_indexed ? ops[0].number2 : ops[0].number);
  if (reg != register_sp && reg != register_fp) return {};
  const Saved fp = saved_of(frame, register_fp);
  const bool is_walked = returns.where == Saved::Where::at_offset && returns.offset == -8 &&
                         offset > 0 && fp.where != Saved::Where::elsewhere;
  if (!is_walked) return {};
  const std::uint64_t words =
      fp.where == Saved::Where::at_offset ? static_cast<std::uint64_t>(-fp.offset) / 8 : 0;
  return FrameRule::of(reg == register_sp ? FrameRule::Kind::of_sp : FrameRule::Kind::of_fp,
                       static_cast<std::uint32_t>(offset), words);
}

std::string text_of(FrameRule rule) {
  return std::to_string(static_cast<int>(rule.kind())) + " " + std::to_string(rule.offset()) + " " +
         std::to_string(rule.saved_words());
}

class Modules {
 public:
  Modules() {
    static char* no_path = nullptr;
    static Dwfl_Callbacks callbacks{};
    callbacks.find_elf = dwfl_linux_proc_find_elf;
    callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    callbacks.debuginfo_path = &no_path;
    session_ = dwfl_begin(&callbacks);
    dwfl_report_begin(session_);
    dwfl_linux_proc_report(session_, ::getpid());
    dwfl_report_end(session_, nullptr, nullptr);
  }
  ~Modules() { dwfl_end(session_); }
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // False where libdw has no data either.
  bool expected(std::uintptr_t code, FrameRule* rule) const {
    Dwarf_Addr bias = 0;
    Dwfl_Module* const module = dwfl_addrmodule(session_, code);
    Dwarf_CFI* const data = module == nullptr ? nullptr : dwfl_module_eh_cfi(module, &bias);
    Dwarf_Frame* frame = nullptr;
    if (data == nullptr || dwarf_cfi_addrframe(data, code - bias, &frame) != 0) return false;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    bool is_signal = false;
    dwarf_frame_info(frame, &start, &end, &is_signal);
    *rule = is_signal ? FrameRule::of(FrameRule::Kind::signal) : expected_of(frame);
    std::free(frame);
    return true;
  }

 private:
  Dwfl* session_ = nullptr;
};

TEST(UnwindData, IsReadAsLibdwReadsIt) {
  const Modules modules;
  std::ifstream maps("/proc/self/maps");
  std::size_t looked = 0;
  std::size_t walked = 0;
  std::size_t different = 0;
  for (std::string line; std::getline(maps, line) && different < 10;) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char rights[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &start, &end, rights) != 3) continue;
    if (rights[2] != 'x' || line.find('/') == std::string::npos) continue;
    const std::byte* const table = os::find_unwind_table(reinterpret_cast<const void*>(start));
    if (table == nullptr) continue;
    // An odd step, so that all places of instructions are met.
    const std::uintptr_t step = (end - start) / 40'000 * 2 + 7;
    for (std::uintptr_t code = start; code < end && different < 10; code += step) {
      FrameRule expected;
      if (!modules.expected(code, &expected)) {
        expected = FrameRule::of(FrameRule::Kind::outermost);
      }
      const FrameRule found = read_frame_rule(table, code);
      ++looked;
      walked += found.kind() != FrameRule::Kind::outermost ? 1 : 0;
      if (found.word == expected.word) continue;
      ADD_FAILURE() << std::hex << code << ": " << text_of(found)
                    << ", libdw: " << text_of(expected) << " in " << line;
      ++different;
    }
  }
  EXPECT_GT(looked, 50'000u);
  EXPECT_GT(walked, looked / 2);
}

}  // namespace

}  // namespace tarn::test

#endif
