// options: see options.hpp.
//
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <string_view>

namespace lists {

namespace {

constexpr std::uint64_t limit_bytes_min = 8 << 20;  // Below, the program itself hardly fits.

constexpr const char* help = R"(usage: lists [options]

Five lists of strings grow in turn, are searched, and are destroyed; the phases are timed.

  --memory malloc          links and strings of all lists from the malloc that is active: try
                           LD_PRELOAD, or `tarn run -- lists` (this is the default)
  --memory heap            a tarn heap for each list, destroyed as a whole
  --memory smartheap       the same by the names of the program of 1994 (tarn/compat/smrtheap.h)
  --memory bump            a bare bump heap for each list: what a heap could reach at best
  --iterations N           operations on each list (1000000)
  --seed N                 the same seed does the same work (1994)
  --checksum               also give a checksum of all strings, read between the timed phases
  --json FILE              also write the result to FILE
  --memory-limit BYTES     run as a child whose memory is limited, so that the rest is swapped;
                           K, M and G may follow the number. Needs root
  --memory-limit half      the same, limited to half of what a run without limit takes
  --swap-dir FOLDER        where a swap file is made if the machine has too little (/var/tmp)
  --help                   this text

Exit status: 0 done, 1 failed, 2 not understood, 3 this machine lacks what the limit needs.
)";

constexpr Variant variants[] = {Variant::malloc, Variant::heap, Variant::smartheap, Variant::bump};

[[noreturn]] void refuse(const char* option, std::string_view value, const char* wanted) {
  std::fprintf(stderr, "lists: --%s %.*s: give %s\n", option, static_cast<int>(value.size()),
               value.data(), wanted);
  std::exit(2);
}

// Reads a number. False for what is no decimal number, and for one that does not fit.
bool parse(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::uint64_t number(const char* option, std::string_view text, std::uint64_t least) {
  std::uint64_t value = 0;
  if (!parse(text, value) || value < least) {
    refuse(option, text, least == 0 ? "a number" : "a number from 1 on");
  }
  return value;
}

Variant variant(std::string_view text) {
  for (const Variant each : variants) {
    if (text == name_of(each)) return each;
  }
  refuse("memory", text, "malloc, heap, smartheap or bump");
}

std::uint64_t byte_count(const char* option, std::string_view text) {
  unsigned shift = 0;
  std::string_view digits = text;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    if (shift != 0) digits.remove_suffix(1);
  }
  std::uint64_t value = 0;
  if (!parse(digits, value) || value > (UINT64_MAX >> 1 >> shift) ||
      (value << shift) < limit_bytes_min) {
    refuse(option, text, "'half' or at least 8M");
  }
  return value << shift;
}

}  // namespace

const char* name_of(Variant variant) noexcept {
  switch (variant) {
    case Variant::heap: return "heap";
    case Variant::smartheap: return "smartheap";
    case Variant::bump: return "bump";
    default: return "malloc";
  }
}

Options read_options(int count, char** words) {
  static constexpr option known[] = {
      {"iterations", required_argument, nullptr, 'i'},
      {"seed", required_argument, nullptr, 's'},
      {"memory", required_argument, nullptr, 'v'},
      {"checksum", no_argument, nullptr, 'c'},
      {"json", required_argument, nullptr, 'j'},
      {"memory-limit", required_argument, nullptr, 'm'},
      {"swap-dir", required_argument, nullptr, 'd'},
      {"limited-to", required_argument, nullptr, 'l'},
      {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0},
  };
  Options options;
  for (int letter; (letter = getopt_long(count, words, "", known, nullptr)) != -1;) {
    const std::string_view value = optarg != nullptr ? optarg : "";
    switch (letter) {
      case 'i': options.plan.iterations = number("iterations", value, 1); break;
      case 's': options.plan.seed = number("seed", value, 0); break;
      case 'v': options.variant = variant(value); break;
      case 'c': options.plan.checksum = true; break;
      case 'j': options.json_file = value; break;
      case 'd': options.swap_folder = value; break;
      case 'l': options.limited_to = number("limited-to", value, 1); break;
      case 'm':
        options.limit_half = value == "half";
        options.limit_bytes = options.limit_half ? 0 : byte_count("memory-limit", value);
        break;
      case 'h': std::fputs(help, stdout); std::exit(0);
      default: std::fputs("lists: --help prints the options\n", stderr); std::exit(2);
    }
  }
  if (optind < count) {
    std::fprintf(stderr, "lists: '%s' is no option; --help prints them\n", words[optind]);
    std::exit(2);
  }
  return options;
}

}  // namespace lists
