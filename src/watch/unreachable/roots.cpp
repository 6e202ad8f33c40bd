// roots: see roots.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/roots.hpp"

#include <new>

#include "engine/records/thread_heaps.hpp"
#include "engine/records/tombstones.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/orphans.hpp"
#include "heaps/heap/registry.hpp"

namespace tarn {

constinit RegisteredRoots registered_roots;

bool RegisteredRoots::add(const std::byte* start, std::size_t bytes) noexcept {
  TARN_ASSERT(start != nullptr && bytes != 0);
  os::Locked locked(lock_);
  Entry* entry = spare_;
  if (entry != nullptr) {
    spare_ = entry->next;
  } else {
    void* const memory = store.allocate_record(sizeof(Entry));
    if (memory == nullptr) return false;
    entry = new (memory) Entry;
  }
  entry->bytes = {start, start + bytes};
  entry->next = first_;
  first_ = entry;
  return true;
}

bool RegisteredRoots::remove(const std::byte* start) noexcept {
  TARN_ASSERT(start != nullptr);
  os::Locked locked(lock_);
  for (Entry** e = &first_; *e != nullptr; e = &(*e)->next) {
    if ((*e)->bytes.start != start) continue;
    Entry* const gone = *e;
    *e = gone->next;
    gone->next = spare_;
    spare_ = gone;
    return true;
  }
  return false;
}

namespace {

// The library's own variables that lead to blocks, or to where blocks have been, in the order of
// their addresses. Where the library is linked statically they lie among the program's variables.
constexpr std::size_t own_count = 7;
struct OwnVariables {
  os::Bytes all[own_count];

  // Whether they are in order and apart.
  bool check() const noexcept {
    for (std::size_t i = 1; i < own_count; ++i) {
      if (all[i - 1].end > all[i].start) return false;
    }
    return true;
  }

  OwnVariables() noexcept {
    std::size_t count = 0;
    const auto add = [&](const void* start, std::size_t bytes) noexcept {
      const auto* const first = static_cast<const std::byte*>(start);
      std::size_t i = count++;
      for (; i > 0 && all[i - 1].start > first; --i) all[i] = all[i - 1];
      all[i] = {first, first + bytes};
    };
    add(&store, sizeof store);
    add(&page_map, sizeof page_map);
    add(&registry, sizeof registry);
    add(&thread_heaps, sizeof thread_heaps);
    add(&main_record, sizeof main_record);
    add(&tombstones, sizeof tombstones);
    add(&totals, sizeof totals);
    TARN_ASSERT(count == own_count && check());
  }
};

// How much of a stopped thread's stack may hold frames of the library, if the thread is in it.
constexpr std::size_t frames_bytes = 32 * 1024;

// Larger mappings are skipped: reading them would take too long.
constexpr std::size_t mapping_bytes_max = std::size_t{64} << 30;

}  // namespace

bool Roots::begin(Scratch& scratch) noexcept {
  TARN_ASSERT(known_ == nullptr && mappings_.count() != 0);
  known_ = scratch.take_array<Known>(mappings_.count());
  return known_ != nullptr;
}

void Roots::add_area_of(const void* p) noexcept {
  const std::size_t i = mappings_.find(p);
  if (p != nullptr && i < mappings_.count()) known_[i].is_root = true;
}

// What is below a stack pointer is skipped where it is sure to be a stack: it has a guard below and
// the thread's own block above, or it is the first thread's. A stack in other memory may have
// anything below it.
void Roots::add_thread(const os::Standing& standing, bool is_self) noexcept {
  TARN_ASSERT(known_ != nullptr && standing.registers.start <= standing.registers.end);
  mark_.add_words(standing.registers);
  if (!is_self) mark_.add_words_in_use(standing.registers);
  mark_.add_words(standing.vectors);
  mark_.add_block_at(standing.stack);
  mark_.add_block_at(standing.tls);
  add_area_of(standing.stack);
  add_area_of(standing.tls);
  add_area_of(standing.modules);
  const std::size_t i = mappings_.find(standing.stack);
  if (i == mappings_.count()) return;
  const os::Mapping& m = mappings_[i];
  TARN_ASSERT(m.bytes.has(standing.stack));
  const auto left = static_cast<std::size_t>(m.bytes.end - standing.stack);
  if (!is_self) {
    mark_.add_words_in_use(
        {standing.stack, standing.stack + (left < frames_bytes ? left : frames_bytes)});
  }
  const bool has_tls = m.bytes.has(standing.tls) && standing.tls >= standing.stack;
  if (!m.is_stack && !(has_tls && mappings_.has_guard(i))) return;
  const std::byte*& lowest = known_[i].stack;
  if (lowest == nullptr || standing.stack < lowest) lowest = standing.stack;
}

bool Roots::is_root(std::size_t i) noexcept {
  const os::Mapping& m = mappings_[i];
  const bool continues = !m.is_named && m.bytes.start == module_end_;
  const bool is_module = m.is_module || continues;
  module_end_ = is_module ? m.bytes.end : nullptr;
  if (!m.readable || !m.writable || m.is_device) return false;
  if (m.bytes.count() >= mapping_bytes_max) {
    if (!strict_) skipped_bytes_ += m.bytes.count();
    return false;
  }
  if (!strict_ || is_module || m.is_stack || known_[i].is_root) return true;
  return missed_ && mappings_.has_guard(i);  // It may be the stack of a missed thread.
}

void Roots::scan_words(os::Bytes bytes) noexcept {
  if (bytes.start >= bytes.end) return;
  TARN_ASSERT(bytes.start != nullptr);
  bytes_ += bytes.count();
  mark_.add_words(bytes);
}

// Scans the bytes without the library's own variables, the first of which to look for is `from`.
void Roots::scan_apart_from_own(os::Bytes bytes, std::size_t from) noexcept {
  static_assert(own_count < 16);
  const OwnVariables own;
  for (std::size_t i = from; i < own_count && bytes.start < bytes.end; ++i) {
    if (own.all[i].end <= bytes.start || own.all[i].start >= bytes.end) continue;
    scan_words({bytes.start, own.all[i].start});
    bytes.start = own.all[i].end;
  }
  scan_words(bytes);
}

// Scans the parts of the bytes that are not tarn's slices.
void Roots::scan_foreign(os::Bytes bytes) noexcept {
  TARN_ASSERT(bytes.start <= bytes.end);
  const std::byte* first = bytes.start;
  for (const std::byte* at = bytes.start; at < bytes.end;) {
    const auto* const next =
        reinterpret_cast<const std::byte*>((address_of(at) & ~(slice_bytes - 1)) + slice_bytes);
    const std::byte* const end = next < bytes.end ? next : bytes.end;
    if (index_.is_own(at)) {
      scan_apart_from_own({first, at}, 0);
      first = end;
    }
    at = end;
  }
  scan_apart_from_own({first, bytes.end}, 0);
}

void Roots::scan_mapping(std::size_t i) noexcept {
  os::Bytes bytes = mappings_[i].bytes;
  TARN_ASSERT(known_[i].stack == nullptr || bytes.has(known_[i].stack));
  if (known_[i].stack != nullptr) bytes.start = known_[i].stack;
  mappings_.for_each_present(bytes, mappings_[i],
                             [this](os::Bytes part) noexcept { scan_foreign(part); });
}

// Adds the pointers that the library keeps for the program in its own records.
void Roots::scan_contexts() noexcept {
  registry.for_each([this](const HeapRecord& record) noexcept {
    mark_.add_block_at(record.limits.context);
    mark_.add_block_at(record.source.traits().source.context);
  });
}

// A thread may have nothing in its registers but the chain that it is giving to a page.
void Roots::scan_chains() noexcept {
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    t->gathered.for_each_on_its_way(
        [this](const Block* block) noexcept { mark_.add_block_at(block); });
  }
}

void Roots::scan() noexcept {
  TARN_ASSERT(known_ != nullptr && bytes_ == 0);
  index_.for_each_host([this](Spot spot) noexcept { mark_.add_block(spot); });
  index_.for_each_kept([this](Spot spot) noexcept { mark_.add_block(spot); });
  scan_contexts();
  scan_chains();
  registered_roots.for_each([this](os::Bytes bytes) noexcept { scan_words(bytes); });
  module_end_ = nullptr;
  for (std::size_t i = 0; i < mappings_.count(); ++i) {
    if (is_root(i)) scan_mapping(i);
  }
}

}  // namespace tarn
