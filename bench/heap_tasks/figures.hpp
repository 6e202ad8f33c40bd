// figures: what a task has measured, as one line of JSON.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <initializer_list>

namespace tarn {

struct Figure {
  const char* name;
  double value;
};

inline void print(std::initializer_list<Figure> figures) {
  const char* separator = "{";
  for (const Figure& figure : figures) {
    std::printf("%s\"%s\": %.9g", separator, figure.name, figure.value);
    separator = ", ";
  }
  std::puts("}");
}

}  // namespace tarn
