// tlsf: TLSF heaps, inside an object and over regions, against a list of what is live: contents,
// alignment, that a request fails only when stats() says so, that shrinking never moves, and that
// wrong frees are told and change nothing.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/tlsf.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "input.hpp"
#include "tarn/detail/align.hpp"

namespace {

const void* told_p = nullptr;
const char* told_kind = nullptr;

}  // namespace

extern "C" void tarn_static_misuse(const char* kind, const void*, const void* p) {
  TARN_REQUIRE(told_p == nullptr);
  told_kind = kind;
  told_p = p;
}

namespace tarn::fuzz {

namespace {

template <class Heap>
class Model {
 public:
  explicit Model(Heap& heap) : heap_(heap) {}

  void allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t largest = heap_.stats().largest_bytes;
    auto* const p = static_cast<unsigned char*>(heap_.try_allocate(bytes, alignment));
    if (alignment <= 2 * sizeof(std::size_t)) {
      TARN_REQUIRE((p != nullptr) == (largest != 0 && bytes <= largest));
    }
    if (p == nullptr) return;
    TARN_REQUIRE(is_aligned(p, alignment) && is_aligned(p, 2 * sizeof(std::size_t)));
    TARN_REQUIRE(heap_.block_bytes_of(p) >= bytes && heap_.owns(p) && heap_.is_live(p));
    live_.push_back({p, bytes, alignment, next_value_});
    fill(live_.back());
  }

  void reallocate(std::size_t at, std::size_t bytes) {
    if (live_.empty()) return;
    Block& block = live_[at % live_.size()];
    const std::size_t had = heap_.block_bytes_of(block.p);
    auto* const p =
        static_cast<unsigned char*>(heap_.try_reallocate(block.p, bytes, block.alignment));
    TARN_REQUIRE(p == block.p || bytes > had);
    if (p == nullptr) return require_whole(block, block.bytes);
    TARN_REQUIRE(is_aligned(p, block.alignment) && heap_.block_bytes_of(p) >= bytes);
    block.p = p;
    require_whole(block, std::min(bytes, block.bytes));
    block.bytes = bytes;
    fill(block);
  }

  void deallocate(std::size_t at) {
    if (live_.empty()) return;
    std::swap(live_[at % live_.size()], live_.back());
    const Block block = live_.back();
    live_.pop_back();
    require_whole(block, block.bytes);
    heap_.deallocate(block.p);
    TARN_REQUIRE(told_p == nullptr);
    deallocate_wrong(block.p);
    TARN_REQUIRE(std::strcmp(told_kind, "double free") == 0);
  }

  // Somewhere in or around what the heap has; what users write there looks like no live header.
  void deallocate_wrong(unsigned char* p) {
    for (const Block& block : live_) {
      if (block.p == p) return;
    }
    heap_.deallocate(p);
    TARN_REQUIRE(told_p == p);
    told_p = nullptr;
  }

  void check() {
    TARN_REQUIRE(heap_.check());
    std::size_t seen = 0, bytes = 0;
    heap_.for_each([&](void* p, std::size_t has) {
      ++seen;
      bytes += has + sizeof(std::size_t);
      const auto is_p = [&](const Block& block) { return block.p == p; };
      TARN_REQUIRE(std::any_of(live_.begin(), live_.end(), is_p));
    });
    const TlsfStats stats = heap_.stats();
    TARN_REQUIRE(seen == live_.size() && stats.blocks == seen && stats.in_use_bytes == bytes);
  }

  void end() {
    while (!live_.empty()) deallocate(0);
    check();
    TARN_REQUIRE(heap_.stats().in_use_bytes == 0);
  }

 private:
  struct Block {
    unsigned char* p;
    std::size_t bytes;
    std::size_t alignment;
    unsigned char value;
  };

  // The user's whole block, so that whatever the heap kept there is gone.
  void fill(Block& block) {
    next_value_ = static_cast<unsigned char>(next_value_ + 8);
    block.value = static_cast<unsigned char>(next_value_ & ~7U);
    std::memset(block.p, block.value, heap_.block_bytes_of(block.p));
  }
  static void require_whole(const Block& block, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) TARN_REQUIRE(block.p[i] == block.value);
  }

  Heap& heap_;
  std::vector<Block> live_;
  unsigned char next_value_ = 0;
};

template <class Heap>
void run_heap(Input& input, Heap& heap, unsigned char* memory, std::size_t memory_bytes) {
  Model<Heap> model(heap);
  while (input.has_step()) {
    const std::size_t what = input.below(16);
    const std::size_t bytes = static_cast<std::size_t>(input.magnitude(what == 0 ? 63 : 12));
    if (what < 6) {
      model.allocate(bytes, 1);
    } else if (what < 7) {
      model.allocate(bytes, std::size_t{1} << input.below(12));
    } else if (what < 11) {
      model.reallocate(input.below(256), bytes);
    } else if (what < 15) {
      model.deallocate(input.below(256));
    } else {
      model.deallocate_wrong(memory + input.number(3) % memory_bytes);
      told_p = nullptr;
    }
    model.check();
  }
  model.end();
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.below(2) == 0) {
    using Heap = StaticTlsfHeap<20'000>;
    const auto heap = std::make_unique<Heap>();
    return run_heap(input, *heap, reinterpret_cast<unsigned char*>(heap.get()), sizeof(Heap));
  }
  constexpr std::size_t bytes = 65'536;
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  const auto heap = std::make_unique<TlsfHeap>();
  std::size_t at = 0;
  for (std::size_t count = 1 + input.below(4); count != 0; --count) {
    at += input.below(64);
    const std::size_t region = 100 + input.below(15'000);
    TARN_REQUIRE(heap->add_region(memory.get() + at, region));
    TARN_REQUIRE(!heap->add_region(memory.get() + at + region / 2, 200));
    at += region;
  }
  run_heap(input, *heap, memory.get(), bytes);
}

}  // namespace tarn::fuzz
