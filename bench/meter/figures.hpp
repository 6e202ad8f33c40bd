// figures: what a task has measured, as one line of JSON, and the median of what it measured often.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <vector>

namespace tarn {

struct Figure {
  const char* name;
  double value;
};

// What is not a number was not measured, and is not printed.
template <class Figures = std::initializer_list<Figure>>
void print(const Figures& figures) {
  const char* separator = "{";
  for (const Figure& figure : figures) {
    if (std::isnan(figure.value)) continue;
    std::printf("%s\"%s\": %.9g", separator, figure.name, figure.value);
    separator = ", ";
  }
  std::puts("}");
}

// Not a number where nothing was measured.
inline double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tarn
