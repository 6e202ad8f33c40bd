// best_table: for each number of classes, the class table that reserves least for the given
// requests, exactly.
//
// Only sizes that are asked for, rounded up to what a heap takes, need be classes. Let b[1] < ... <
// b[n] be these sizes, and C[j] the number of requests up to b[j]. Then the best k classes up to
// b[j] reserve
//
//   R[k][j] = min over i < j of  R[k-1][i] + b[j] * (C[j] - C[i])
//
// The best i does not fall as j grows, since b[j] * (C[j] - C[i]) satisfies the quadrangle
// inequality (F. F. Yao, 1980). So each k takes O(n log n): the middle j first, then both halves.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "size_counts.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

inline constexpr std::size_t classes_max = TARN_HEAP_CLASSES_MAX;

class BestTables {
 public:
  // The best tables of at most count_most classes. pre: there are requests
  BestTables(const SizeCounts& counts, std::size_t count_most);

  // The largest number of classes, up to count_most, that is of any use.
  std::size_t count_max() const noexcept { return rows_.size(); }

  // pre (both): 1 <= count <= count_max()
  std::uint64_t reserved_bytes(std::size_t count) const noexcept {
    return rows_[count - 1].reserved.back();
  }
  std::vector<std::size_t> table(std::size_t count) const;

  // The first number of classes from which one more saves less than this part of what is asked for.
  // What one more saves never grows with their number.
  std::size_t knee(double part) const;

 private:
  struct Row {  // By the number of rounded sizes that are served, 0 to n.
    std::vector<std::uint64_t> reserved;
    std::vector<std::uint32_t> before;  // How many of these the last class leaves to others.
  };

  void fill(Row& row, const Row& below, std::size_t first, std::size_t end,
            std::size_t before_first, std::size_t before_last) const;

  std::vector<std::size_t> bytes_{0};       // b
  std::vector<std::uint64_t> requests_{0};  // C
  std::uint64_t asked_ = 0;
  std::vector<Row> rows_;
};

}  // namespace tarn
