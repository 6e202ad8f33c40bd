// mark: see mark.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/mark.hpp"

namespace tarn {

namespace {

// The word at an address. Not instrumented: it may lie in a frame's red zone.
TARN_UNSANITIZED std::uintptr_t word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<const std::uintptr_t*>(address);
}

}  // namespace

bool Mark::begin(Scratch& scratch) noexcept {
  TARN_ASSERT(stack_ == nullptr && index_.bit_count() % 64 == 0);
  const std::uint64_t words = index_.bit_count() / 64;
  stack_ = scratch.take_array<Spot>(index_.live_count());
  indirect_ = scratch.take_array<std::uint64_t>(words);
  covered_ = scratch.take_array<std::uint64_t>(words);
  return stack_ != nullptr && indirect_ != nullptr && covered_ != nullptr;
}

// Calls hit(value) for the aligned words in the bytes that may be addresses in blocks.
template <class Hit>
void Mark::for_each_word(os::Bytes bytes, Hit hit) noexcept {
  if (TARN_LIKELY(!careful_)) return for_each_word_in(index_, bytes, hit);
  while (bytes.start < bytes.end) {
    const std::size_t in_slice = slice_bytes - (address_of(bytes.start) & (slice_bytes - 1));
    const std::size_t part = in_slice < bytes.count() ? in_slice : bytes.count();
    const std::size_t shift = address_of(bytes.start) % sizeof(std::uintptr_t);
    // The copy keeps the alignment of words.
    alignas(std::uintptr_t) std::byte copy[slice_bytes + sizeof(std::uintptr_t)];
    TARN_ASSERT(part != 0 && shift + part <= sizeof copy);
    if (os::copy_readable(copy + shift, bytes.start, part)) {
      for_each_word_in(index_, {copy + shift, copy + shift + part}, hit);
    }
    bytes.start += part;
  }
}

// Calls hit(spot) for the blocks that a word leads to: at most one, or two where an empty node of a
// tree ends.
template <class Hit>
void Mark::for_each_named(std::uintptr_t value, Hit hit) noexcept {
  Spot spot{};
  if (index_.find(value, &spot)) hit(spot);
  if (value % sizeof(TreeNode) == 0 && ends_empty_node(index_, value, &spot)) {
    hit(spot);
  }
}

// Calls hit(spot) for all that the block leads to. In a block of whole slices, only those slices
// are read that have contents, may be read, and are its own.
template <class Hit>
void Mark::for_each_target(Spot spot, Hit hit) noexcept {
  const os::Bytes bytes = index_.bytes_of_block(spot);
  TARN_ASSERT(bytes.start <= bytes.end);
  const auto see = [&](std::uintptr_t value) noexcept { for_each_named(value, hit); };
  const auto follow = [&](os::Bytes part) noexcept {
    const auto see_node = [&](const TreeNode* n) noexcept { for_each_link(index_, n, hit); };
    if (part.count() < sizeof(TreeNode)) return;
    if (part.start == bytes.start) see_node(reinterpret_cast<const TreeNode*>(part.start));
    if (!careful_) for_each_inner_node(index_, part, see_node);
  };
  const auto read = [&](os::Bytes part) noexcept { for_each_word(part, see); };
  if (TARN_LIKELY(bytes.count() < slice_bytes)) {
    follow(bytes);
    return read(bytes);
  }
  mappings_.for_each_readable(bytes, [&](os::Bytes part) noexcept {
    follow(part);
    for (const std::byte* at = part.start; at < part.end;) {
      const auto* const next =
          reinterpret_cast<const std::byte*>((address_of(at) & ~(slice_bytes - 1)) + slice_bytes);
      const std::byte* const end = next < part.end ? next : part.end;
      if (index_.has_slice(spot.range, at)) read({at, end});
      at = end;
    }
  });
}

// Reads the blocks on the stack, and those that these lead to.
void Mark::drain() noexcept {
  while (depth_ != 0) {
    const Spot spot = stack_[--depth_];
    for_each_target(spot, [this](Spot target) noexcept {
      TARN_ASSERT(depth_ < index_.live_count());
      if (index_.reach(target)) stack_[depth_++] = target;
    });
  }
}

void Mark::add_block(Spot spot) noexcept {
  TARN_ASSERT(depth_ == 0);
  if (!index_.reach(spot)) return;
  TARN_ASSERT(depth_ < index_.live_count());
  stack_[depth_++] = spot;
  drain();
}

void Mark::add_block_at(const void* p) noexcept {
  Spot spot{};
  if (index_.find(address_of(p), &spot)) add_block(spot);
}

void Mark::add_words(os::Bytes bytes) noexcept {
  for_each_word(bytes, [this](std::uintptr_t value) noexcept {
    for_each_named(value, [this](Spot spot) noexcept { add_block(spot); });
  });
}

void Mark::add_words_in_use(os::Bytes bytes) noexcept {
  add_words(bytes);
  const std::uintptr_t first = align_up(address_of(bytes.start), sizeof(std::uintptr_t));
  for (std::uintptr_t at = first; at + sizeof(std::uintptr_t) <= address_of(bytes.end);
       at += sizeof(std::uintptr_t)) {
    Spot spot{};
    if (index_.find_by_descriptor(word_at(at), &spot)) add_block(spot);
  }
}

// Covers a block, and all blocks that it leads to and that are not reached.
void Mark::cover_from(Spot first) noexcept {
  TARN_ASSERT(depth_ == 0);
  if (!set_bit(covered_, first)) return;
  TARN_ASSERT(depth_ < index_.live_count());
  stack_[depth_++] = first;
  while (depth_ != 0) {
    for_each_target(stack_[--depth_], [this](Spot target) noexcept {
      if (index_.is_reached(target)) return;
      TARN_ASSERT(depth_ < index_.live_count());
      if (set_bit(covered_, target)) stack_[depth_++] = target;
    });
  }
}

// Blocks that nothing leads to are direct. The blocks that these do not cover are rings, and what
// rings lead to; of each ring, the first block that is met counts as direct.
void Mark::find_indirect() noexcept {
  TARN_ASSERT(depth_ == 0);
  index_.for_each_unreached([this](Spot spot) noexcept {
    for_each_target(spot, [&](Spot target) noexcept {
      const bool is_itself = target.range == spot.range && target.place == spot.place;
      if (!is_itself && !index_.is_reached(target)) set_bit(indirect_, target);
    });
  });
  index_.for_each_unreached([this](Spot spot) noexcept {
    if (!bit(indirect_, spot)) cover_from(spot);
  });
  index_.for_each_unreached([this](Spot spot) noexcept {
    if (bit(covered_, spot)) return;
    const std::uint64_t i = index_.number_of(spot);
    TARN_ASSERT(bit(indirect_, spot));
    indirect_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    cover_from(spot);
  });
  TARN_ASSERT(check());
}

}  // namespace tarn
