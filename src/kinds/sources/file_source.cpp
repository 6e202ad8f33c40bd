// file_source: chunks from a mapped file. See tarn/source/file_source.h; docs/design/sources.md.
//
//   file: | FileHead | gaps and chunks, by offset from the end of the head ...
//
// The file is mapped at the front of a range of addresses that is reserved for its largest size, so
// that chunks stay where they are when it grows.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/file_source.h"

#include <cerrno>
#include <cstring>

#include "engine/layout/geometry.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/config.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/file.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/options.hpp"
#include "tarn/source/buffer_source.h"

namespace tarn {

namespace {

constexpr std::uint64_t file_magic = 0x3165'6c69'666e'7274;  // "trnfile1" as it lies in memory.
constexpr std::uint64_t file_unfinished = 0x3065'6c69'666e'7274;  // "trnfile0": being made.
constexpr std::size_t base_alignment = std::size_t{2} << 20;
constexpr std::size_t bytes_max_default = std::size_t{1} << 30;
constexpr std::size_t growth_max = std::size_t{64} << 20;
constexpr std::size_t bytes_limit = PTRDIFF_MAX / 4;

struct FileHead {
  std::uint64_t magic;
  std::uint64_t busy;  // A process is changing the gaps, or has died doing so.
  std::uint64_t root;  // An offset in the file; 0: there is no root.
  std::uint64_t reserved[4];
  tarn_gaps gaps;
  std::uint64_t reserved_too[2];
};
static_assert(sizeof(tarn_gaps) == 56 && sizeof(FileHead) == 128 &&
                  sizeof(FileHead) % TARN_GAP_GRAIN == 0,
              "files are exchanged between versions");

constexpr std::size_t head_bytes = sizeof(FileHead);

FileHead& head_of(const tarn_file_source& source) noexcept {
  return *reinterpret_cast<FileHead*>(source.start);
}
char* base_of(const tarn_file_source& source) noexcept { return source.start + head_bytes; }

bool is_shared(const tarn_file_source& source) noexcept {
  return (source.flags & TARN_FILE_PRIVATE) == 0;
}

std::size_t page() noexcept {
  const std::size_t bytes = os::page_bytes();
  return bytes < slice_bytes ? slice_bytes : bytes;
}

const char* words_for(int error) noexcept {
  switch (error) {
    case ENOENT: return "there is no file of this name";
    case EEXIST: return "there is a file of this name already";
    case EACCES:
    case EPERM: return "no right to open the file so, or its descriptor is not for writing";
    case EROFS: return "the file system is read-only";
    case EISDIR: return "it is a folder";
    case ENAMETOOLONG: return "the name is too long";
    case ENOTDIR: return "part of the path is no folder";
    case EINVAL: return "it is no regular file, or the name cannot be one";
    case EFBIG: return "the file may not be so large: bytes_max, or the process's limit";
    case ENOSPC: return "the storage is full";
    case ENOMEM: return "there is no address space for it";
    case EBADMSG: return "it is no file of a file source, or was cut short or damaged";
    default: return "the system refuses it: see errno";
  }
}

int fail(tarn_file_source& source, int error, const char* why = nullptr) noexcept {
  errno = error;
  source.why = why != nullptr ? why : words_for(error);
  return -1;
}

const char* fault_of(const tarn_file_source_options& options) noexcept {
  constexpr unsigned known = TARN_FILE_CREATE | TARN_FILE_EXCLUSIVE | TARN_FILE_PRIVATE |
                             TARN_FILE_SHARED_MEMORY | TARN_FILE_DESCRIPTOR;
  const unsigned flags = options.flags;
  if (!is_sized(options, "tarn_file_source_init", "TARN_FILE_SOURCE_OPTIONS")) {
    return "TARN_FILE_SOURCE_OPTIONS(...) did not set the options' size";
  }
  if ((flags & ~known) != 0) return "unknown options";
  if ((flags & TARN_FILE_EXCLUSIVE) != 0 &&
      ((flags & TARN_FILE_CREATE) == 0 || (flags & TARN_FILE_DESCRIPTOR) != 0)) {
    return "exclusive makes sense with create, and not with a descriptor";
  }
  if ((flags & TARN_FILE_PRIVATE) != 0 && (flags & TARN_FILE_CREATE) != 0) {
    return "a private source does not write to the file, so it cannot create it";
  }
  if (options.bytes_max > bytes_limit || options.file_bytes > bytes_limit ||
      options.chunk_bytes > bytes_limit || (options.mode & ~0777u) != 0 ||
      (options.bytes_max != 0 &&
       (options.file_bytes > options.bytes_max || options.bytes_max < page()))) {
    return "sizes or rights that make no sense";
  }
  if ((flags & TARN_FILE_DESCRIPTOR) != 0) return nullptr;
  if (options.name == nullptr || options.name[0] == '\0') return "there is no name";
  if ((flags & TARN_FILE_SHARED_MEMORY) != 0 &&
      (options.name[0] != '/' || options.name[1] == '\0' ||
       strchr(options.name + 1, '/') != nullptr)) {
    return "a name of shared memory is a slash and what follows it, without another one";
  }
  return nullptr;
}

int open_file(const tarn_file_source_options& options) noexcept {
  const bool writes = (options.flags & TARN_FILE_PRIVATE) == 0;
  if ((options.flags & TARN_FILE_DESCRIPTOR) != 0) {
    return os::file_again(options.descriptor, writes);
  }
  const unsigned flags = (writes ? os::file_writes : 0u) |
                         ((options.flags & TARN_FILE_CREATE) != 0 ? os::file_creates : 0u) |
                         ((options.flags & TARN_FILE_EXCLUSIVE) != 0 ? os::file_is_new : 0u);
  const bool shared_memory = (options.flags & TARN_FILE_SHARED_MEMORY) != 0;
  return os::file_open(options.name,
                       shared_memory ? os::FileKind::shared_memory : os::FileKind::path, flags,
                       options.mode == 0 ? 0600u : options.mode);
}

// Maps the first `bytes` of the file, as far as they are not mapped yet. of_file: false for the
// part of a private source that lies beyond the file, which is memory.
bool map_up_to(tarn_file_source& source, std::size_t bytes, bool of_file) noexcept {
  bytes = align_up(bytes, page());
  if (bytes <= source.mapped_bytes) return true;
  if (bytes > source.bytes_max) {
    errno = EFBIG;
    return false;
  }
  TARN_ASSERT(source.mapped_bytes % page() == 0);
  char* const start = source.start + source.mapped_bytes;
  const std::size_t more = bytes - source.mapped_bytes;
  const bool mapped =
      of_file ? os::file_map(start, source.file, source.mapped_bytes, more, is_shared(source))
              : os::vm_open(start, more);
  if (mapped) source.mapped_bytes = bytes;
  if (!mapped && !of_file) errno = ENOMEM;
  return mapped;
}

// Whether the gaps are in order. If a process died while it changed them, they are counted anew;
// the range that it was changing may be lost as a chunk that no process has.
bool are_in_order(const tarn_file_source& source) noexcept {
  FileHead& head = head_of(source);
  const char* const base = base_of(source);
  if (tarn_gaps_check(base, &head.gaps) != 0) return true;
  if (head.busy == 0) return false;
  tarn_gaps counted = head.gaps;
  std::size_t count = 0;
  std::size_t end = 0;
  counted.free_bytes = 0;
  for (std::size_t at = counted.first; at != TARN_NO_GAP; ++count) {
    if (at < end || at > counted.bytes) return false;
    if (counted.bytes - at < sizeof(tarn_gap)) return false;
    const tarn_gap gap = tarn_gap_read(base, at);
    if (gap.bytes == 0 || gap.bytes > counted.bytes - at) return false;
    end = at + gap.bytes;
    counted.free_bytes += gap.bytes;
    at = gap.next;
  }
  if (counted.free_bytes_min > counted.free_bytes) counted.free_bytes_min = counted.free_bytes;
  if (counted.chunks + 1 < count) counted.chunks = count - 1;
  if (counted.chunks == 0 && counted.free_bytes != counted.bytes) counted.chunks = 1;
  if (tarn_gaps_check(base, &counted) == 0) return false;
  head.gaps = counted;
  return true;
}

// Between enter() and leave() this source alone uses the gaps, and all of them are mapped. False,
// with errno: that cannot be.
bool enter(tarn_file_source& source) noexcept {
  if (!is_shared(source)) return true;
  if (!os::file_lock(source.file)) return false;
  FileHead& head = head_of(source);
  if (map_up_to(source, head_bytes + head.gaps.bytes, true)) {
    TARN_ASSERT(head_bytes + head.gaps.bytes <= source.mapped_bytes);
    // If it is busy, the process that was here last has died, and its work may be half-done.
    if (head.busy == 0 || are_in_order(source)) {
      head.busy = 1;
      // The compiler must not move what follows before this store. If the process dies, all that it
      // has written is in the file.
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
      return true;
    }
    errno = EBADMSG;
  }
  os::file_unlock(source.file);
  return false;
}

void leave(tarn_file_source& source) noexcept {
  if (!is_shared(source)) return;
  TARN_ASSERT(head_of(source).busy != 0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  head_of(source).busy = 0;
  os::file_unlock(source.file);
}

// Extends the file to `bytes`, and makes a gap of what is added. False, with errno: it is as it
// was.
bool extend(tarn_file_source& source, std::size_t bytes) noexcept {
  tarn_gaps& gaps = head_of(source).gaps;
  const std::size_t old = gaps.bytes;
  TARN_ASSERT(bytes > head_bytes + old);
  if (bytes > source.bytes_max) {
    errno = EFBIG;
    return false;
  }
  if (is_shared(source) && !os::file_extend(source.file, bytes)) return false;
  if (!map_up_to(source, bytes, is_shared(source))) return false;
  const std::size_t more = bytes - head_bytes - old;
  TARN_ASSERT(more % TARN_GAP_GRAIN == 0 && bytes <= source.mapped_bytes);
  gaps.bytes = old + more;
  tarn_gaps_give(base_of(source), &gaps, old, more);
  return true;
}

// Extends the file by a quarter, so that the calls are few; or if that fails, by what is needed.
bool grow_for(tarn_file_source& source, std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t old = head_bytes + head_of(source).gaps.bytes;
  if (bytes > bytes_limit || alignment > bytes_limit) {
    errno = EFBIG;
    return false;
  }
  const std::size_t slack = alignment > TARN_GAP_GRAIN ? alignment : TARN_GAP_GRAIN;
  const std::size_t least = align_up(old + bytes + slack, page());
  const std::size_t quarter = old / 4 < growth_max ? old / 4 : growth_max;
  std::size_t wanted = align_up(old + quarter, page());
  if (wanted > source.bytes_max) wanted = source.bytes_max;
  if (wanted > least && extend(source, wanted)) return true;
  if (least <= source.bytes_max) return extend(source, least);
  // The last bytes may suffice, since alignment may take less.
  errno = EFBIG;
  return source.bytes_max > old && extend(source, source.bytes_max);
}

// Whether the head makes sense for a file of this length, and the gaps are in order.
bool is_sound(const tarn_file_source& source, std::size_t bytes) noexcept {
  const FileHead& head = head_of(source);
  return head.magic == file_magic && head.gaps.bytes % TARN_GAP_GRAIN == 0 &&
         head.gaps.bytes <= bytes - head_bytes && head.root < bytes && are_in_order(source);
}

int begin_file(tarn_file_source& source, const tarn_file_source_options& options) noexcept {
  std::size_t bytes =
      align_up(options.file_bytes < head_bytes ? head_bytes : options.file_bytes, page());
  if (bytes > source.bytes_max) bytes = source.bytes_max;
  if (!os::file_extend(source.file, bytes) || !map_up_to(source, bytes, true)) {
    return fail(source, errno);
  }
  FileHead& head = head_of(source);  // Zeros, or what a process left that died in these lines.
  head.magic = file_unfinished;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  tarn_gaps_begin(&head.gaps);
  head.gaps.bytes = bytes - head_bytes;
  tarn_gaps_give(base_of(source), &head.gaps, 0, head.gaps.bytes);
  TARN_ASSERT(tarn_gaps_check(base_of(source), &head.gaps) != 0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  head.magic = file_magic;  // Written last, since without it the file is no file source's.
  return 0;
}

// Whether the process that made the file died before it was done.
bool is_unfinished(const tarn_file_source& source, std::size_t bytes) noexcept {
  const std::uint64_t magic = head_of(source).magic;
  const auto* const start = reinterpret_cast<const std::byte*>(source.start);
  return magic == file_unfinished ||
         (magic == 0 && first_changed(start, start + bytes, 0) == nullptr);
}

int open_existing(tarn_file_source& source, const tarn_file_source_options& options,
                  std::size_t bytes) noexcept {
  // Holes in the file are backed, since a store into one might end the process.
  if (is_shared(source) && !os::file_extend(source.file, bytes)) return fail(source, errno);
  if (!map_up_to(source, bytes, true)) return fail(source, errno);
  if ((options.flags & TARN_FILE_CREATE) != 0 && is_unfinished(source, bytes)) {
    return begin_file(source, options);
  }
  if (!is_sound(source, bytes)) return fail(source, EBADMSG);
  head_of(source).busy = 0;
  return 0;
}

// pre: the file is open, and locked
int begin(tarn_file_source& source, const tarn_file_source_options& options) noexcept {
  std::size_t bytes = 0;
  if (!os::file_bytes(source.file, &bytes)) return fail(source, errno);
  const bool is_new = bytes == 0 && (options.flags & TARN_FILE_CREATE) != 0;
  if (!is_new && bytes < head_bytes) return fail(source, EBADMSG);
  if (bytes > bytes_limit) return fail(source, EFBIG);
  source.bytes_max = options.bytes_max & ~(page() - 1);
  if (source.bytes_max == 0) {
    const std::size_t least = bytes > options.file_bytes ? bytes : options.file_bytes;
    source.bytes_max = align_up(least > bytes_max_default ? least : bytes_max_default, page());
  }
  if (bytes > source.bytes_max) return fail(source, EFBIG);
  source.reserved_bytes = source.bytes_max + base_alignment;
  source.reserved = os::file_reserve(source.reserved_bytes);
  if (source.reserved == nullptr) return fail(source, ENOMEM);
  auto* const start = static_cast<char*>(source.reserved);
  source.start = start + ((0 - address_of(start)) & (base_alignment - 1));
  TARN_ASSERT(is_aligned(source.start, base_alignment));
  TARN_ASSERT(source.start + source.bytes_max <= start + source.reserved_bytes);
  return is_new ? begin_file(source, options) : open_existing(source, options, bytes);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

TARN_EXPORT int tarn_file_source_init(tarn_file_source* source,
                                      const tarn_file_source_options* options) {
  *source = {};
  source->file = -1;
  if (options == nullptr) return fail(*source, EINVAL, "there are no options");
  if (const char* const why = fault_of(*options)) return fail(*source, EINVAL, why);
  source->flags = options->flags;
  source->chunk_bytes = options->chunk_bytes;
  source->file = open_file(*options);
  if (source->file < 0) return fail(*source, errno);
  int result = -1;
  if (!os::file_lock(source->file)) {
    fail(*source, errno);
  } else {
    result = begin(*source, *options);
    os::file_unlock(source->file);
  }
  if (result == 0) {
    if (source->chunk_bytes == 0) source->chunk_bytes = tarn_chunk_bytes_for(source->bytes_max);
    return 0;
  }
  const int error = errno;
  const char* const why = source->why;
  tarn_file_source_destroy(source);
  return fail(*source, error, why);
}

TARN_EXPORT void tarn_file_source_destroy(tarn_file_source* source) {
  if (source->reserved != nullptr && !os::vm_release(source->reserved, source->reserved_bytes)) {
    os::vm_purge(source->reserved, source->reserved_bytes);
  }
  if (source->file >= 0) os::file_close(source->file);
  *source = {};
  source->file = -1;
}

TARN_EXPORT tarn_chunk tarn_file_source_acquire(tarn_file_source* source, std::size_t bytes,
                                                std::size_t alignment) {
  if (source->start == nullptr || !is_power_of_two(alignment)) {
    errno = EINVAL;
    return {};
  }
  if (!enter(*source)) return {};
  tarn_gaps& gaps = head_of(*source).gaps;
  tarn_chunk chunk = tarn_gaps_acquire(base_of(*source), &gaps, bytes, alignment);
  if (chunk.data == nullptr && grow_for(*source, bytes, alignment)) {
    chunk = tarn_gaps_acquire(base_of(*source), &gaps, bytes, alignment);
    if (chunk.data == nullptr) errno = EFBIG;
  }
  TARN_ASSERT(chunk.data == nullptr || tarn_file_source_offset(source, chunk.data) != SIZE_MAX);
  TARN_ASSERT(!is_check_due(gaps.acquired) || tarn_gaps_check(base_of(*source), &gaps) != 0);
  leave(*source);
  return chunk;
}

TARN_EXPORT void tarn_file_source_release(tarn_file_source* source, tarn_chunk chunk) {
  if (chunk.data == nullptr || source->start == nullptr || !enter(*source)) return;
  tarn_gaps& gaps = head_of(*source).gaps;
  tarn_gaps_release(base_of(*source), &gaps, chunk, "tarn_file_source_release");
  TARN_ASSERT(!is_check_due(gaps.chunks) || tarn_gaps_check(base_of(*source), &gaps) != 0);
  leave(*source);
}

TARN_EXPORT std::size_t tarn_file_source_offset(const tarn_file_source* source, const void* p) {
  const std::size_t offset = address_of(p) - address_of(source->start);
  return source->start != nullptr && offset < source->mapped_bytes ? offset : SIZE_MAX;
}

TARN_EXPORT void* tarn_file_source_at(tarn_file_source* source, std::size_t offset,
                                      std::size_t bytes) {
  if (source->start == nullptr) return nullptr;
  if (offset > source->mapped_bytes || bytes > source->mapped_bytes - offset) {
    if (!enter(*source)) return nullptr;  // This maps what other processes have added.
    leave(*source);
  }
  const std::size_t has = head_bytes + head_of(*source).gaps.bytes;
  if (offset < head_bytes || offset > has || bytes > has - offset ||
      offset + bytes > source->mapped_bytes) {
    return nullptr;
  }
  return source->start + offset;
}

TARN_EXPORT int tarn_file_source_set_root(tarn_file_source* source, const void* p) {
  const std::size_t offset = p == nullptr ? 0 : tarn_file_source_offset(source, p);
  if (source->start == nullptr || offset == SIZE_MAX || (p != nullptr && offset < head_bytes)) {
    return fail(*source, EINVAL, "the root does not lie in the file");
  }
  TARN_ASSERT(offset < source->mapped_bytes);
  // Release: pairs with the acquire in root(); what the root leads to was written before.
  __atomic_store_n(&head_of(*source).root, std::uint64_t{offset}, __ATOMIC_RELEASE);
  return 0;
}

TARN_EXPORT void* tarn_file_source_root(tarn_file_source* source) {
  if (source->start == nullptr) return nullptr;
  const std::uint64_t root = __atomic_load_n(&head_of(*source).root, __ATOMIC_ACQUIRE);
  return root == 0 ? nullptr : tarn_file_source_at(source, static_cast<std::size_t>(root), 1);
}

TARN_EXPORT int tarn_file_source_sync(tarn_file_source* source) {
  if (source->start == nullptr || !is_shared(*source)) {
    return fail(*source, EINVAL, "a private source has nothing to write");
  }
  return os::file_sync(source->start, source->mapped_bytes) ? 0 : fail(*source, errno);
}

TARN_EXPORT int tarn_file_source_owns(const tarn_file_source* source, const void* p) {
  if (source->start == nullptr || !enter(const_cast<tarn_file_source&>(*source))) return 0;
  const tarn_gaps& gaps = head_of(*source).gaps;
  const std::size_t at = address_of(p) - address_of(base_of(*source));
  const int owned = at < gaps.bytes && tarn_gaps_out(base_of(*source), &gaps, at) ? 1 : 0;
  leave(const_cast<tarn_file_source&>(*source));
  return owned;
}

TARN_EXPORT int tarn_file_source_check(const tarn_file_source* source) {
  if (source->start == nullptr) return 1;
  if (!enter(const_cast<tarn_file_source&>(*source))) return 0;
  const FileHead& head = head_of(*source);
  const bool sound = head.magic == file_magic && source->mapped_bytes <= source->bytes_max &&
                     head_bytes + head.gaps.bytes <= source->mapped_bytes &&
                     tarn_gaps_check(base_of(*source), &head.gaps) != 0;
  leave(const_cast<tarn_file_source&>(*source));
  return sound ? 1 : 0;
}

TARN_EXPORT int tarn_file_source_get_stats(const tarn_file_source* source,
                                           tarn_file_source_stats* stats) {
  if (stats == nullptr ||
      !is_sized(*stats, "tarn_file_source_get_stats", "TARN_FILE_SOURCE_STATS") ||
      source->start == nullptr) {
    errno = EINVAL;
    return -1;
  }
  if (!enter(const_cast<tarn_file_source&>(*source))) return -1;
  const tarn_gaps gaps = head_of(*source).gaps;
  leave(const_cast<tarn_file_source&>(*source));
  stats->file_bytes = head_bytes + gaps.bytes;
  stats->free_bytes = gaps.free_bytes;
  stats->chunks = gaps.chunks;
  stats->acquired = gaps.acquired;
  return 0;
}

TARN_EXPORT tarn_source tarn_file_source_get(tarn_file_source* source) {
  tarn_source made = TARN_SOURCE();
  made.acquire = [](void* self, std::size_t bytes, std::size_t alignment) {
    return tarn_file_source_acquire(static_cast<tarn_file_source*>(self), bytes, alignment);
  };
  made.release = [](void* self, tarn_chunk chunk) {
    tarn_file_source_release(static_cast<tarn_file_source*>(self), chunk);
  };
  made.context = source;
  made.chunk_bytes = source->chunk_bytes;
  return made;
}

TARN_EXPORT int tarn_shared_memory_unlink(const char* name) {
  return os::file_unlink(name, os::FileKind::shared_memory) ? 0 : -1;
}

}  // extern "C"
