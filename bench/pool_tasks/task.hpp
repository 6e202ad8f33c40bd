// What the tasks share: which contestants run and in which order, the clock, what is printed: one
// JSON object a line for each contestant and size.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../meter/figures.hpp"
#include "../meter/process.h"

namespace tarn {

struct Request {
  std::size_t turn = 0;                // Which contestant begins.
  std::size_t size_max = 0;            // Larger sizes are left out.
  std::vector<std::string_view> only;  // Contestants; none: all.

  bool wants(std::string_view name) const {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  }
};

inline void print(const char* task, std::size_t size, const char* contestant,
                  std::initializer_list<Figure> figures) {
  std::printf("{\"task\": \"%s\", \"size\": %zu, \"contestant\": \"%s\"", task, size, contestant);
  for (const Figure& figure : figures) {
    if (!std::isnan(figure.value)) std::printf(", \"%s\": %.6g", figure.name, figure.value);
  }
  std::puts("}");
}

// Nothing that `value` leads to is optimised away, nor known afterwards.
template <class T>
void keep(T& value) {
  asm volatile("" : : "r"(std::addressof(value)) : "memory");
}

// How long a call takes, less what looking at the clock does.
template <class Body>
double ns_of(Body&& body) {
  static const double clock_ns = [] {
    std::vector<double> times(1001);
    for (double& time : times) {
      time = -now_ns(CLOCK_MONOTONIC);
      time += now_ns(CLOCK_MONOTONIC);
    }
    return median(times);
  }();
  const double begin = now_ns(CLOCK_MONOTONIC);
  body();
  return now_ns(CLOCK_MONOTONIC) - begin - clock_ns;
}

// Calls body.run<Contestant>() for each that is wanted, another one first in each turn.
template <class Contestants, class Body>
void in_turn(const Request& request, const Body& body) {
  const auto call = [&]<std::size_t... at>(std::index_sequence<at...>) {
    using Call = void (*)(const Body&);
    const std::array<Call, sizeof...(at)> calls{
        [](const Body& each) { each.template run<std::tuple_element_t<at, Contestants>>(); }...};
    const std::array<const char*, sizeof...(at)> names{
        std::tuple_element_t<at, Contestants>::name...};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t chosen = (i + request.turn) % calls.size();
      if (request.wants(names[chosen])) calls[chosen](body);
    }
  };
  call(std::make_index_sequence<std::tuple_size_v<Contestants>>{});
}

// growth.cpp
void task_growth(const Request& request);
void task_malloc(const Request& request);
void task_scattered(const Request& request);
void count_growth(const Request& request);

// slots.cpp
void task_slots(const Request& request);
void count_slots(const Request& request);

// ends.cpp
void task_destroy(const Request& request);
void task_destroy_peer(const Request& request);
void task_initialise(const Request& request);

// story.cpp
void task_story(const Request& request);
void task_story_clean(const Request& request);

}  // namespace tarn
