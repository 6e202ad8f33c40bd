/* html: writes an article as HTML. It goes from parents to children and back without recursion.
 *
 * SPDX-License-Identifier: MIT */
#include "documents.h"
#include "tarn/tree/tree.h"

static void write_text(const char* text, size_t length, FILE* file) {
  for (size_t i = 0; i < length; ++i) {
    switch (text[i]) {
      case '&': fputs("&amp;", file); break;
      case '<': fputs("&lt;", file); break;
      case '>': fputs("&gt;", file); break;
      case '"': fputs("&quot;", file); break;
      default: putc(text[i], file);
    }
  }
}

/* Writes a number such as 1.2.3; nothing for an element without one. */
static void write_number(const struct element* section, FILE* file) {
  int numbers[6];
  int count = 0;
  while (section->kind == kind_section && section->number != 0) {
    numbers[count++] = section->number;
    section = tarn_tree_parent(section);
  }
  while (count-- > 0) fprintf(file, count > 0 ? "%d." : "%d", numbers[count]);
}

/* Only the words of a heading. */
static void write_words(const struct element* heading, FILE* file) {
  for (const struct element* e = heading; e != NULL; e = tarn_tree_next(heading, e)) {
    if (e->kind == kind_text || e->kind == kind_code) write_text(e->text, e->length, file);
  }
}

static void write_entry(const struct element* section, FILE* file) {
  fputs("<li><a href=\"#s-", file);
  write_number(section, file);
  fputs("\">", file);
  write_number(section, file);
  putc(' ', file);
  write_words(heading_of(section), file);
  fputs("</a></li>\n", file);
}

static void write_start_of_section(const struct element* section, FILE* file) {
  if (section->number == 0) {
    fputs("<section>\n", file);
    return;
  }
  fputs("<section id=\"s-", file);
  write_number(section, file);
  fputs("\">\n", file);
}

static void write_start_of_heading(const struct element* heading, FILE* file) {
  const struct element* const section = tarn_tree_parent(heading);
  fprintf(file, "<h%d>", heading->level);
  if (section->number != 0) {
    write_number(section, file);
    putc(' ', file);
  }
}

static void write_raw(const char* before, const struct element* e, const char* behind, FILE* file) {
  fputs(before, file);
  write_text(e->text, e->length, file);
  fputs(behind, file);
}

static int is_in_item(const struct element* list) {
  const struct element* const parent = tarn_tree_parent(list);
  return parent->kind == kind_item;
}

static void write_start(const struct element* e, FILE* file) {
  switch (e->kind) {
    case kind_section: write_start_of_section(e, file); break;
    case kind_heading: write_start_of_heading(e, file); break;
    case kind_paragraph: fputs("<p>", file); break;
    case kind_list: fputs(is_in_item(e) ? "\n<ul>\n" : "<ul>\n", file); break;
    case kind_item: fputs("<li>", file); break;
    case kind_code_block: write_raw("<pre><code>", e, "</code></pre>\n", file); break;
    case kind_comment: fprintf(file, "<!--%.*s-->\n", (int)e->length, e->text); break;
    case kind_contents: fputs("<nav>\n<ul>\n", file); break;
    case kind_entry: write_entry(e->target, file); break;
    case kind_note: fprintf(file, "<aside id=\"note-%d\">%d.", e->number, e->number); break;
    case kind_text: write_raw("", e, "", file); break;
    case kind_emphasis: fputs("<em>", file); break;
    case kind_strong: fputs("<strong>", file); break;
    case kind_code: write_raw("<code>", e, "</code>", file); break;
    case kind_link: write_raw("<a href=\"", e, "\">", file); break;
    case kind_cite:
      fprintf(file, "<sup><a href=\"#note-%d\">%d</a></sup>", e->target->number, e->target->number);
      break;
    default: break;
  }
}

static void write_end(const struct element* e, FILE* file) {
  switch (e->kind) {
    case kind_section: fputs("</section>\n", file); break;
    case kind_heading: fprintf(file, "</h%d>\n", e->level); break;
    case kind_paragraph: fputs("</p>\n", file); break;
    case kind_list: fputs("</ul>\n", file); break;
    case kind_item: fputs("</li>\n", file); break;
    case kind_contents: fputs("</ul>\n</nav>\n", file); break;
    case kind_note: fputs("</aside>\n", file); break;
    case kind_emphasis: fputs("</em>", file); break;
    case kind_strong: fputs("</strong>", file); break;
    case kind_link: fputs("</a>", file); break;
    default: break;
  }
}

static void write_below(const struct element* root, FILE* file) {
  const struct element* e = tarn_tree_first_child(root);
  while (e != NULL) {
    write_start(e, file);
    const struct element* next = tarn_tree_first_child(e);
    while (next == NULL && e != root) {
      write_end(e, file);
      next = tarn_tree_next_sibling(e);
      if (next == NULL) e = tarn_tree_parent(e);
    }
    e = next;
  }
}

static const struct element* first_heading(const struct element* article) {
  const struct element* e = article;
  while (e != NULL && e->kind != kind_heading) e = tarn_tree_next(article, e);
  return e;
}

int document_write(const struct document* document, FILE* file) {
  const struct element* const heading = first_heading(document->article);
  fputs("<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>", file);
  if (heading != NULL) write_words(heading, file);
  fputs("</title></head>\n<body>\n", file);
  write_below(document->article, file);
  fputs("</body>\n</html>\n", file);
  return ferror(file) ? -1 : 0;
}
