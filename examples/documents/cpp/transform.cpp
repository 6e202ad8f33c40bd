// transform: turns the body as it was read into an article of sections. Elements are moved;
// comments and unwanted sections are disposed of; notes get the sections that cite them as owners.
//
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "document.hpp"

namespace documents {

namespace {

// The next element that is not below `e`.
Element* next_beside(const Element* root, Element* e) {
  while (e != root) {
    if (Element* const next = next_sibling(e)) return next;
    e = parent_of(e);
  }
  return nullptr;
}

Element* section_of(Element* e) {
  while (e->kind != Kind::section && e->kind != Kind::article) e = parent_of(e);
  return e;
}

void drop_comments(Element* body) {
  Element* next = nullptr;
  for (Element* e = first_child(body); e != nullptr; e = next) {
    next = next_sibling(e);
    if (e->kind == Kind::comment) tarn::tree::dispose(e);
  }
}

// Moves each element of the body below its section.
void make_sections(Document& document) {
  document.article = make(document.tree.root(), Kind::article);
  tarn_tree_set_static_name(document.article, "article");
  Element* current = document.article;
  while (Element* const e = first_child(document.body)) {
    if (e->kind == Kind::heading) {
      while (current->level >= e->level) current = parent_of(current);
      current = make(current, Kind::section);
      current->level = e->level;
      name(current, e->text);
    }
    if (!tarn::tree::steal(current, e)) throw std::bad_alloc();
  }
  tarn::tree::dispose(document.body);
}

Element* note_called(const Element* notes, std::string_view text) {
  Element* note = first_child(notes);
  while (note != nullptr && note->text != text) note = next_sibling(note);
  return note;
}

// Notes that are not cited end with `notes`; the others pass to their owners.
void share_notes(Document& document) {
  Element* const article = document.article;
  for (Element* e = article; e != nullptr; e = next_below(article, e)) {
    if (e->kind != Kind::cite) continue;
    e->target = note_called(document.notes, e->text);
    if (e->target == nullptr) {
      const auto line = 1 + std::count(document.text.data(), e->text.data(), '\n');
      throw Problem(document.path + ":" + std::to_string(line) + ": there is no note [^" +
                    std::string(e->text.substr(0, 60)) + "]");
    }
    const bool is_owner = tarn::tree::reference(section_of(e), e->target);
    if (!is_owner && tarn_tree_owners(e->target) == 1) throw std::bad_alloc();
  }
  tarn::tree::dispose(document.notes);
}

void drop_sections(Element* article, std::string_view title) {
  Element* next = nullptr;
  for (Element* e = article; e != nullptr; e = next) {
    next = next_below(article, e);
    if (e->kind != Kind::section || heading_of(e)->text != title) continue;
    next = next_beside(article, e);
    tarn::tree::dispose(e);
  }
}

// Numbers sections below titles (level 1) among their siblings, and notes in the order of citation.
void number(Element* article) {
  int notes = 0;
  for (Element* e = article; e != nullptr; e = next_below(article, e)) {
    if (e->kind == Kind::cite && e->target->number == 0) e->target->number = ++notes;
    if (e->kind != Kind::section && e->kind != Kind::article) continue;
    int sections = 0;
    for (Element* c = first_child(e); c != nullptr; c = next_sibling(c)) {
      if (c->kind == Kind::section && c->level > 1) c->number = ++sections;
    }
  }
}

void list_contents(Element* article, Element* contents) {
  for (Element* e = article; e != nullptr; e = next_below(article, e)) {
    if (e->kind == Kind::section && e->number != 0) make(contents, Kind::entry)->target = e;
  }
}

}  // namespace

void transform(Document& document, const Choices& choices) {
  if (!choices.keeps_comments) drop_comments(document.body);
  make_sections(document);
  share_notes(document);
  Element* const article = document.article;
  if (choices.without) drop_sections(article, *choices.without);
  number(article);
  for (Element* e = article; e != nullptr; e = next_below(article, e)) {
    if (e->kind == Kind::contents) list_contents(article, e);
  }
}

}  // namespace documents
