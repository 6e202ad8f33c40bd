// settings: the one table of options. TARN_OPTIONS="key=value,key=value" is read once, at the
// library's start. The two tables here give each option's name, default, values and help, and
// everything that prints or checks an option derives from them: dev/options writes docs/options.md,
// the manual page and `tarn help options`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/stack/stacks.hpp"
#include "tarn/source/mode.hpp"

namespace tarn {

enum class Option : std::uint8_t {
  purge_delay_ms,
  purge_keep_kib,
  large_move_kib,
  check_tree_threads,
  unalloc_steps,
  unalloc_lifo,
  xalloc_mode,
  background_purge,
  huge_from_kib,
  check_families,
  check_sizes,
  guard_every,
  stack_depth,
  report_json,
  misuse_status,
  leaks,
  leak_status,
  leak_signal,
};
inline constexpr std::size_t option_count = 18;

struct OptionRow {
  const char* name;
  std::uint64_t fallback;
  std::uint64_t min;
  std::uint64_t max;
  const char* help;
};

inline constexpr std::array<OptionRow, option_count> option_rows = {{
    {"purge_delay_ms", 500, 0, 3600000,
     "how long freed memory stays warm before it goes back to the OS; 0: at once"},
    {"purge_keep_kib", 1024, 0, std::uint64_t{1} << 32,
     "freed memory that stays warm however old it is"},
    {"large_move_kib", 256, 64, std::uint64_t{1} << 32,
     "from this size on a growing large block may move by page tables"},
    {"check_tree_threads", 0, 0, 1,
     "1: reports subtrees (tarn/tree/tree.h) that a thread uses although they are another one's"},
    {"unalloc_steps", 1, 1, 8, "size classes a doubling of unalloc (tarn/heap/unalloc.h)"},
    {"unalloc_lifo", 0, 0, 1, "1: of unalloc's blocks the one that was freed last is the next one"},
    {"xalloc_mode", 0, 0, 3,
     "how strictly xmalloc checks the use of its blocks (tarn/pool/xalloc.h): 1 checked, "
     "2 guarded, 3 passthrough"},
    {"background_purge", 0, 0, 1,
     "1: a thread of tarn's own gives freed memory back while the program sleeps"},
    {"huge_from_kib", 8192, 0, std::uint64_t{1} << 32,
     "from this size on the heap grows by huge pages, where the OS gives them for the asking; "
     "0: never"},
    {"check_families", 1, 0, 1,
     "0: in a mode that checks, a block of operator new may go by free, and the like"},
    {"check_sizes", 1, 0, 1,
     "0: a block may be freed with another size than it has (free_sized, operator delete)"},
    {"guard_every", 0, 0, std::uint64_t{1} << 31,
     "one of so many of malloc's blocks is a guarded one, chosen at random (in mode fast); 0: "
     "none"},
    {"stack_depth", 16, 0, 64,
     "calls of each stack in a report of misuse (docs/reports.md); 0, 1: the call itself"},
    {"report_json", 0, 0, 1, "1: a misuse is reported as a line of JSON"},
    {"misuse_status", 0, 0, 255,
     "the exit status of a process that has misused memory; 0: it ends by SIGABRT"},
    {"leaks", 0, 0, 1,
     "1: a process that ends by exit reports the blocks that no pointer reaches "
     "(docs/unreachable.md)"},
    {"leak_status", 0, 0, 255,
     "with leaks=1: the exit status if there are any and the program's is 0; 0: the program's"},
    {"leak_signal", 0, 0, 64,
     "with leaks=1: the number of a signal at which leaks are reported, too; 0: none"},
}};

static_assert(option_rows[static_cast<std::size_t>(Option::stack_depth)].fallback ==
                  Stacks::depth_default &&
              option_rows[static_cast<std::size_t>(Option::stack_depth)].max == Stacks::depth_most);

// An option whose value is no number. Without it, the library does not do what it asks for.
struct TextOptionRow {
  const char* name;
  const char* values;
  const char* help;
};

// In this order, and then the mode.
enum class PathOption : std::uint8_t { account, report_file, symbolizer, suppressions };
inline constexpr std::size_t path_option_count = 4;

inline constexpr std::array<TextOptionRow, path_option_count + 1> text_option_rows = {{
    {"account", "FOLDER",
     "each process keeps a file named by its process number there, with the account of its heap "
     "(tarn/diagnose/account.h)"},
    {"report_file", "FILE", "a misuse is reported at the end of this file, not on standard error"},
    {"symbolizer", "PROGRAM",
     "the path of the command tarn, through which reports get names of functions and lines"},
    {"suppressions", "FILE", "leaks that it leaves out: names of functions, files and modules"},
    {"mode", "fast|hardened|checked|guarded|passthrough",
     "how strictly malloc checks the use of its blocks (tarn/source/mode.h)"},
}};

inline constexpr std::size_t option_path_bytes_max = 4096;

class Settings {
 public:
  // Reads TARN_OPTIONS; says on standard error which parts it did not understand, and uses the
  // rest. Reports are as it says from then on.
  void read_environment() noexcept;

  // As read_environment(), for a given text. Returns the number of parts that were refused.
  std::size_t read(const char* text) noexcept;

  std::uint64_t operator[](Option option) const noexcept {
    return values_[static_cast<std::size_t>(option)];
  }

  Mode mode() const noexcept { return mode_; }

  // Or an empty string.
  const char* operator[](PathOption option) const noexcept {
    return paths_[static_cast<std::size_t>(option)].data();
  }

 private:
  bool set(const char* key, std::size_t key_length, const char* value, std::size_t length) noexcept;

  static constexpr std::array<std::uint64_t, option_count> fallbacks() noexcept {
    std::array<std::uint64_t, option_count> values{};
    for (std::size_t i = 0; i < option_count; ++i) values[i] = option_rows[i].fallback;
    return values;
  }

  std::array<std::uint64_t, option_count> values_ = fallbacks();
  Mode mode_ = Mode::fast;
  std::array<std::array<char, option_path_bytes_max>, path_option_count> paths_{};
};

// The process's own, read when the library starts.
extern Settings settings;

}  // namespace tarn
