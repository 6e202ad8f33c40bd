// mappings on Linux: the maps of /proc, and its pagemap, which tells the pages that have contents.
// Where there is no such file, and for memory that others share, mincore tells them, except for
// those that are swapped out.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/base/slice.hpp"
#include "platform/os/linux/lines.hpp"
#include "platform/standstill/standstill.hpp"

namespace tarn::os {

namespace {

const std::byte* address(std::uint64_t number) noexcept {
  return reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(number));
}

bool begins(const char* text, const char* with) noexcept {
  return strncmp(text, with, strlen(with)) == 0;
}

// True for the memory of a device: to read it may have an effect.
bool is_device(const char* name) noexcept {
  return begins(name, "/dev/") && !begins(name, "/dev/shm/") && !begins(name, "/dev/zero");
}

// True for a file's memory, and for memory that only has the name of a file. False for a driver's,
// of which only the pages that this process has touched are sure to be there.
bool is_memory(const char* name) noexcept {
  return name[0] == '/' && !begins(name, "/dmabuf") && !begins(name, "/drm");
}

// start-end rights offset device inode name
Mapping parse(const char* text) noexcept {
  Mapping m{};
  m.bytes.start = address(read_hexadecimal(&text));
  if (*text == '-') ++text;
  m.bytes.end = address(read_hexadecimal(&text));
  if (*text == ' ') ++text;
  if (strlen(text) < 4) return m;
  // NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): a line that was read.
  m.readable = text[0] == 'r';
  m.writable = text[1] == 'w';
  const bool is_private = text[3] == 'p';
  // NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult)
  const char* const name = strpbrk(text, "/[");
  m.is_named = name != nullptr;
  if (name == nullptr) return m;
  m.is_module = name[0] == '/' && is_private && !is_device(name);
  m.is_stack = begins(name, "[stack");
  m.is_device = is_device(name);
  m.is_shared = !is_private && is_memory(name);
  return m;
}

constexpr std::uint64_t entry_present = std::uint64_t{1} << 63;
constexpr std::uint64_t entry_swapped = std::uint64_t{1} << 62;
constexpr std::uint64_t entry_guard = std::uint64_t{1} << 58;  // Since Linux 6.15.

// Whether the page has contents that can be read. Guard markers (madvise) look like what is swapped
// out, so where the entry does not tell, a byte is asked for.
bool has_contents(std::uint64_t entry, const std::byte* page) noexcept {
  if ((entry & entry_present) != 0) return true;
  if ((entry & entry_swapped) == 0 || (entry & entry_guard) != 0) return false;
  std::byte byte{};
  return copy_readable(&byte, page, 1);
}

}  // namespace

std::size_t read_mappings(Mapping* to, std::size_t room) noexcept {
  const int file = open_maps();
  if (file < 0) return 0;
  Lines lines(file);
  char line[line_bytes];
  std::size_t count = 0;
  while (lines.next(line)) {
    if (count < room) to[count] = parse(line);
    ++count;
  }
  ::close(file);
  return count;
}

bool copy_readable(void* to, const std::byte* from, std::size_t bytes) noexcept {
  const iovec here{to, bytes};
  const iovec there{const_cast<std::byte*>(from), bytes};
  // The first thread, of the process's number, may have ended, and has no memory then.
  const ssize_t got = process_vm_readv(gettid(), &here, 1, &there, 1, 0);
  if (got < 0 && (errno == EPERM || errno == ENOSYS)) {  // A filter forbids it.
    memcpy(to, from, bytes);
    return true;
  }
  return got == static_cast<ssize_t>(bytes);
}

bool Presence::open() noexcept {
  seen_ = {};
  file_ = open_of_thread("/proc/thread-self/pagemap", "/proc/self/pagemap");
  return file_ >= 0 || errno == ENOENT || errno == EACCES || errno == EPERM;
}

void Presence::close() noexcept {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

bool Presence::add_resident(std::size_t pages) noexcept {
  unsigned char in_memory[pages_max_];
  auto* const start = const_cast<std::byte*>(seen_.start);
  if (mincore(start, pages * slice_bytes, in_memory) != 0) return false;
  for (std::size_t i = 0; i < pages; ++i) {
    if ((in_memory[i] & 1u) != 0) entries_[i] |= entry_present;
  }
  return true;
}

bool Presence::look(const std::byte* from, std::size_t pages, bool is_shared) noexcept {
  if (pages > pages_max_) pages = pages_max_;
  seen_ = {from, from + pages * slice_bytes};
  if (file_ < 0) {
    memset(entries_, 0, pages * sizeof entries_[0]);
    return add_resident(pages);
  }
  const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(from) / slice_bytes * 8);
  if (pread(file_, entries_, pages * 8, at) != static_cast<ssize_t>(pages * 8)) return false;
  for (std::size_t i = 0; i < pages; ++i) {
    entries_[i] = has_contents(entries_[i], from + i * slice_bytes) ? entry_present : 0;
  }
  return !is_shared || add_resident(pages);
}

bool Presence::has(const std::byte* page) const noexcept {
  return (entries_[static_cast<std::size_t>(page - seen_.start) / slice_bytes] & entry_present) !=
         0;
}

Bytes Presence::first_run(Bytes in, bool is_shared) noexcept {
  for (const std::byte* at = in.start; at < in.end;) {
    if (!seen_.has(at)) {
      const auto pages = static_cast<std::size_t>(in.end - at) / slice_bytes;
      if (!look(at, pages, is_shared)) {  // It does not say: all of it.
        seen_ = {};
        return {at, in.end};
      }
    }
    const std::byte* const to = seen_.end < in.end ? seen_.end : in.end;
    while (at < to && !has(at)) at += slice_bytes;
    if (at == to) continue;
    const std::byte* const first = at;
    while (at < to && has(at)) at += slice_bytes;
    return {first, at};
  }
  return {in.end, in.end};
}

}  // namespace tarn::os
