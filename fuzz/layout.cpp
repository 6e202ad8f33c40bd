// layout: sizes to classes and slices, against a search through the tables and wide arithmetic.
//
// SPDX-License-Identifier: MIT
#include "engine/layout/geometry.hpp"
#include "engine/layout/page_plan.hpp"
#include "engine/layout/size_class.hpp"
#include "input.hpp"
#include "platform/base/bits.hpp"

namespace tarn::fuzz {

namespace {

__extension__ using Wide = unsigned __int128;

std::size_t searched_class(std::size_t bytes, std::size_t alignment) {
  for (std::size_t c = 1; c < class_count; ++c) {
    if (class_block_bytes[c] >= bytes && class_block_bytes[c] % alignment == 0) return c;
  }
  return class_count;
}

void check_class(Input& input) {
  const std::size_t bytes = input.below(block_bytes_max + 1);
  TARN_REQUIRE(class_of(bytes) == (bytes == 0 ? 0 : searched_class(bytes, 1)));
  const std::size_t alignment = std::size_t{1} << input.below(18);
  TARN_REQUIRE(aligned_class_of(bytes, alignment) == searched_class(bytes, alignment));
}

void check_plan(Input& input) {
  const std::size_t c = input.below(class_count);
  const auto has = static_cast<std::size_t>(input.magnitude(32));
  const std::size_t slices = page_slices(c, has);
  const std::size_t full = page_slices(c, SIZE_MAX);
  TARN_REQUIRE(slices == full || (slices < full && slices >= 4 * has));
  TARN_REQUIRE(slices <= page_slices(c, has + 1));
  const std::size_t bytes = class_block_bytes[c];
  TARN_REQUIRE(slices * slice_bytes >= first_page_blocks(bytes) * bytes);
  TARN_REQUIRE(full * slice_bytes >= page_blocks_min * bytes);

  const std::size_t longest = main_page_slices(c, has);
  TARN_REQUIRE(longest >= slices && longest % slices == 0);
  TARN_REQUIRE(longest * slice_bytes / bytes <= page_blocks_max);
  TARN_REQUIRE(longest == slices ||
               (longest <= page_slices_longest && longest * main_long_part <= has));
  TARN_REQUIRE(heap_page_slices(bytes, has) * slice_bytes >= bytes);
}

void check_arithmetic(Input& input) {
  const auto a = static_cast<std::size_t>(input.magnitude(64));
  const auto b = static_cast<std::size_t>(input.magnitude(64));
  std::size_t product = 0;
  const bool fits = checked_multiply(a, b, &product);
  const Wide wide = Wide{a} * b;
  TARN_REQUIRE(fits == (wide <= SIZE_MAX));
  TARN_REQUIRE(!fits || product == wide);

  const std::size_t slices = slices_for(a);
  TARN_REQUIRE(Wide{slices} * slice_bytes >= a);
  TARN_REQUIRE(slices == 0 || Wide{slices - 1} * slice_bytes < a);

  const std::size_t alignment = std::size_t{1} << input.below(48);
  const std::size_t n = a >> 16;
  const std::size_t up = align_up(n, alignment);
  TARN_REQUIRE(up % alignment == 0 && up >= n && up - n < alignment);
  TARN_REQUIRE(a == 0 || (a >> log2_floor(a)) == 1);
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  while (input.has_step()) {
    switch (input.below(3)) {
      case 0: check_class(input); break;
      case 1: check_plan(input); break;
      default: check_arithmetic(input);
    }
  }
}

}  // namespace tarn::fuzz
