// symbolize: see symbolize.hpp.
// SPDX-License-Identifier: MIT
#include "symbolize.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "failure.hpp"
#include "leaks.hpp"
#include "symbols.hpp"
#include "terminal.hpp"
#include "usage.hpp"

namespace tarn {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* symbolize_footer =
    "Reads a report of misuse from stdin, as text or as lines of JSON, and writes it to stdout\n"
    "with the function, file and line of each call, functions that are inlined among them. What\n"
    "is no report is passed on as it is. FILE: the executable and the libraries that the report\n"
    "names, with debug information (as built, or from a package of such). Without FILE, the\n"
    "modules are those of the process. Reports of programs that `tarn run` has started come\n"
    "through this by themselves. The exit status is 1 when a report of leaks is among them in "
    "which\n"
    "any are left.\n\n"
    "A line of suppressions is a pattern, in which * stands for any letters: it leaves out leaks "
    "in\n"
    "whose calls a function, a file or a module has it in its name; ^ and $ are a name's ends, and "
    "a\n"
    "comment begins with #.\n\n"
    "Examples:\n"
    "  tarn symbolize ./my_program < report.txt\n"
    "  tarn symbolize --process 4711 < report.txt\n";

// What is before a call, in a line for the function that it is inlined into.
std::string caller_label(const std::string& label) {
  if (label.ends_with("by ")) return label;
  const std::size_t words = label.find_first_not_of(' ', label.find(':') + 1);
  std::string next = label.substr(0, words);
  return next + std::string(label.size() - words - 3, ' ') + "by ";
}

// Of hexadecimal digits, perhaps with 0x in front. None for what is no number of 64 bits.
std::optional<std::uint64_t> number_of(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

// What is known of a call; nothing, where the report says no place.
std::vector<CodeFrame> frames_of(const Symbols& symbols, const std::string& module,
                                 std::string_view offset, std::string_view address) {
  const auto from_start = number_of(offset);
  const auto place = number_of(address);
  if (!from_start || !place) return {};
  return symbols.at(module, *from_start, *place);
}

// The parts of a line `tarn:   allocated at MODULE+0xOFFSET (0xADDRESS) FUNCTION`.
struct CallLine {
  std::string label;  // With the blank behind it.
  std::string site;   // MODULE+0xOFFSET (0xADDRESS)
  std::string module;
  std::string_view offset;
  std::string_view address;
};

std::optional<CallLine> read_call(std::string_view line) {
  constexpr std::string_view start = "tarn:";
  if (!line.starts_with(start)) return std::nullopt;
  const std::size_t words = line.find_first_not_of(' ', start.size());
  if (words == std::string_view::npos || words == start.size()) return std::nullopt;
  for (const std::string_view label : {"allocated at ", "freed at ", "now at ", "by "}) {
    if (!line.substr(words).starts_with(label)) continue;
    const std::size_t site = words + label.size();
    const std::size_t blank = line.find(' ', site);  // Behind the offset.
    const std::size_t plus = blank == line.npos ? line.npos : line.rfind("+0x", blank);
    const std::size_t close = blank == line.npos ? line.npos : line.find(')', blank);
    if (plus == line.npos || plus <= site || close == line.npos) return std::nullopt;
    if (!line.substr(blank).starts_with(" (0x")) return std::nullopt;
    return CallLine{
        std::string(line.substr(0, site)), std::string(line.substr(site, close + 1 - site)),
        std::string(line.substr(site, plus - site)), line.substr(plus + 1, blank - plus - 1),
        line.substr(blank + 2, close - blank - 2)};
  }
  return std::nullopt;
}

std::string symbolized_text(const std::string& line, const Symbols& symbols) {
  const auto call = read_call(line);
  if (!call) return line + "\n";
  const std::vector<CodeFrame> frames =
      frames_of(symbols, call->module, call->offset, call->address);
  if (frames.empty()) return line + "\n";
  std::string text;
  std::string label = call->label;
  for (const CodeFrame& frame : frames) {
    text += label + call->site + text_of(frame) + "\n";
    label = caller_label(label);
  }
  return text;
}

Json symbolized_calls(const Json& calls, const Symbols& symbols) {
  if (!calls.is_array()) return calls;
  Json all = Json::array();
  for (const Json& call : calls) {
    const std::vector<CodeFrame> frames = frames_of(
        symbols, text_in(call, "module"), text_in(call, "offset"), text_in(call, "address"));
    if (frames.empty()) all.push_back(call);
    for (const CodeFrame& frame : frames) {
      Json known = call;
      if (!frame.function.empty()) known["function"] = frame.function;
      if (!frame.file.empty()) {
        known["file"] = frame.file;
        known["line"] = frame.line;
      }
      if (frame.is_inlined) known["inlined"] = true;
      all.push_back(known);
    }
  }
  return all;
}

// What is written in place of a line.
struct Output {
  std::string text;
  bool has_leaks;
};

std::string line_of(const Json& report) {
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The library says how it is to be shown, and with which suppressions, where it asks for it.
Output symbolized_leaks(Json report, const Symbols& symbols, const std::string& suppressions) {
  const std::string named = text_in(report, "suppressions");
  const std::string& file = suppressions.empty() ? named : suppressions;
  const bool is_text = text_in(report, "show") == "text";
  report.erase("suppressions");
  report.erase("show");
  Json& groups = report["groups"];
  if (!groups.is_array()) groups = Json::array();
  for (Json& group : groups) {
    if (!group.is_object()) continue;
    if (group.contains("allocated_at")) {
      group["allocated_at"] = symbolized_calls(group["allocated_at"], symbols);
    }
  }
  std::string text;
  std::vector<Suppression> all;
  if (!file.empty()) {
    auto read = suppressions_in(file);
    if (!read) text = fmt::format("tarn: suppressions: {} cannot be read\n", file);
    if (read) all = std::move(*read);
  }
  const bool has_leaks = suppress(report, all);
  if (!has_leaks) return {text, false};
  return {text + (is_text ? leaks_text(report, all) : line_of(report)), true};
}

Output symbolized_json(const std::string& line, const Symbols& symbols,
                       const std::string& suppressions) {
  // What the library writes is not deep; what somebody else wrote might be deeper than the stack.
  bool is_deep = false;
  const auto look = [&is_deep](int depth, Json::parse_event_t, Json&) {
    is_deep = is_deep || depth > 16;
    return !is_deep;
  };
  Json report = Json::parse(line, look, false);
  if (is_deep) return {line + "\n", false};
  const std::string kind = text_in(report, "tarn");
  if (kind == "leaks") return symbolized_leaks(std::move(report), symbols, suppressions);
  if (kind != "misuse") return {line + "\n", false};
  for (const char* const key : {"allocated_at", "freed_at", "now_at"}) {
    if (report.contains(key)) report[key] = symbolized_calls(report[key], symbols);
  }
  return {line_of(report), false};
}

}  // namespace

void add_symbolize_verb(CLI::App& app, SymbolizeOptions& options) {
  CLI::App* const verb =
      app.add_subcommand("symbolize", "Add functions and lines to a report of misuse");
  set_usage(verb, "Usage: tarn symbolize [OPTIONS] [FILE...]\n");
  verb->footer(symbolize_footer);
  verb->add_option("FILE", options.files, "An executable or a library that the report names")
      ->type_name("FILE");
  verb->add_option("--suppressions", options.suppressions,
                   "Leave out the leaks that a line of FILE covers")
      ->type_name("FILE");
  verb->add_option("--process", options.process, "Use the modules of this process")
      ->type_name("PID")
      ->check(CLI::Range(1, 1 << 22).description(""));
}

Ending symbolize_verb(const SymbolizeOptions& options) {
  if (!options.files.empty() && options.process != 0) {
    throw Failure(status_usage, "symbolize: leave --process or the files out");
  }
  const pid_t process = options.process != 0 ? options.process : ::getppid();
  const Symbols symbols =
      options.files.empty() ? Symbols::of_process(process) : Symbols::of_files(options.files);
  constexpr std::size_t text_bytes_most = std::size_t{1} << 20;
  std::string text;
  bool has_leaks = false;
  for (std::string line; std::getline(std::cin, line);) {
    const Output output = line.starts_with("{")
                              ? symbolized_json(line, symbols, options.suppressions)
                              : Output{symbolized_text(line, symbols), false};
    // Together, so that reports of several processes do not mix.
    text += output.text;
    if (text.size() > text_bytes_most) {
      write_fully(STDOUT_FILENO, text);
      text.clear();
    }
    has_leaks = has_leaks || output.has_leaks;
  }
  write_fully(STDOUT_FILENO, text);
  return {has_leaks ? status_leaks : 0, 0};
}

}  // namespace tarn
