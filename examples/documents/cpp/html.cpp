// html: writes an article as HTML. It goes from parents to children and back without recursion.
//
// SPDX-License-Identifier: MIT
#include "document.hpp"

namespace documents {

namespace {

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
    }
  }
  return html;
}

// A number such as 1.2.3; empty for an element without one.
std::string number_of(const Element* section) {
  std::string number;
  while (section->kind == Kind::section && section->number != 0) {
    number = std::to_string(section->number) + (number.empty() ? "" : ".") + number;
    section = parent_of(section);
  }
  return number;
}

// Only the words of a heading.
std::string words_of(const Element* heading) {
  std::string words;
  for (const Element* e = heading; e != nullptr; e = next_below(heading, e)) {
    if (e->kind == Kind::text || e->kind == Kind::code) words += escaped(e->text);
  }
  return words;
}

std::string start_of_section(const Element* section) {
  if (section->number == 0) return "<section>\n";
  return "<section id=\"s-" + number_of(section) + "\">\n";
}

std::string start_of_heading(const Element* heading) {
  const Element* const section = parent_of(heading);
  const std::string start = "<h" + std::to_string(heading->level) + ">";
  return section->number == 0 ? start : start + number_of(section) + " ";
}

std::string entry(const Element* section) {
  const std::string number = number_of(section);
  return "<li><a href=\"#s-" + number + "\">" + number + " " + words_of(heading_of(section)) +
         "</a></li>\n";
}

std::string start_of(const Element* e) {
  const std::string number = std::to_string(e->kind == Kind::cite ? e->target->number : e->number);
  switch (e->kind) {
    case Kind::section: return start_of_section(e);
    case Kind::heading: return start_of_heading(e);
    case Kind::paragraph: return "<p>";
    case Kind::list: return parent_of(e)->kind == Kind::item ? "\n<ul>\n" : "<ul>\n";
    case Kind::item: return "<li>";
    case Kind::code_block: return "<pre><code>" + escaped(e->text) + "</code></pre>\n";
    case Kind::comment: return "<!--" + std::string(e->text) + "-->\n";
    case Kind::contents: return "<nav>\n<ul>\n";
    case Kind::entry: return entry(e->target);
    case Kind::note: return "<aside id=\"note-" + number + "\">" + number + ".";
    case Kind::text: return escaped(e->text);
    case Kind::emphasis: return "<em>";
    case Kind::strong: return "<strong>";
    case Kind::code: return "<code>" + escaped(e->text) + "</code>";
    case Kind::link: return "<a href=\"" + escaped(e->text) + "\">";
    case Kind::cite: return "<sup><a href=\"#note-" + number + "\">" + number + "</a></sup>";
    default: return "";
  }
}

std::string end_of(const Element* e) {
  switch (e->kind) {
    case Kind::section: return "</section>\n";
    case Kind::heading: return "</h" + std::to_string(e->level) + ">\n";
    case Kind::paragraph: return "</p>\n";
    case Kind::list: return "</ul>\n";
    case Kind::item: return "</li>\n";
    case Kind::contents: return "</ul>\n</nav>\n";
    case Kind::note: return "</aside>\n";
    case Kind::emphasis: return "</em>";
    case Kind::strong: return "</strong>";
    case Kind::link: return "</a>";
    default: return "";
  }
}

void add_below(const Element* root, std::string& html) {
  const Element* e = first_child(root);
  while (e != nullptr) {
    html += start_of(e);
    const Element* next = first_child(e);
    while (next == nullptr && e != root) {
      html += end_of(e);
      next = next_sibling(e);
      if (next == nullptr) e = parent_of(e);
    }
    e = next;
  }
}

}  // namespace

std::string html_of(const Document& document) {
  const Element* heading = document.article;
  while (heading != nullptr && heading->kind != Kind::heading) {
    heading = next_below(document.article, heading);
  }
  std::string html = "<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>";
  if (heading != nullptr) html += words_of(heading);
  html += "</title></head>\n<body>\n";
  add_below(document.article, html);
  return html + "</body>\n</html>\n";
}

}  // namespace documents
