// malloc_tables: the table of each kind of allocator (tests/tables/subjects.hpp) against the blocks
// that are out and their contents: all functions, any size and alignment, reallocation in all
// directions, memory that is refused for a while. The first byte chooses the kind.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "../tests/tables/subjects.hpp"
#include "input.hpp"
#include "tarn/detail/align.hpp"

namespace tarn::fuzz {

namespace {

using tables::Kind;
using tables::Subject;

std::unique_ptr<Subject> make(Input& input) {
  static const std::vector<Kind> kinds = tables::all_kinds();
  const Kind& kind = kinds[input.below(kinds.size())];
  // Where a source can refuse it has one, which does not at first.
  return kind.make_failing == nullptr ? kind.make() : kind.make_failing(0);
}

class TableModel {
 public:
  explicit TableModel(Input& input) : subject_(make(input)), t_(subject_->table) {
    TARN_REQUIRE(t_.bytes == sizeof t_ && t_.allocate != nullptr && t_.usable_size != nullptr);
  }
  ~TableModel() {
    while (!live_.empty()) deallocate(live_.begin());
    TARN_REQUIRE(subject_->live() <= 0 && subject_->is_sound());
  }

  void step(Input& input) {
    if (input.byte() % 16 == 0) is_refused_ = subject_->refuse(!is_refused_) && !is_refused_;
    switch (input.below(16)) {
      case 0: ask_for_what_cannot_be(input); break;
      case 1:
      case 2: allocate_zeroed(input); break;
      case 3:
      case 4: allocate_aligned(input); break;
      case 5:
      case 6:
      case 7:
      case 8: reallocate(input); break;
      case 9: end_by_reallocation(input); break;
      case 10:
      case 11: deallocate_some(input, 1); break;
      case 12: deallocate_some(input, input.below(20)); break;
      default: allocate(input);
    }
    const long long live = subject_->live();
    TARN_REQUIRE(live == -1 || live == static_cast<long long>(live_.size()));
    if (++steps_ % 16 == 0) TARN_REQUIRE(subject_->is_sound());
  }

 private:
  struct Block {
    std::size_t bytes;  // All that may be used.
    unsigned char value;
  };
  using Blocks = std::map<unsigned char*, Block>;
  static constexpr std::size_t seen_bytes = 4096;  // So many at each end of a block.

  // Most are served by all kinds; some are too large for those that have a largest size.
  std::size_t size(Input& input) {
    const std::size_t most = subject_->bytes_max < 2000 ? subject_->bytes_max : 2000;
    if (input.byte() % 8 != 0) return input.below(most + 1);
    return static_cast<std::size_t>(input.magnitude(19));
  }

  // Whether there must be a block of these: nothing is refused, and not many are there.
  bool is_due(std::size_t bytes, std::size_t alignment) const {
    const std::size_t most = subject_->bytes_max < 2000 ? subject_->bytes_max : 2000;
    return !is_refused_ && bytes <= most && alignment <= subject_->alignment_max &&
           live_.size() < subject_->blocks / 2;
  }

  static void fill(unsigned char* p, const Block& block) {
    if (block.bytes == 0) return;
    const std::size_t part = block.bytes < seen_bytes ? block.bytes : seen_bytes;
    std::memset(p, block.value, part);
    std::memset(p + block.bytes - part, block.value, part);
  }
  static void require_filled(const unsigned char* p, const Block& block, std::size_t bytes) {
    const std::size_t part = block.bytes < seen_bytes ? block.bytes : seen_bytes;
    for (std::size_t i = 0; i < part && i < bytes; ++i) TARN_REQUIRE(p[i] == block.value);
    for (std::size_t i = block.bytes - part; i < bytes; ++i) TARN_REQUIRE(p[i] == block.value);
  }

  void put(void* p, std::size_t bytes, std::size_t alignment) {
    auto* const start = static_cast<unsigned char*>(p);
    const std::size_t usable = t_.usable_size(t_.context, p);
    TARN_REQUIRE(is_aligned(p, alignment) && usable >= bytes);
    const auto next = live_.lower_bound(start);
    TARN_REQUIRE(next == live_.end() || (start + usable <= next->first && start != next->first));
    if (next != live_.begin()) {
      const auto before = std::prev(next);
      TARN_REQUIRE(before->first + before->second.bytes <= start);
    }
    const Block block{usable, ++value_};
    fill(start, block);
    live_[start] = block;
  }

  // What an allocation gave: a block, or null with ENOMEM where that may be.
  void take(void* p, std::size_t bytes, std::size_t alignment) {
    if (p != nullptr) return put(p, bytes, alignment);
    TARN_REQUIRE(errno == ENOMEM && !is_due(bytes, alignment));
  }

  void allocate(Input& input) {
    const std::size_t bytes = size(input);
    errno = 0;
    take(t_.allocate(t_.context, bytes), bytes, 16);
  }

  void allocate_zeroed(Input& input) {
    const std::size_t count = input.below(12);
    const std::size_t bytes = count == 0 ? input.below(100'000) : size(input) / count;
    errno = 0;
    auto* const p = static_cast<unsigned char*>(t_.allocate_zeroed(t_.context, count, bytes));
    for (std::size_t i = 0; p != nullptr && i < count * bytes; ++i) TARN_REQUIRE(p[i] == 0);
    take(p, count * bytes, 16);
  }

  void allocate_aligned(Input& input) {
    const std::size_t bytes = size(input);
    const std::size_t alignment = std::size_t{1} << input.below(18);
    errno = 0;
    take(t_.allocate_aligned(t_.context, alignment, bytes), bytes, alignment);
  }

  Blocks::iterator any(Input& input) {
    return std::next(live_.begin(), static_cast<std::ptrdiff_t>(input.below(live_.size())));
  }

  void reallocate(Input& input) {
    const std::size_t bytes = size(input) + 1;
    errno = 0;
    if (live_.empty()) return take(t_.reallocate(t_.context, nullptr, bytes), bytes, 16);
    const auto found = any(input);
    const Block before = found->second;
    void* const p = t_.reallocate(t_.context, found->first, bytes);
    if (p == nullptr) {
      TARN_REQUIRE(errno == ENOMEM && !is_due(bytes, 16));
      return require_filled(found->first, before, before.bytes);
    }
    require_filled(static_cast<unsigned char*>(p), before,
                   bytes < before.bytes ? bytes : before.bytes);
    live_.erase(found);
    put(p, bytes, 16);
  }

  void end_by_reallocation(Input& input) {
    if (live_.empty()) return;
    const auto found = any(input);
    require_filled(found->first, found->second, found->second.bytes);
    TARN_REQUIRE(t_.reallocate(t_.context, found->first, 0) == nullptr);
    live_.erase(found);
  }

  void deallocate(Blocks::iterator found) {
    require_filled(found->first, found->second, found->second.bytes);
    errno = 77;
    t_.deallocate(t_.context, found->first);
    TARN_REQUIRE(errno == 77);
    live_.erase(found);
  }
  void deallocate_some(Input& input, std::size_t count) {
    for (; count != 0 && !live_.empty(); --count) deallocate(any(input));
  }

  // Sizes near the end of the address space and of its half, products beyond it, alignments that
  // are none.
  void ask_for_what_cannot_be(Input& input) {
    const auto less = static_cast<std::size_t>(input.magnitude(63));
    const std::size_t bytes = input.byte() % 2 == 0 ? SIZE_MAX - less : PTRDIFF_MAX - less % 65536;
    const std::size_t alignment = std::size_t{1} << input.below(16);
    const std::size_t none = alignment < 2 ? 0 : alignment | 1;
    require_refused(t_.allocate(t_.context, bytes));
    require_refused(t_.allocate_aligned(t_.context, alignment, bytes));
    require_refused(t_.allocate_aligned(t_.context, alignment << 48, 8));
    require_refused(t_.allocate_zeroed(t_.context, bytes / 2, 3));
    require_refused(t_.allocate_zeroed(t_.context, 3, bytes / 2));
    if (!live_.empty()) {
      const auto found = any(input);
      require_refused(t_.reallocate(t_.context, found->first, bytes));
      require_filled(found->first, found->second, found->second.bytes);
    }
    TARN_REQUIRE(t_.allocate_aligned(t_.context, none, 1) == nullptr && errno == EINVAL);
    t_.deallocate(t_.context, nullptr);
    TARN_REQUIRE(t_.usable_size(t_.context, nullptr) == 0);
  }
  static void require_refused(const void* p) {
    TARN_REQUIRE(p == nullptr && errno == ENOMEM);
    errno = 0;
  }

  const std::unique_ptr<Subject> subject_;
  const tarn_malloc_table t_;
  Blocks live_;
  bool is_refused_ = false;
  unsigned char value_ = 0;
  unsigned steps_ = 0;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  TableModel model(input);
  while (!input.empty()) model.step(input);
}

}  // namespace tarn::fuzz
