// cgroup: see cgroup.hpp.
//
// SPDX-License-Identifier: MIT
#include "cgroup.hpp"

#include <cctype>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "lacking.hpp"

namespace lists {

namespace {

constexpr const char* name_start = "tarn-lists-";
constexpr std::uint64_t relief_bytes = 2 << 20;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int saved = errno;
  close(file);
  errno = saved;
  return written;
}

bool has_word(const std::string& text, const std::string& word, char separator) {
  std::istringstream words(text);
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

struct Mount {
  std::string root;   // Which folder of the file system is mounted ...
  std::string point;  // ... and where.
};

// A line of mountinfo: id parent device root point options tags... - type source super_options
bool parse_mount(const std::string& line, const std::string& type, const char* option,
                 Mount& mount) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string::npos) return false;
  std::istringstream right(line.substr(dash + 3));
  std::string found_type, source, super_options;
  right >> found_type >> source >> super_options;
  if (found_type != type) return false;
  if (option != nullptr && !has_word(super_options, option, ',')) return false;
  std::istringstream left(line);
  std::string skipped;
  left >> skipped >> skipped >> skipped >> mount.root >> mount.point;
  return true;
}

bool find_mount(const std::string& mountinfo, const std::string& type, const char* option,
                Mount& mount) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    if (parse_mount(line, type, option, mount)) return true;
  }
  return false;
}

// A line of /proc/self/cgroup: number:controllers:path; version 2 has no controllers there.
std::string own_path(const std::string& self_cgroup, const std::string& controller) {
  std::istringstream lines(self_cgroup);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller, ',')) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

CgroupPlace place_of(int version, const Mount& mount, std::string path) {
  // In a container the mount may show only a part of the tree, and the path start outside of it.
  if (mount.root != "/" && path.starts_with(mount.root)) path.erase(0, mount.root.size());
  if (path == "/" || path.find("..") != std::string::npos) path.clear();
  return {version, mount.point, mount.point + path};
}

// In version 2 a group may hand out memory if its subtree_control says so; a group that holds
// processes itself, other than the root, cannot be told to.
std::string folder_that_hands_out_memory(const CgroupPlace& place) {
  for (const std::string& folder : folders_upwards(place)) {
    const std::string control = folder + "/cgroup.subtree_control";
    std::string given = read_text(control);
    for (char& c : given) c = std::isspace(static_cast<unsigned char>(c)) ? ' ' : c;
    if (has_word(given, "memory", ' ') || write_text(control, "+memory")) return folder;
  }
  throw Lacking("no control group here may limit memory (version 2, " + place.own +
                "); start it with: systemd-run --scope -p Delegate=yes lists ...");
}

void remove_left_over(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(name_start)) continue;
    pid_t owner = 0;
    const std::string digits = name.substr(std::strlen(name_start));
    std::from_chars(digits.data(), digits.data() + digits.size(), owner);
    if (owner > 0 && kill(owner, 0) != 0) rmdir(entry.path().c_str());
  }
}

}  // namespace

CgroupPlace find_cgroup(const std::string& mountinfo, const std::string& self_cgroup) {
  Mount mount;
  if (find_mount(mountinfo, "cgroup", "memory", mount)) {
    return place_of(1, mount, own_path(self_cgroup, "memory"));
  }
  if (find_mount(mountinfo, "cgroup2", nullptr, mount)) {
    return place_of(2, mount, own_path(self_cgroup, ""));
  }
  return {};
}

std::vector<std::string> folders_upwards(const CgroupPlace& place) {
  std::vector<std::string> folders{place.own};
  while (folders.back().size() > place.mount.size()) {
    folders.push_back(folders.back().substr(0, folders.back().rfind('/')));
  }
  return folders;
}

MemoryCgroup::MemoryCgroup(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {
  const CgroupPlace place =
      find_cgroup(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"));
  if (place.version == 0) {
    throw Lacking(
        "no control groups are mounted; mount them with: "
        "mount -t cgroup2 none /sys/fs/cgroup");
  }
  std::string parent = place.own;
  if (place.version == 2) {
    parent = folder_that_hands_out_memory(place);
  } else if (access((parent + "/memory.limit_in_bytes").c_str(), W_OK) != 0) {
    parent = place.mount;
  }
  remove_left_over(parent);

  folder_ = parent + "/" + name_start;
  folder_ += std::to_string(getpid());
  if (mkdir(folder_.c_str(), 0755) != 0) {
    throw Lacking(with_errno("cannot make the control group " + folder_) +
                  "; it takes root, and control groups mounted for writing");
  }
  procs_file_ = folder_ + "/cgroup.procs";
  limit_file_ = folder_ + (place.version == 1 ? "/memory.limit_in_bytes" : "/memory.max");
  if (!write_text(limit_file_, std::to_string(limit_bytes))) {
    const std::string what = with_errno("cannot set " + limit_file_);
    rmdir(folder_.c_str());
    throw Lacking(what + "; the kernel needs its memory controller");
  }
  // What is asked for here is paging: swap as readily as the kernel can.
  write_text(folder_ + (place.version == 1 ? "/memory.swappiness" : "/memory.swap.max"),
             place.version == 1 ? "100" : "max");
  const std::string oom_file = folder_ + "/memory.oom_control";
  if (place.version == 1 && write_text(oom_file, "1")) oom_file_ = oom_file;
}

MemoryCgroup::~MemoryCgroup() {
  // The kernel may take a moment to notice that the last process has gone.
  for (int tries = 0; rmdir(folder_.c_str()) != 0 && errno == EBUSY && tries < 200; ++tries) {
    usleep(10'000);
  }
}

bool MemoryCgroup::enter() const noexcept {
  const int file = open(procs_file_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, "0", 1) == 1;  // 0 is the process that writes.
  close(file);
  return written;
}

bool MemoryCgroup::relieve() const {
  if (oom_file_.empty() || read_text(oom_file_).find("under_oom 1") == std::string::npos) {
    return true;
  }
  // The kernel judges by numbers of pages that it has yet to add up; reading them adds them up.
  read_text(folder_ + "/memory.stat");
  // Lowering the limit swaps out, in this process; raising it wakes the processes that wait.
  const bool swapped = write_text(limit_file_, std::to_string(limit_bytes_ - relief_bytes));
  return write_text(limit_file_, std::to_string(limit_bytes_)) && swapped;
}

}  // namespace lists
