// arena: an arena of any geometry and mode over a source that fails at times, against the list of
// blocks that are in use and their contents: marks, rewinds, resets, growth in place, releases.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/arena.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "failing_source.hpp"
#include "input.hpp"
#include "tarn/detail/align.hpp"

namespace tarn::fuzz {

namespace {

struct Block {
  unsigned char* p;
  std::size_t bytes;
  std::size_t alignment;
  unsigned char value;
};

// Where the model was when a mark was taken.
struct Point {
  Arena::Mark mark;
  std::size_t blocks;
  int releases;
};

class ArenaModel {
 public:
  explicit ArenaModel(Input& input) : arena_(make(input)) {
    source_.generous = input.byte() % 2 == 0;
  }
  ~ArenaModel() {
    arena_ = Arena(source_);
    TARN_REQUIRE(source_.chunks.empty() && releases_ == 0);
  }

  void step(Input& input) {
    source_.fails = input.byte() % 16 == 0;
    switch (input.below(16)) {
      case 0: reset(input); break;
      case 1:
      case 2: points_.push_back({arena_.mark(), blocks_.size(), releases_}); break;
      case 3:
      case 4: rewind(input); break;
      case 5: arena_.trim(); break;
      case 6:
      case 7: resize(input); break;
      case 8: deallocate(); break;
      case 9: add_release(); break;
      case 10: move(); break;
      case 11: format(input.below(300)); break;
      default: allocate(input);
    }
    TARN_REQUIRE(arena_.check());
    TARN_REQUIRE(arena_.stats().chunks == source_.chunks.size());
    for (const Block& block : blocks_) {
      TARN_REQUIRE(arena_.owns(block.p) && arena_.owns(block.p + block.bytes - 1));
    }
  }

 private:
  Arena make(Input& input) {
    ArenaOptions options;
    options.chunk_bytes = input.below(3) == 0 ? 0 : input.below(5000) + 1;
    if (input.byte() % 2 == 0) options.chunk_bytes_max = options.chunk_bytes + input.below(60'000);
    if (input.byte() % 4 == 0) options.limit_bytes = input.below(200'000) + 1000;
    options.mode = input.byte() % 2 == 0 ? Mode::fast : Mode::checked;
    options.name = "fuzzed";
    return Arena(source_, options);
  }

  void add(void* p, std::size_t bytes, std::size_t alignment) {
    auto* const start = static_cast<unsigned char*>(p);
    TARN_REQUIRE(is_aligned(p, alignment));
    if (bytes == 0) bytes = 1;
    for (const Block& other : blocks_) {
      TARN_REQUIRE(start + bytes <= other.p || other.p + other.bytes <= start);
    }
    std::memset(p, ++value_, bytes);
    blocks_.push_back({start, bytes, alignment, value_});
  }

  static void require_filled(const Block& block, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) TARN_REQUIRE(block.p[i] == block.value);
  }

  void allocate(Input& input) {
    const auto bytes = static_cast<std::size_t>(input.magnitude(16));
    const std::size_t alignment = std::size_t{1} << input.below(13);
    void* const p = arena_.try_allocate(bytes, alignment);
    if (p != nullptr) add(p, bytes, alignment);
  }

  void format(std::size_t length) {
    const std::string text(length, 'x');
    char* const p = tarn_arena_format(arena_.get(), "%s", text.c_str());
    if (p == nullptr) return;
    TARN_REQUIRE(p == text);
    add(p, length + 1, 1);
  }

  // Of the newest block only: what it grows by ends at marks that were taken before.
  void resize(Input& input) {
    if (blocks_.empty()) return;
    Block block = blocks_.back();
    forget_points_from(blocks_.size());
    const auto bytes = static_cast<std::size_t>(input.magnitude(17)) + 1;
    void* const p = arena_.try_resize(block.p, block.bytes, bytes, block.alignment);
    require_filled(block.p == p || p == nullptr
                       ? block
                       : Block{static_cast<unsigned char*>(p), bytes, 1, block.value},
                   bytes < block.bytes ? bytes : block.bytes);
    if (p == nullptr) return;
    blocks_.pop_back();
    add(p, bytes, block.alignment);
  }

  void deallocate() {
    if (blocks_.empty()) return;
    const Block block = blocks_.back();
    require_filled(block, block.bytes);
    blocks_.pop_back();
    for (Point& point : points_) {  // They hold, with one block less.
      if (point.blocks > blocks_.size()) point.blocks = blocks_.size();
    }
    arena_.deallocate(block.p, block.bytes);
  }

  // Those at which so many blocks or more were there.
  void forget_points_from(std::size_t blocks) {
    while (!points_.empty() && points_.back().blocks >= blocks) points_.pop_back();
  }

  void rewind(Input& input) {
    if (points_.empty()) return;
    const std::size_t at = points_.size() - 1 - input.below(points_.size());
    const Point point = points_[at];
    points_.resize(at + 1);
    for (const Block& block : blocks_) require_filled(block, block.bytes);
    arena_.rewind(point.mark);
    blocks_.resize(point.blocks);
    TARN_REQUIRE(releases_ == point.releases);
  }

  void reset(Input& input) {
    for (const Block& block : blocks_) require_filled(block, block.bytes);
    switch (input.below(4)) {
      case 0: arena_.reset(keep_nothing); break;
      case 1: arena_.reset(keep_all); break;
      case 2: arena_.reset(input.below(60'000)); break;
      default: arena_.reset();
    }
    blocks_.clear();
    points_.clear();
    TARN_REQUIRE(releases_ == 0 && arena_.stats().used_bytes == 0);
  }

  void add_release() {
    // The block it takes is nobody's: what was the newest is not any more.
    const auto count_down = [](void* self) { --static_cast<ArenaModel*>(self)->releases_; };
    if (tarn_arena_on_release(arena_.get(), count_down, this) == 0) ++releases_;
  }

  void move() {
    Arena other(std::move(arena_));
    TARN_REQUIRE(!arena_ && arena_.try_allocate(8) == nullptr);
    arena_ = std::move(other);
  }

  FailingSource source_;
  Arena arena_;
  std::vector<Block> blocks_;
  std::vector<Point> points_;
  int releases_ = 0;
  unsigned char value_ = 0;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) { run_model<ArenaModel>(data, size); }

}  // namespace tarn::fuzz
