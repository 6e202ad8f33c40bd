// classes: see classes.hpp.
// SPDX-License-Identifier: MIT
#include "classes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "best_table.hpp"
#include "classes_report.hpp"
#include "failure.hpp"
#include "library.hpp"
#include "quantity.hpp"
#include "record_sizes.hpp"
#include "result_file.hpp"
#include "usage.hpp"

namespace tarn {

namespace {

constexpr double knee_part = 0.005;  // One more class must save this part of what is asked for.

constexpr const char* classes_footer =
    "FILE has a size in bytes on each line, or a size and how often it is asked for; # begins a\n"
    "comment, - is stdin. With a program, its requests are counted, and those of the programs\n"
    "that it starts; the result then goes to stderr, and the exit status is the program's. With\n"
    "--json - or --save - the program's output goes to stderr too. Requests are counted, not how\n"
    "long blocks live.\n\n"
    "Examples:\n"
    "  tarn classes --save sizes.txt -- ./server --once\n"
    "  tarn classes --classes 16 --code c++ sizes.txt\n"
    "  tarn classes --uniform 32:8M\n";

// "32", "128K", "8M".
bool parse_bytes(std::string_view text, std::size_t* bytes) {
  unsigned shift = 0;
  constexpr std::string_view units = "KMG";
  if (const std::size_t unit = text.empty() ? units.npos : units.find(text.back());
      unit != units.npos) {
    shift = static_cast<unsigned>(unit + 1) * 10;
    text.remove_suffix(1);
  }
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, *bytes);
  if (error != std::errc{} || stopped != end || *bytes > (std::size_t{1} << 40) >> shift) {
    return false;
  }
  *bytes <<= shift;
  return true;
}

// A report that cannot be written is an error; one on stderr is not, since it is beside what the
// program does.
void print(int descriptor, std::string_view text) {
  if (write_fully(descriptor, text) || descriptor != STDOUT_FILENO) return;
  throw Failure(status_refused,
                fmt::format("classes: cannot write to stdout: {}", std::strerror(errno)));
}

Ending uniform(const ClassesOptions& options, ResultFile& json) {
  const std::size_t colon = options.uniform.find(':');
  std::size_t least = 0;
  std::size_t most = 0;
  if (colon == std::string::npos || !parse_bytes({options.uniform.data(), colon}, &least) ||
      !parse_bytes(std::string_view(options.uniform).substr(colon + 1), &most) || least == 0 ||
      least > most) {
    throw Failure(status_usage,
                  fmt::format("classes: --uniform takes LEAST:MOST in bytes, such as 32:8M, up to "
                              "1024G, not '{}'",
                              text_of_name(options.uniform)));
  }
  const std::vector<TableFigures> tables = uniform_tables(least, most);
  if (json.is_wanted()) json.write(uniform_json(least, most, tables));
  if (!json.is_stdout()) print(STDOUT_FILENO, uniform_text(least, most, tables));
  return {};
}

std::string text_of_nothing(const std::string& source) {
  return fmt::format("{} asks for nothing that a class could serve (up to 128 KiB)",
                     text_of_name(source));
}

// pre: the counts are not empty
ClassesResult judge(SizeCounts counts, std::string source, std::size_t wanted) {
  const BestTables tables(counts, classes_max);
  ClassesResult result;
  const std::size_t count =
      wanted == 0 ? tables.knee(knee_part) : std::min(wanted, tables.count_max());
  result.is_knee = wanted == 0 && count < tables.count_max();
  result.best = figures_of(fmt::format("best of {}", count), counts, tables.table(count));
  result.others = ready_tables(counts);
  for (const std::size_t k : {1u, 2u, 4u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 128u}) {
    if (k > tables.count_max()) break;
    const double reserved = static_cast<double>(tables.reserved_bytes(k));
    result.slack_by_count.emplace_back(k, 1 - static_cast<double>(counts.bytes) / reserved);
  }
  result.counts = std::move(counts);
  result.source = std::move(source);
  return result;
}

// Opened before the program runs, so that counts are never lost to a path that cannot be written.
struct ResultFiles {
  ResultFile json;
  ResultFile save;

  bool is_stdout() const noexcept { return json.is_stdout() || save.is_stdout(); }
};

void show(const ClassesResult& result, const ClassesOptions& options, ResultFiles& files,
          int descriptor) {
  if (files.save.is_wanted()) files.save.write_text(text_of_sizes(result.counts));
  if (files.json.is_wanted()) files.json.write(classes_json(result));
  if (files.is_stdout() && descriptor == STDOUT_FILENO) return;
  print(descriptor, options.code.empty()
                        ? classes_text(result)
                        : classes_code(result, options.code == "c" ? Language::c : Language::cpp));
}

Ending of_program(const ClassesOptions& options, ResultFiles& files) {
  Terminal terminal(ColorChoice::automatic, false);
  const SizeRecord record =
      record_sizes(options.words, find_library(options.library), files.is_stdout(), terminal);
  if (record.outcome.end_signal != 0 && record.outcome.pid == 0) {
    return {0, record.outcome.end_signal};
  }
  const std::string name = text_of_name(options.words.front());
  const Ending ending{record.outcome.exit_status(), record.outcome.signal()};
  if (record.processes == 0) {
    terminal.warn(
        fmt::format("{} was not counted: it is or became a program that cannot be "
                    "preloaded into, or it dropped LD_PRELOAD",
                    name));
    return ending.status == 0 && ending.signal == 0 ? Ending{status_refused, 0} : ending;
  }
  if (record.counts.empty()) {
    terminal.warn(text_of_nothing(name));
    return ending;
  }
  show(judge(record.counts, name, options.classes), options, files, STDERR_FILENO);
  return ending;
}

void check(const ClassesOptions& options) {
  const int sources = !options.words.empty() + !options.file.empty() + !options.uniform.empty();
  if (sources == 0) {
    throw Failure(status_usage,
                  "classes: name a file with sizes, or a program after --; see `tarn classes "
                  "--help`");
  }
  if (sources > 1) {
    throw Failure(status_usage, "classes: a file, a program and --uniform exclude each other");
  }
  if (!options.uniform.empty() &&
      (options.classes != 0 || !options.code.empty() || !options.save.empty())) {
    throw Failure(status_usage,
                  "classes: --uniform shows ready-made tables; leave it or --classes, --code and "
                  "--save out");
  }
  if (!options.json.empty() && options.json == options.save) {
    throw Failure(status_usage, "classes: --json and --save need a file each");
  }
  if (!options.code.empty() && options.words.empty() &&
      (options.json == "-" || options.save == "-")) {
    throw Failure(status_usage, "classes: --code goes to stdout; --json and --save need a file");
  }
  if (!options.library.empty() && options.words.empty()) {
    throw Failure(status_usage, "classes: --library is for a program");
  }
}

}  // namespace

void add_classes_verb(CLI::App& app, ClassesOptions& options) {
  CLI::App* const classes =
      app.add_subcommand("classes", "Find the best size classes for a program");
  set_usage(classes,
            "Usage: tarn classes [OPTIONS] FILE\n"
            "       tarn classes [OPTIONS] -- PROGRAM [ARGS...]\n"
            "       tarn classes --uniform LEAST:MOST\n");
  classes->footer(classes_footer);
  classes->add_option("FILE", options.file, "Sizes (- for stdin)")->type_name("");
  classes->add_option("--classes", options.classes, "Make K classes, not as many as pay")
      ->type_name("K")
      ->check(CLI::Range(std::size_t{1}, classes_max).description(""));
  classes->add_option("--code", options.code, "Print the table as source code")
      ->type_name("c|c++")
      ->check(CLI::IsMember({"c", "c++"}).description(""));
  classes->add_option("--json", options.json, "Write everything as JSON to FILE (- for stdout)")
      ->type_name("FILE");
  classes->add_option("--save", options.save, "Write the sizes to FILE (- for stdout)")
      ->type_name("FILE");
  classes->add_option("--uniform", options.uniform, "Ready-made tables for equally frequent sizes")
      ->type_name("LEAST:MOST");
  classes->add_option("--library", options.library, "Use this libtarn.so")->type_name("FILE");
}

Ending classes_verb(const ClassesOptions& options) {
  check(options);
  ResultFiles files{ResultFile(options.json), ResultFile(options.save, "--save")};
  if (!options.uniform.empty()) return uniform(options, files.json);
  if (!options.words.empty()) return of_program(options, files);
  const std::string source = options.file == "-" ? "standard input" : options.file;
  SizeCounts counts = read_sizes(options.file);
  if (counts.empty()) throw Failure(status_usage, "classes: " + text_of_nothing(source));
  show(judge(std::move(counts), source, options.classes), options, files, STDOUT_FILENO);
  return {};
}

}  // namespace tarn
