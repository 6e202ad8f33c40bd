// A plan: which node comes below which, how large, in the order in which they are made. It is drawn
// before anything is measured, so that all contestants do the same and nothing else.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn {

struct PlannedNode {
  std::uint32_t parent;  // In the plan; its own place: the root.
  std::uint16_t bytes;
  bool is_string;  // Of that many bytes, with its end.
};

class Plan {
 public:
  // shape: wide      all below the root
  //        deep      each below the one before
  //        chains    such of 10,000
  //        random    each below one of those before, all of these as likely
  //        document  depth first: elements of 48 bytes with a title and 3 to 10 others each; at
  //                  depth 7 strings; strings of 5 to 60 bytes
  // size:  bytes of a node; "mixed": 8 to 128, all as likely (a document has its own)
  // Ends the process for what does not exist.
  Plan(std::string_view shape, std::string_view size, std::size_t nodes);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const PlannedNode* begin() const { return nodes_; }
  const PlannedNode* end() const { return nodes_ + count_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }  // That are asked for.
  void** made() const { return made_; }         // Room for a pointer to each.

  // A text of so many bytes with its end. pre: bytes <= 60
  const char* text(std::size_t bytes) const { return text_ + sizeof text_ - bytes; }

 private:
  void draw_bytes(std::string_view size);
  void draw_parents(std::string_view shape);
  void draw_element(std::size_t parent, unsigned depth);
  std::size_t add(std::size_t parent, std::size_t bytes, bool is_string);
  std::uint32_t below(std::uint32_t most);

  PlannedNode* nodes_;
  void** made_;
  std::size_t count_;
  std::size_t drawn_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
  char text_[60];
};

}  // namespace tarn
