// document: a document as a tree, in C++. Below the root lie the text of its file, of which all
// words are parts, and elements, in the order in which they are written.
//
//   root - source
//        - body - paragraph - text, emphasis - text, cite ...   (parse.cpp)
//        - notes - note - text ...
//
//   root - source
//        - article - section - heading, paragraph, section ...  (transform.cpp)
//                            - note: owned by each section that cites it
//
// SPDX-License-Identifier: MIT
#ifndef DOCUMENTS_DOCUMENT_HPP
#define DOCUMENTS_DOCUMENT_HPP

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tarn/tree/tree.hpp"

namespace documents {

enum class Kind {
  body,
  notes,
  article,
  section,
  heading,
  paragraph,
  list,
  item,
  code_block,
  comment,
  contents,
  entry,
  note,
  text,
  emphasis,
  strong,
  code,
  link,
  cite
};

struct Element {
  Kind kind;
  std::string_view text;      // Of code and comments; a link's address; a note's name.
  int level = 0;              // Headings and their sections: 1 to 6.
  int number = 0;             // Sections: among those beside it; notes: in the document. 0: none.
  Element* target = nullptr;  // Cites: the note; entries of the contents: the section.
};

inline Element* make(void* parent, Kind kind, std::string_view text = {}) {
  return tarn::tree::create<Element>(parent, Element{kind, text});
}

inline Element* parent_of(const Element* e) { return static_cast<Element*>(tarn_tree_parent(e)); }
inline Element* first_child(const Element* e) {
  return static_cast<Element*>(tarn_tree_first_child(e));
}
inline Element* next_sibling(const Element* e) {
  return static_cast<Element*>(tarn_tree_next_sibling(e));
}
// The next element below `root`. Each comes before those below it.
inline Element* next_below(const Element* root, const Element* e) {
  return static_cast<Element*>(tarn_tree_next(root, e));
}
inline Element* heading_of(const Element* section) { return first_child(section); }

// A name for reports, which is shorter than a title may be.
void name(Element* e, std::string_view text);

// The reason why a document cannot be converted.
struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What to do with each document.
struct Choices {
  std::optional<std::string> without;  // Sections of this title are left out.
  bool keeps_comments = false;
};

struct Document {
  tarn::Tree tree = tarn::Tree::with_arena();  // All of it lies in an arena of its own.
  std::string path = {};
  std::string_view text = {};
  Element* body = nullptr;
  Element* notes = nullptr;
  Element* article = nullptr;
};

Document read(const std::string& path);
void transform(Document& document, const Choices& choices);
std::string html_of(const Document& document);

}  // namespace documents

#endif
