// library: see library.hpp.
// SPDX-License-Identifier: MIT
#include "library.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "elf.hpp"
#include "failure.hpp"

namespace tarn {

namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr std::string_view triplet = "x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr std::string_view triplet = "aarch64-linux-gnu";
#elif defined(__riscv)
constexpr std::string_view triplet = "riscv64-linux-gnu";
#else
constexpr std::string_view triplet = "linux-gnu";
#endif

void set_variable(std::vector<std::string>& environment, std::string_view name,
                  const std::string& value) {
  const std::string prefix = fmt::format("{}=", name);
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(prefix); });
  environment.push_back(prefix + value);
}

std::vector<fs::path> usual_places() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path bin = executable.parent_path();
  const fs::path prefix = bin.parent_path();
  // First where it was installed, then relative to where the command is now.
  std::vector<fs::path> places{(bin / TARN_LIB_FROM_BIN / "libtarn.so").lexically_normal()};
  for (const fs::path& folder : {fs::path("lib"), "lib" / fs::path(triplet), fs::path("lib64")}) {
    const fs::path place = prefix / folder / "libtarn.so";
    if (place != places.front()) places.push_back(place);
  }
  return places;
}

}  // namespace

std::string check_library(const std::string& file, std::string_view option) {
  std::error_code error;
  const std::string path = fs::absolute(file, error).string();
  if (!fs::exists(path, error)) {
    throw Failure(status_usage, fmt::format("{}: there is no file '{}'", option, file));
  }
  const auto elf = Elf::open(path);
  if (!elf || !elf->is_native() || !elf->is_shared_object()) {
    throw Failure(status_usage,
                  fmt::format("{}: '{}' is no shared library for this machine", option, file));
  }
  // The loader splits LD_PRELOAD at these characters, and knows no quoting.
  if (path.find_first_of(" :") != std::string::npos) {
    throw Failure(status_usage,
                  fmt::format("{}: LD_PRELOAD cannot name '{}', which has a space or a colon; make "
                              "a symbolic link to it elsewhere and give that with {}",
                              option, path, option));
  }
  return path;
}

std::string find_library(const std::string& wanted) {
  if (!wanted.empty()) return check_library(wanted, "--library");
  std::vector<std::string> tried;
  for (const fs::path& place : usual_places()) {
    std::error_code error;
    if (fs::exists(place, error)) return check_library(place.string(), "--library");
    tried.push_back(place.string());
  }
  throw Failure(status_usage,
                fmt::format("cannot find libtarn.so (looked for {}); build it, or say where it is "
                            "with --library FILE",
                            fmt::join(tried, ", ")));
}

std::vector<std::string> current_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  return environment;
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
  const std::string prefix = fmt::format("{}=", name);
  for (const std::string& entry : environment) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return "";
}

void add_preload(std::vector<std::string>& environment, const std::string& library) {
  const std::string before = value_of(environment, "LD_PRELOAD");
  set_variable(environment, "LD_PRELOAD", before.empty() ? library : library + ":" + before);
}

void set_option(std::vector<std::string>& environment, std::string_view name,
                const std::string& value) {
  const std::string prefix = fmt::format("{}=", name);
  std::string options;
  const std::string before = value_of(environment, "TARN_OPTIONS");
  for (std::size_t start = 0; start < before.size();) {
    const std::size_t end = std::min(before.find(',', start), before.size());
    const std::string option = before.substr(start, end - start);
    if (!option.empty() && !option.starts_with(prefix)) options += option + ",";
    start = end + 1;
  }
  set_variable(environment, "TARN_OPTIONS", options + prefix + value);
}

void set_default(std::vector<std::string>& environment, std::string_view name,
                 const std::string& value) {
  const std::string options = "," + value_of(environment, "TARN_OPTIONS");
  if (options.find(fmt::format(",{}=", name)) != std::string::npos) return;
  set_option(environment, name, value);
}

void set_symbolizer(std::vector<std::string>& environment) {
  std::error_code error;
  const std::string command = fs::read_symlink("/proc/self/exe", error).string();
  // A comma ends an option.
  if (error || command.find(',') != std::string::npos) return;
  set_default(environment, "symbolizer", command);
}

}  // namespace tarn
