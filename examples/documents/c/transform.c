/* transform: turns the body as it was read into an article of sections. Elements are moved;
 * comments and unwanted sections are disposed of; notes get the sections that cite them as owners.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "documents.h"
#include "tarn/tree/tree.h"

static int fail(struct problem* problem, const char* reason) {
  snprintf(problem->text, sizeof problem->text, "%s", reason);
  return -1;
}

static int fail_at(const struct document* document, const struct element* cite,
                   struct problem* problem) {
  int line = 1;
  for (const char* c = document->text; c < cite->text; ++c) line += *c == '\n';
  snprintf(problem->text, sizeof problem->text, "%s:%d: there is no note [^%.*s]",
           tarn_tree_name(document), line, (int)(cite->length < 60 ? cite->length : 60),
           cite->text);
  return -1;
}

/* The next element that is not below `e`. */
static struct element* next_beside(const struct element* root, struct element* e) {
  while (e != root) {
    struct element* const next = tarn_tree_next_sibling(e);
    if (next != NULL) return next;
    e = tarn_tree_parent(e);
  }
  return NULL;
}

static struct element* section_of(struct element* e) {
  while (e->kind != kind_section && e->kind != kind_article) e = tarn_tree_parent(e);
  return e;
}

struct element* heading_of(const struct element* section) {
  return tarn_tree_first_child(section);
}

static void drop_comments(struct document* document) {
  struct element* next = NULL;
  for (struct element* e = tarn_tree_first_child(document->body); e != NULL; e = next) {
    next = tarn_tree_next_sibling(e);
    if (e->kind == kind_comment) tarn_tree_dispose(e);
  }
}

/* Moves each element of the body below its section. */
static int make_sections(struct document* document) {
  document->article = new_element(document, kind_article, NULL, 0);
  if (document->article == NULL) return -1;
  tarn_tree_set_static_name(document->article, "article");
  struct element* current = document->article;
  struct element* e = NULL;
  while ((e = tarn_tree_first_child(document->body)) != NULL) {
    if (e->kind == kind_heading) {
      while (current->level >= e->level) current = tarn_tree_parent(current);
      current = new_element(current, kind_section, NULL, 0);
      if (current == NULL) return -1;
      current->level = e->level;
      if (name_element(current, e->text, e->length) != 0) return -1;
    }
    if (tarn_tree_steal(current, e) != 0) return -1;
  }
  return tarn_tree_dispose(document->body);
}

/* Notes that are not cited end with `notes`; the others pass to their owners. */
static int share_notes(struct document* document, struct problem* problem) {
  struct element* const article = document->article;
  for (struct element* e = tarn_tree_next(article, article); e != NULL;
       e = tarn_tree_next(article, e)) {
    if (e->kind != kind_cite) continue;
    struct element* note = tarn_tree_first_child(document->notes);
    while (note != NULL &&
           (note->length != e->length || memcmp(note->text, e->text, e->length) != 0)) {
      note = tarn_tree_next_sibling(note);
    }
    if (note == NULL) {
      return fail_at(document, e, problem);
    }
    e->target = note;
    struct element* const owner = section_of(e);
    if (tarn_tree_reference(owner, note) != 0 && tarn_tree_owners(note) == 1) {
      return fail(problem, "out of memory");
    }
  }
  return tarn_tree_dispose(document->notes);
}

static void drop_sections(struct document* document, const char* title) {
  struct element* const article = document->article;
  const size_t length = strlen(title);
  struct element* next = NULL;
  for (struct element* e = tarn_tree_next(article, article); e != NULL; e = next) {
    next = tarn_tree_next(article, e);
    if (e->kind != kind_section) continue;
    const struct element* const heading = heading_of(e);
    if (heading->length == length && memcmp(heading->text, title, length) == 0) {
      next = next_beside(article, e);
      tarn_tree_dispose(e);
    }
  }
}

/* Numbers sections below titles (level 1) among their siblings, and notes in the order of
 * citation. */
static void number(struct element* article) {
  int notes = 0;
  for (struct element* e = article; e != NULL; e = tarn_tree_next(article, e)) {
    if (e->kind == kind_cite && e->target->number == 0) e->target->number = ++notes;
    if (e->kind != kind_section && e->kind != kind_article) continue;
    int sections = 0;
    for (struct element* c = tarn_tree_first_child(e); c != NULL; c = tarn_tree_next_sibling(c)) {
      if (c->kind == kind_section && c->level > 1) c->number = ++sections;
    }
  }
}

static int list_contents(struct element* article, struct element* contents) {
  for (struct element* e = article; e != NULL; e = tarn_tree_next(article, e)) {
    if (e->kind != kind_section || e->number == 0) continue;
    struct element* const entry = new_element(contents, kind_entry, NULL, 0);
    if (entry == NULL) return -1;
    entry->target = e;
  }
  return 0;
}

int document_transform(struct document* document, const struct choices* choices,
                       struct problem* problem) {
  if (!choices->keeps_comments) drop_comments(document);
  if (make_sections(document) != 0) return fail(problem, "out of memory");
  if (share_notes(document, problem) != 0) return -1;
  struct element* const article = document->article;
  if (choices->without != NULL) drop_sections(document, choices->without);
  number(article);
  for (struct element* e = article; e != NULL; e = tarn_tree_next(article, e)) {
    if (e->kind == kind_contents && list_contents(article, e) != 0) {
      return fail(problem, "out of memory");
    }
  }
  return 0;
}
