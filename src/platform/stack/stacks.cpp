// stacks: see stacks.hpp. Orders: who puts a stack on its list releases it; who finds it acquires.
//
// SPDX-License-Identifier: MIT
#include "platform/stack/stacks.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/code.hpp"
#include "platform/os/vm.hpp"
#include "platform/stack/unwind.hpp"

namespace tarn {

constinit Stacks stacks;

struct Stacks::Kept {
  std::atomic<Kept*> next;
  std::uint32_t hash;
  std::uint32_t count;
  const void* calls[];
};

namespace {

constexpr std::size_t region_bytes = std::size_t{32} << 20;
constexpr std::size_t list_count = std::size_t{1} << 15;
constexpr std::size_t lists_bytes = list_count * sizeof(void*);

std::uint32_t hash_of(const void* const* calls, std::size_t count) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;  // As in hashed_place().
  std::uint64_t hash = count;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ address_of(calls[i])) * factor;
    hash ^= hash >> 32;
  }
  return static_cast<std::uint32_t>(hash);
}

}  // namespace

CallStack::CallStack(const void* at) noexcept : one_(at), count_(at == nullptr ? 0 : 1) {
  if (!stacks.has(at)) return;
  const auto* const kept = static_cast<const Stacks::Kept*>(at);
  calls_ = kept->calls;
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what the depot has is not null.
  count_ = kept->count;
}

bool Stacks::has(const void* at) const noexcept {
  const std::byte* const base = base_.load(std::memory_order_relaxed);
  return base != nullptr && address_of(at) - address_of(base) < region_bytes;
}

std::size_t Stacks::kept_bytes() const noexcept {
  return std::min(used_.load(std::memory_order_relaxed), region_bytes);
}

std::byte* Stacks::provide() noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  if (TARN_LIKELY(base != nullptr)) return base;
  if (refused_.load(std::memory_order_relaxed)) return nullptr;
  auto* const made = static_cast<std::byte*>(os::vm_reserve_sparse(region_bytes));
  if (made == nullptr) {
    refused_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  os::vm_name(made, region_bytes, "tarn stacks");
  if (base_.compare_exchange_strong(base, made, std::memory_order_acq_rel)) return made;
  os::vm_release(made, region_bytes);
  return base;
}

// Null when there is no more room.
Stacks::Kept* Stacks::take(std::byte* base, std::size_t count) noexcept {
  const std::size_t bytes = sizeof(Kept) + count * sizeof(void*);
  const std::size_t room = region_bytes - lists_bytes;
  if (used_.load(std::memory_order_relaxed) > room - bytes) return nullptr;
  const std::size_t offset = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (offset > room - bytes) return nullptr;
  return reinterpret_cast<Kept*>(base + lists_bytes + offset);
}

const void* Stacks::keep(const void* const* calls, std::size_t count) noexcept {
  TARN_ASSERT(count <= depth_most);
  if (count <= 1) return count == 0 ? nullptr : calls[0];
  std::byte* const base = provide();
  if (base == nullptr) return calls[0];
  const std::uint32_t hash = hash_of(calls, count);
  auto& list = reinterpret_cast<std::atomic<Kept*>*>(base)[hash % list_count];
  Kept* first = list.load(std::memory_order_acquire);
  const Kept* looked_at = nullptr;
  Kept* made = nullptr;
  for (;;) {
    for (const Kept* k = first; k != looked_at; k = k->next.load(std::memory_order_relaxed)) {
      if (k->hash == hash && k->count == count && std::equal(calls, calls + count, k->calls)) {
        return k;  // Another thread's, perhaps: then what was made stays unused.
      }
    }
    if (made == nullptr) {
      made = take(base, count);
      if (made == nullptr) return calls[0];
      made->hash = hash;
      made->count = static_cast<std::uint32_t>(count);
      std::copy(calls, calls + count, made->calls);
    }
    made->next.store(first, std::memory_order_relaxed);
    looked_at = first;
    if (list.compare_exchange_strong(first, made, std::memory_order_release,
                                     std::memory_order_acquire)) {
      return made;
    }
  }
}

namespace {

// Whether it lies in the library as a module by itself, and not in a program that has it inside.
bool is_library(const void* code) noexcept {
  constexpr char name[] = "libtarn";
  char module[16];
  std::uintptr_t offset = 0;
  return os::find_module(code, module, sizeof module, &offset) &&
         std::equal(name, name + sizeof name - 1, module);
}

}  // namespace

TARN_NOINLINE const void* Stacks::here() noexcept {
  std::array<const void*, depth_most> calls;
  const std::size_t most = depth();
  if (most <= 1) return nullptr;
  const std::size_t count = unwind_from(nullptr, calls.data(), nullptr, calls.size());
  if (count == 0) return nullptr;
  std::size_t first = 0;
  if (is_library(calls[0])) {  // A module is known by its table.
    const std::byte* const own = os::find_unwind_table(calls[0]);
    while (first != count && os::find_unwind_table(calls[first]) == own) ++first;
  }
  if (first == count) first = 0;
  return keep(calls.data() + first, std::min(count - first, most));
}

const void* Stacks::at_stop(const FrameRegisters& stop) noexcept {
  std::array<const void*, depth_most> calls;
  return keep(calls.data(), unwind(stop, false, calls.data(), std::max(depth(), std::size_t{1})));
}

namespace {

// What at() has returned before, for a site, where it was called from the same depth of the stack.
// It is right again if the same return addresses lie in the same places: the function that calls
// has a frame of a certain length, so what lies behind it is its return address, and so on; and so
// each place can be read once those before it are as they were. (Frames whose length varies end by
// chance only where they ended.)
struct Remembered {
  static constexpr std::size_t calls_most = 16;
  std::atomic<std::uint32_t> version{0};  // Odd while a thread writes.
  std::atomic<const void*> site{nullptr};
  std::atomic<std::uintptr_t> frame{0};
  std::atomic<const void*> kept{nullptr};
  std::array<std::atomic<std::uint32_t>, calls_most> offsets{};  // From the frame upwards.
};
constexpr unsigned remembered_stacks_bits = 12;
constinit std::array<Remembered, std::size_t{1} << remembered_stacks_bits> remembered_stacks{};

Remembered& remembered_at(const void* site, std::uintptr_t frame) noexcept {
  return remembered_stacks[hashed_place(address_of(site) ^ frame << 4, remembered_stacks_bits)];
}

// Orders: what is written after the version became odd is released, so who has acquired any of it
// sees that.
void remember(const void* site, std::uintptr_t frame, const void* kept,
              const std::uintptr_t* places, std::size_t count) noexcept {
  for (std::size_t i = 0; i != count; ++i) {
    if (places[i] - frame > UINT32_MAX) return;  // Not certain, too.
  }
  Remembered& place = remembered_at(site, frame);
  std::uint32_t version = place.version.load(std::memory_order_relaxed);
  if (version % 2 != 0 ||
      !place.version.compare_exchange_strong(version, version + 1, std::memory_order_relaxed)) {
    return;
  }
  for (std::size_t i = 0; i != count; ++i) {
    place.offsets[i].store(static_cast<std::uint32_t>(places[i] - frame),
                           std::memory_order_release);
  }
  place.kept.store(kept, std::memory_order_release);
  place.frame.store(frame, std::memory_order_release);
  place.site.store(site, std::memory_order_release);
  place.version.store(version + 2, std::memory_order_release);
}

// Null when it has to be unwound.
const void* recall(const void* site, std::uintptr_t frame, std::size_t most) noexcept {
  const Remembered& place = remembered_at(site, frame);
  const std::uint32_t version = place.version.load(std::memory_order_acquire);
  if (place.site.load(std::memory_order_acquire) != site ||
      place.frame.load(std::memory_order_acquire) != frame) {
    return nullptr;
  }
  const void* const kept = place.kept.load(std::memory_order_acquire);
  std::array<std::uint32_t, Remembered::calls_most> offsets;
  for (std::size_t i = 0; i != offsets.size(); ++i) {
    offsets[i] = place.offsets[i].load(std::memory_order_acquire);
  }
  if (version % 2 != 0 || place.version.load(std::memory_order_relaxed) != version) return nullptr;
  const CallStack stack(kept);
  if (stack.size() > most || stack.size() > offsets.size() || stack.size() == 0) return nullptr;
  if (!stack_reaches(frame, frame + offsets[0] + sizeof(void*))) return nullptr;
  for (std::size_t i = 0; i != stack.size(); ++i) {
    if (stack_word(frame + offsets[i]) != address_of(stack[i])) return nullptr;
  }
  return kept;
}

}  // namespace

TARN_NOINLINE const void* Stacks::at(const void* site) noexcept {
  const std::size_t most = depth();
  if (most <= 1 || site == nullptr || has(site)) return site;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool is_short = most <= Remembered::calls_most;
  if (is_short) {
    const void* const known = recall(site, frame, most);
    if (TARN_LIKELY(known != nullptr)) return known;
  }
  std::array<const void*, depth_most> calls;
  std::array<std::uintptr_t, depth_most> places;
  const std::size_t count = unwind_from(site, calls.data(), places.data(), most);
  if (count <= 1) return site;
  const void* const kept = keep(calls.data(), count);
  if (is_short && has(kept)) remember(site, frame, kept, places.data(), count);
  return kept;
}

}  // namespace tarn
