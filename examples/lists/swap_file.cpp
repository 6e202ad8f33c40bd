// swap_file: see swap_file.hpp. The header is that of the kernel's "SWAPSPACE2" format, version 1:
//
//   page 0:  1024 bytes of nothing | version, last page, bad pages | ... | "SWAPSPACE2" at its end
//
// SPDX-License-Identifier: MIT
#include "swap_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/statvfs.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <vector>

#include "lacking.hpp"

namespace lists {

namespace {

constexpr std::string_view name_start = "tarn-lists-";
constexpr std::string_view name_end = ".swap";
constexpr std::string_view magic = "SWAPSPACE2";

bool write_header(int file, std::uint64_t bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<char> page(page_bytes);
  const std::array<std::uint32_t, 3> fields = {
      1, static_cast<std::uint32_t>(bytes / page_bytes - 1), 0};
  std::memcpy(page.data() + 1024, fields.data(), sizeof(fields));
  std::memcpy(page.data() + page_bytes - magic.size(), magic.data(), magic.size());
  return pwrite(file, page.data(), page.size(), 0) == static_cast<ssize_t>(page.size());
}

// Some file systems give swapon only blocks that have been written once.
bool write_zeros(int file, std::uint64_t bytes) {
  const std::vector<char> zeros(1 << 20);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t written = pwrite(file, zeros.data(), zeros.size(), static_cast<off_t>(done));
    if (written <= 0) return false;
    done += static_cast<std::uint64_t>(written);
  }
  return fsync(file) == 0;
}

void remove_left_over(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(name_start) || !name.ends_with(name_end)) continue;
    pid_t owner = 0;
    std::from_chars(name.data() + name_start.size(), name.data() + name.size(), owner);
    if (owner <= 0 || kill(owner, 0) == 0) continue;
    swapoff(entry.path().c_str());
    unlink(entry.path().c_str());
  }
}

void require_space(const std::string& folder, std::uint64_t bytes) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) {
    throw Lacking(with_errno(folder) + "; name an existing folder with --swap-dir");
  }
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free_bytes < bytes + bytes / 8) {
    throw Lacking("a swap file of " + std::to_string(bytes >> 20) + " MiB does not fit into " +
                  folder + "; name a folder with more room with --swap-dir");
  }
}

bool switch_on(int file, const std::string& path, std::uint64_t bytes) {
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0 && write_header(file, bytes) && fsync(file) == 0 && swapon(path.c_str(), 0) == 0) {
    return true;
  }
  return write_zeros(file, bytes) && write_header(file, bytes) && fsync(file) == 0 &&
         swapon(path.c_str(), 0) == 0;
}

}  // namespace

std::uint64_t swap_bytes_free() {
  struct sysinfo machine {};
  return sysinfo(&machine) == 0 ? std::uint64_t{machine.freeswap} * machine.mem_unit : 0;
}

SwapFile::SwapFile(const std::string& folder, std::uint64_t bytes) {
  remove_left_over(folder);
  require_space(folder, bytes);
  path_ = folder + "/" + std::string(name_start) + std::to_string(getpid()) + std::string(name_end);
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    throw Lacking(with_errno("cannot make " + path_) + "; name a folder with --swap-dir");
  }
  const bool on = switch_on(file, path_, bytes);
  const std::string what = with_errno("cannot swap to " + path_);
  close(file);
  if (!on) {
    unlink(path_.c_str());
    throw Lacking(what +
                  "; it takes root, and a folder on a disk (no tmpfs, no overlay): "
                  "name one with --swap-dir");
  }
}

SwapFile::~SwapFile() {
  if (swapoff(path_.c_str()) != 0) {
    std::fprintf(stderr, "lists: cannot switch off %s: %s; do it with: swapoff %s\n", path_.c_str(),
                 std::strerror(errno), path_.c_str());
    return;
  }
  unlink(path_.c_str());
}

}  // namespace lists
