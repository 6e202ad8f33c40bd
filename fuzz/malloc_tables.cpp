// malloc_tables: the table of each kind of allocator (tests/tables/subjects.hpp) against the blocks
// that are out and their contents: all functions, any size and alignment, reallocation in all
// directions, memory that is refused for a while. The first byte chooses the kind.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <vector>

#include "../tests/tables/subjects.hpp"
#include "filled_blocks.hpp"
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

  void put(void* p, std::size_t bytes, std::size_t alignment) {
    const std::size_t usable = t_.usable_size(t_.context, p);
    TARN_REQUIRE(is_aligned(p, alignment) && usable >= bytes);
    live_.add(p, usable);
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

  FilledBlocks::Iterator any(Input& input) {
    return std::next(live_.begin(), static_cast<std::ptrdiff_t>(input.below(live_.size())));
  }

  void reallocate(Input& input) {
    const std::size_t bytes = size(input) + 1;
    errno = 0;
    if (live_.empty()) return take(t_.reallocate(t_.context, nullptr, bytes), bytes, 16);
    const auto found = any(input);
    const FilledBlock before = found->second;
    void* const p = t_.reallocate(t_.context, found->first, bytes);
    if (p == nullptr) {
      TARN_REQUIRE(errno == ENOMEM && !is_due(bytes, 16));
      return FilledBlocks::require_filled(found->first, before);
    }
    FilledBlocks::require_filled(p, before, std::min(bytes, before.bytes));
    live_.forget(found);
    put(p, bytes, 16);
  }

  void end_by_reallocation(Input& input) {
    if (live_.empty()) return;
    const auto found = any(input);
    void* const p = found->first;
    live_.remove(found);
    TARN_REQUIRE(t_.reallocate(t_.context, p, 0) == nullptr);
  }

  void deallocate(FilledBlocks::Iterator found) {
    void* const p = found->first;
    live_.remove(found);
    errno = 77;
    t_.deallocate(t_.context, p);
    TARN_REQUIRE(errno == 77);
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
      FilledBlocks::require_filled(found->first, found->second);
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
  FilledBlocks live_;
  bool is_refused_ = false;
  unsigned steps_ = 0;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) { run_model<TableModel>(data, size); }

}  // namespace tarn::fuzz
