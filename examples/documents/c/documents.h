/* documents: a document as a tree. The document is the root; below it lie the text of its file, of
 * which all words are parts, and elements, in the order in which they are written.
 *
 *   document - source
 *            - body - paragraph - text, emphasis - text, cite ...   (parse.c)
 *            - notes - note - text ...
 *
 *   document - source
 *            - article - section - heading, paragraph, section ...  (transform.c)
 *                                - note: owned by each section that cites it
 *
 * SPDX-License-Identifier: MIT */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include <stddef.h>
#include <stdio.h>

enum kind {
  kind_body,
  kind_notes,
  kind_article,
  kind_section,
  kind_heading,
  kind_paragraph,
  kind_list,
  kind_item,
  kind_code_block,
  kind_comment,
  kind_contents,
  kind_entry,
  kind_note,
  kind_text,
  kind_emphasis,
  kind_strong,
  kind_code,
  kind_link,
  kind_cite
};

struct element {
  enum kind kind;
  int level;        /* Headings and their sections: 1 to 6. */
  int number;       /* Sections: among those beside it; notes: in the document. 0: none. */
  const char* text; /* Code, comments; a link's address; the name of a note. */
  size_t length;
  struct element* target; /* Cites: the note; entries of the contents: the section. */
};

struct document {
  const char* text;
  struct element* body;
  struct element* notes;
  struct element* article;
};

/* What to do with each document. */
struct choices {
  const char* without; /* Sections of this title are left out; null: none. */
  int keeps_comments;
};

/* The reason why a document cannot be converted. */
struct problem {
  char text[300];
};

/* parse.c. Null, and the problem, for a file that cannot be read. */
struct document* document_read(const char* path, struct problem* problem);
struct element* new_element(void* parent, enum kind kind, const char* text, size_t length);

/* transform.c. Returns 0, or -1 and the problem. */
int document_transform(struct document* document, const struct choices* choices,
                       struct problem* problem);
struct element* heading_of(const struct element* section);
int name_element(struct element* e, const char* text, size_t length);

/* html.c. Returns 0, or -1 with errno. */
int document_write(const struct document* document, FILE* file);

#endif
