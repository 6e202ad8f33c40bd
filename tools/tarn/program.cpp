// program: see program.hpp.
// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "allocator_marks.hpp"
#include "descriptor.hpp"
#include "elf.hpp"
#include "quantity.hpp"

namespace tarn {

namespace {

namespace fs = std::filesystem;

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::eaccess(path.c_str(), X_OK) == 0;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < line.size();) {
    const std::size_t from = line.find_first_not_of(" \t", start);
    if (from == std::string_view::npos) break;
    const std::size_t to = std::min(line.find_first_of(" \t", from), line.size());
    words.emplace_back(line.substr(from, to - from));
    start = to;
  }
  return words;
}

// The words after "#!" in the first line, or nothing if the file is no script of that kind.
std::vector<std::string> interpreter_line(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 256> start{};  // As much as the kernel reads of it.
  const ssize_t got = file.is_open() ? ::read(file.number(), start.data(), start.size()) : -1;
  if (got < 3 || start[0] != '#' || start[1] != '!') return {};
  const std::string_view text(start.data() + 2, static_cast<std::size_t>(got) - 2);
  return words_of(text.substr(0, text.find('\n')));
}

// The program that `env` runs: the word after its options and assignments.
std::string program_after_env(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_program = words[i].front() != '-' && words[i].find('=') == std::string::npos;
    if (is_program) return find_program(words[i]);
  }
  return "";
}

// The executable that the kernel finally loads. Linux follows scripts through four levels.
std::string follow_scripts(std::string path) {
  for (int level = 0; level < 5; ++level) {
    const std::vector<std::string> words = interpreter_line(path);
    if (words.empty()) break;
    path = words.front();
    if (fs::path(path).filename() != "env") continue;
    const std::string behind = program_after_env(words);
    if (!behind.empty()) path = behind;
  }
  return path;
}

bool gains_privileges_by_mode(const struct stat& status) {
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid();
  // Without the group's execute bit, the set-group bit used to mean mandatory locking.
  const bool changes_group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 &&
                             status.st_gid != ::getgid();
  return changes_user || changes_group;
}

std::optional<Note> privileged_note(const std::string& path, const std::string& name) {
  struct stat status {};
  struct statvfs mount {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const bool is_ignored =
      (::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) ||
      ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  if (is_ignored) return std::nullopt;
  if (gains_privileges_by_mode(status)) {
    return Note{"setuid", fmt::format("{} changes user or group when it starts (setuid or setgid), "
                                      "so it ignores LD_PRELOAD and will run on its own malloc",
                                      name)};
  }
  // To root, the capabilities of a file give nothing new.
  if (::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return Note{"capability", fmt::format("{} gains capabilities when it starts, so it ignores "
                                          "LD_PRELOAD and will run on its own malloc",
                                          name)};
  }
  return std::nullopt;
}

// The dynamic loader that this command itself uses: what libtarn.so was built for.
std::string own_interpreter() {
  const auto elf = Elf::open("/proc/self/exe");
  return elf ? elf->interpreter() : "";
}

void judge_loading(const Elf& elf, const std::string& name, Inspection& inspection) {
  if (!elf.is_native()) {
    inspection.is_preloadable = false;
    inspection.notes.push_back(
        {"machine", fmt::format("{} is a program for {}, for which there is no libtarn.so here: "
                                "it will run on its own malloc",
                                name, elf.machine_name())});
  } else if (elf.interpreter().empty() && !elf.soname().starts_with("ld")) {
    // A dynamic loader has no interpreter either, but heeds LD_PRELOAD for what it starts.
    inspection.notes.push_back(
        {"static", fmt::format("{} is statically linked, so nothing can be preloaded into it: it "
                               "will run on its own malloc (link it with libtarn.a instead)",
                               name)});
  } else if (!elf.interpreter().empty() &&
             fs::path(elf.interpreter()).filename() != fs::path(own_interpreter()).filename()) {
    inspection.is_preloadable = false;
    inspection.notes.push_back(
        {"interpreter", fmt::format("{} is started by {}, another C library's loader, into which "
                                    "libtarn.so cannot go: it will run on its own malloc",
                                    name, text_of_name(elf.interpreter()))});
  }
}

}  // namespace

std::string find_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return is_executable_file(word) ? word : "";
  const char* const listed = std::getenv("PATH");
  const std::string_view folders = listed == nullptr ? "/bin:/usr/bin" : listed;
  for (std::size_t start = 0; start <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', start), folders.size());
    const std::string folder(folders.substr(start, end - start));
    const std::string path = (folder.empty() ? "." : folder) + "/" + word;
    if (is_executable_file(path)) return path;
    start = end + 1;
  }
  return "";
}

Inspection inspect_program(const std::string& word) {
  Inspection inspection;
  const std::string found = find_program(word);
  if (found.empty()) return inspection;  // The start itself will say what is wrong with it.
  inspection.path = follow_scripts(found);
  std::string name = text_of_name(word);
  if (inspection.path != found) name += fmt::format(" (run by {})", text_of_name(inspection.path));

  auto elf = Elf::open(inspection.path);
  if (!elf) {
    // execvp passes a file that is neither ELF nor a script with "#!" to the shell.
    inspection.path = "/bin/sh";
    elf = Elf::open(inspection.path);
    if (!elf) return inspection;
  }
  judge_loading(*elf, name, inspection);
  if (inspection.notes.empty()) {
    if (const auto note = privileged_note(inspection.path, name)) inspection.notes.push_back(*note);
  }
  inspection.is_reachable = inspection.notes.empty();
  if (!elf->is_native()) return inspection;
  if (const std::string_view sanitizer = sanitizer_of(*elf); !sanitizer.empty()) {
    inspection.is_reachable = inspection.is_preloadable = false;
    inspection.notes.push_back(
        {"sanitizer", fmt::format("{} is built with {}, which finds faults by a malloc of its own: "
                                  "it will run on that; build it without to run it on tarn",
                                  name, sanitizer)});
    return inspection;
  }
  add_allocator_notes(*elf, name, inspection);
  add_python_note(*elf, name, inspection);
  return inspection;
}

}  // namespace tarn
