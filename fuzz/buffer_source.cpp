// buffer_source: chunks from a region of any place and length, against a model of which bytes are
// out and what is written in them.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/buffer_source.hpp"

#include <vector>

#include "filled_blocks.hpp"
#include "tarn/detail/align.hpp"

namespace tarn::fuzz {

namespace {

class BufferModel {
 public:
  explicit BufferModel(Input& input)
      : memory_(40'000, 0xee),
        start_(input.below(64)),
        bytes_(input.below(39'000)),
        source_(memory_.data() + start_, bytes_) {}

  ~BufferModel() {
    while (!out_.empty()) release(out_.begin());
    TARN_REQUIRE(source_.check() && source_.stats().chunks == 0);
    TARN_REQUIRE(source_.stats().free_bytes == source_.stats().bytes);
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (i < start_ || i >= start_ + bytes_) TARN_REQUIRE(memory_[i] == 0xee);
    }
  }

  void step(Input& input) {
    switch (input.below(8)) {
      case 0:
      case 1:
      case 2:
        if (!out_.empty()) release(out_.from(memory_.data() + input.below(memory_.size())));
        break;
      case 3: acquire(input.magnitude(64), std::size_t{1} << input.below(64)); break;
      case 4: ask(memory_.data() + input.below(memory_.size())); break;
      default: acquire(input.below(1500), std::size_t{1} << input.below(12));
    }
    TARN_REQUIRE(source_.check());
    TARN_REQUIRE(source_.stats().chunks == out_.size());
    TARN_REQUIRE(source_.stats().free_bytes + out_bytes_ == source_.stats().bytes);
  }

 private:
  // Whether a gap of the model would hold it: then the source must, too.
  bool fits(std::size_t bytes, std::size_t alignment) {
    bytes = bytes == 0 ? 16 : align_up(bytes, 16);
    const unsigned char* at = memory_.data() + start_;
    const unsigned char* const end = at + bytes_;
    at += (0 - address_of(at)) & 15;
    for (auto next = out_.begin();; ++next) {
      const unsigned char* const limit = next == out_.end() ? end : next->first;
      const std::size_t skipped = (0 - address_of(at)) & (alignment - 1);
      const std::size_t room = limit > at ? static_cast<std::size_t>(limit - at) & ~15ul : 0;
      if (skipped <= room && bytes <= room - skipped) return true;
      if (next == out_.end()) return false;
      at = next->first + next->second.bytes;
    }
  }

  void acquire(std::size_t bytes, std::size_t alignment) {
    const Chunk chunk = source_.acquire(bytes, alignment);
    const bool should_fit = bytes <= bytes_ && fits(bytes, alignment);
    TARN_REQUIRE((chunk.data != nullptr) == should_fit);
    if (chunk.data == nullptr) return;
    auto* const p = static_cast<unsigned char*>(chunk.data);
    TARN_REQUIRE(is_aligned(p, alignment) && chunk.bytes >= bytes);
    TARN_REQUIRE(p >= memory_.data() + start_);
    TARN_REQUIRE(p + chunk.bytes <= memory_.data() + start_ + bytes_);
    out_.add(p, chunk.bytes);
    out_bytes_ += chunk.bytes;
  }

  void release(FilledBlocks::Iterator held) {
    const Chunk chunk{held->first, held->second.bytes};
    out_.remove(held);
    out_bytes_ -= chunk.bytes;
    source_.release(chunk);
  }

  void ask(const unsigned char* p) {
    TARN_REQUIRE(source_.owns(p) == (out_.around(p) != out_.end()));
  }

  std::vector<unsigned char> memory_;
  std::size_t start_;
  std::size_t bytes_;
  BufferSource source_;
  FilledBlocks out_;
  std::size_t out_bytes_ = 0;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) { run_model<BufferModel>(data, size); }

}  // namespace tarn::fuzz
