// statistics: medians, spread and intervals of a handful of measurements.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace tarn {

struct Spread {
  double median = 0;
  double quartile_low = 0;
  double quartile_high = 0;
  double min = 0;
  double max = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

inline constexpr double confidence = 0.95;  // tail_for() has the matching quantile
// With n pairs the median lies outside all of them with probability 2^(1-n). Below six pairs,
// therefore, no method can make an interval of 95 %.
inline constexpr std::size_t pairs_for_confidence = 6;

// pre: !values.empty()
double median_of(std::vector<double> values);
Spread spread_of(std::vector<double> values);

// The interval of the median by the percentile bootstrap, widened for few values; the same values
// give the same interval. With fewer than `pairs_for_confidence` values it is their range, which is
// all that they show. pre: !values.empty()
Interval median_interval(const std::vector<double>& values);

}  // namespace tarn
