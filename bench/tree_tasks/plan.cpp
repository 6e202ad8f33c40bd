// plan: see plan.hpp.
//
// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../meter/meter.hpp"

namespace tarn {
namespace {

constexpr std::size_t chain_nodes = 10000;
constexpr std::size_t element_bytes = 48;
constexpr unsigned element_depth_max = 7;

[[noreturn]] void refuse(std::string_view what) {
  std::fprintf(stderr, "trees: nothing is called %.*s\n", static_cast<int>(what.size()),
               what.data());
  std::exit(2);
}

}  // namespace

Plan::Plan(std::string_view shape, std::string_view size, std::size_t nodes)
    : nodes_(static_cast<PlannedNode*>(reserve(nodes * sizeof(PlannedNode)))),
      made_(static_cast<void**>(reserve(nodes * sizeof(void*)))),
      count_(nodes) {
  std::memset(text_, 't', sizeof text_ - 1);
  text_[sizeof text_ - 1] = '\0';
  if (shape == "document") {
    while (drawn_ < count_) draw_element(drawn_, 0);
  } else {
    draw_bytes(size);
    draw_parents(shape);
  }
  for (const PlannedNode& node : *this) bytes_ += node.bytes;
}

Plan::~Plan() {
  unreserve(nodes_, count_ * sizeof(PlannedNode));
  unreserve(made_, count_ * sizeof(void*));
}

std::uint32_t Plan::below(std::uint32_t most) {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<std::uint32_t>((state_ >> 32) * most >> 32);
}

std::size_t Plan::add(std::size_t parent, std::size_t bytes, bool is_string) {
  if (drawn_ == count_) return drawn_ - 1;  // The document is long enough.
  nodes_[drawn_] = {static_cast<std::uint32_t>(parent), static_cast<std::uint16_t>(bytes),
                    is_string};
  return drawn_++;
}

void Plan::draw_element(std::size_t parent, unsigned depth) {
  const std::size_t element = add(parent, element_bytes, false);
  add(element, 5 + below(56), true);
  const std::uint32_t others = 3 + below(8);
  for (std::uint32_t i = 0; i < others && drawn_ < count_; ++i) {
    if (depth == element_depth_max) {
      add(element, 5 + below(56), true);
    } else {
      draw_element(element, depth + 1);
    }
  }
}

void Plan::draw_bytes(std::string_view size) {
  const bool is_mixed = size == "mixed";
  const unsigned long bytes = std::strtoul(std::string(size).c_str(), nullptr, 10);
  if (!is_mixed && (bytes < 8 || bytes > 60000)) refuse(size);
  for (std::size_t i = 0; i < count_; ++i) {
    nodes_[i] = {static_cast<std::uint32_t>(i),
                 static_cast<std::uint16_t>(is_mixed ? 8 + below(121) : bytes), false};
  }
}

void Plan::draw_parents(std::string_view shape) {
  if (shape == "wide") return;
  for (std::size_t i = 1; i < count_; ++i) {
    std::size_t parent = i - 1;
    if (shape == "random") {
      parent = below(static_cast<std::uint32_t>(i));
    } else if (shape == "chains") {
      if (i % chain_nodes == 0) parent = i;
    } else if (shape != "deep") {
      refuse(shape);
    }
    nodes_[i].parent = static_cast<std::uint32_t>(parent);
  }
}

}  // namespace tarn
