/* parse: turns a file into a tree of elements. It reads a subset of Markdown: headings, paragraphs,
 * lists with "- " and two blanks a level, code between lines of ```, comments, "[toc]", notes
 * "[^name]: ..." and, within lines, emphasis, strong, code, links and [^name]. Nothing recurses.
 *
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "documents.h"
#include "tarn/tree/tree.h"

enum { depth_max = 32 };

struct parser {
  struct document* document;
  struct problem* problem;
  const char* path;
  const char* at;
  const char* end;
  int line;
  struct element* item; /* The last one of the list that goes on; null: there is none. */
  int item_level;
  struct element* open; /* What further lines are added to: a paragraph, an item, a note. */
  const char* open_start;
  const char* open_end;
};

static int fail(struct parser* p, const char* reason) {
  snprintf(p->problem->text, sizeof p->problem->text, "%s:%d: %s", p->path, p->line, reason);
  return -1;
}

struct element* new_element(void* parent, enum kind kind, const char* text, size_t length) {
  struct element* const e = tarn_tree_allocate(parent, sizeof *e);
  if (e != NULL) *e = (struct element){.kind = kind, .text = text, .length = length};
  return e;
}

/* A name for reports, which is shorter than a title may be. */
int name_element(struct element* e, const char* text, size_t length) {
  char name[60];
  if (length >= sizeof name) length = sizeof name - 1;
  while (length > 0 && (text[length] & 0xc0) == 0x80) --length; /* Not inside a letter. */
  memcpy(name, text, length);
  name[length] = '\0';
  return tarn_tree_set_name(e, name);
}

static struct element* add(struct parser* p, void* parent, enum kind kind, const char* text,
                           const char* end) {
  struct element* const e = new_element(parent, kind, text, (size_t)(end - text));
  if (e == NULL) fail(p, "out of memory");
  return e;
}

static int is_space(char c) { return isspace((unsigned char)c) != 0; }

static const char* find(const char* at, const char* end, const char* what) {
  const size_t length = strlen(what);
  for (; (size_t)(end - at) >= length; ++at) {
    at = memchr(at, *what, (size_t)(end - at) - length + 1);
    if (at == NULL || memcmp(at, what, length) == 0) return at;
  }
  return NULL;
}

static int begins(const char* at, const char* end, const char* what) {
  const size_t length = strlen(what);
  return (size_t)(end - at) >= length && memcmp(at, what, length) == 0;
}

/* Parses what is within lines. */
struct inlines {
  struct parser* p;
  struct element* parent; /* The innermost that is open. */
  const char* at;
  const char* end;
  const char* run; /* Words up to `at` that are no element yet. */
  int depth;
  int no_more[2]; /* Marks * and ** that could end something. */
  int no_more_code;
};

static int end_run(struct inlines* in) {
  const char* const run = in->run;
  in->run = in->at;
  return run == in->at || add(in->p, in->parent, kind_text, run, in->at) != NULL ? 0 : -1;
}

/* Goes on behind something that became an element, or takes `at` for a word. */
static int go_on(struct inlines* in, const char* behind) {
  in->at = in->run = behind;
  return 0;
}
static int take_as_word(struct inlines* in, size_t bytes) {
  in->at += bytes;
  return 0;
}

static size_t stars_at(const char* at, const char* end) {
  return begins(at, end, "**") ? 2 : begins(at, end, "*") ? 1 : 0;
}

/* A mark with words in front of it. */
static int has_end(const char* at, const char* end, size_t stars) {
  while (at < end) {
    const size_t found = stars_at(at, end);
    if (found == stars && !is_space(at[-1])) return 1;
    at += *at == '\\' && at + 1 < end ? 2 : found != 0 ? found : 1;
  }
  return 0;
}

static int read_stars(struct inlines* in) {
  const int both_end = in->parent->kind == kind_emphasis && begins(in->at, in->end, "***");
  const size_t stars = both_end ? 1 : stars_at(in->at, in->end);
  const char* const behind = in->at + stars;
  const enum kind kind = stars == 2 ? kind_strong : kind_emphasis;
  if (in->parent->kind == kind) {
    if (is_space(in->at[-1])) return take_as_word(in, stars);
    if (end_run(in) != 0) return -1;
    in->parent = tarn_tree_parent(in->parent);
    --in->depth;
    return go_on(in, behind);
  }
  if (behind == in->end || is_space(*behind)) return take_as_word(in, stars);
  int* const no_more = &in->no_more[stars - 1];
  if (*no_more || !has_end(behind, in->end, stars)) {
    *no_more = 1;
    return take_as_word(in, stars);
  }
  if (++in->depth > depth_max) return fail(in->p, "nested more than 32 deep");
  if (end_run(in) != 0) return -1;
  in->parent = add(in->p, in->parent, kind, behind, behind);
  return in->parent == NULL ? -1 : go_on(in, behind);
}

static int read_code(struct inlines* in) {
  const char* const last = in->no_more_code ? NULL : find(in->at + 1, in->end, "`");
  if (last == NULL) {
    in->no_more_code = 1;
    return take_as_word(in, 1);
  }
  if (end_run(in) != 0) return -1;
  return add(in->p, in->parent, kind_code, in->at + 1, last) == NULL ? -1 : go_on(in, last + 1);
}

/* The first of the letters, if it is `last`; null when it is another one, or there is none. */
static const char* up_to(char last, const char* at, const char* end, const char* letters) {
  while (at < end && strchr(letters, *at) == NULL) ++at;
  return at < end && *at == last ? at : NULL;
}

/* The end of a note's name, which goes up to a ]; null when it is no name. */
static const char* end_of_name(const char* at, const char* end) {
  const char* const last = up_to(']', at, end, "[] \t\r\n");
  return last != at ? last : NULL;
}

static int read_bracket(struct inlines* in) {
  const int is_in_note = in->p->open->kind == kind_note;
  if (begins(in->at, in->end, "[^") && !is_in_note) {
    const char* const last = end_of_name(in->at + 2, in->end);
    if (last == NULL) return take_as_word(in, 2);
    if (end_run(in) != 0) return -1;
    return add(in->p, in->parent, kind_cite, in->at + 2, last) == NULL ? -1 : go_on(in, last + 1);
  }
  const char* const middle = up_to(']', in->at + 1, in->end, "[]");
  const int is_link = middle != NULL && begins(middle, in->end, "](");
  const char* const last = is_link ? up_to(')', middle + 2, in->end, "[) \t\r\n") : NULL;
  if (last == NULL) return take_as_word(in, 1);
  if (end_run(in) != 0) return -1;
  struct element* const link = add(in->p, in->parent, kind_link, middle + 2, last);
  if (link == NULL || add(in->p, link, kind_text, in->at + 1, middle) == NULL) return -1;
  return go_on(in, last + 1);
}

static int read_escape(struct inlines* in) {
  if (in->at + 1 == in->end || !ispunct((unsigned char)in->at[1])) return take_as_word(in, 1);
  if (end_run(in) != 0) return -1;
  ++in->run;
  return take_as_word(in, 2);
}

static int read_inlines(struct parser* p, struct element* block, const char* start,
                        const char* end) {
  struct inlines in = {.p = p, .parent = block, .at = start, .end = end, .run = start};
  while (in.at < end) {
    int done = 0;
    switch (*in.at) {
      case '*': done = read_stars(&in); break;
      case '`': done = read_code(&in); break;
      case '[': done = read_bracket(&in); break;
      case '\\': done = read_escape(&in); break;
      default: ++in.at;
    }
    if (done != 0) return -1;
  }
  return end_run(&in);
}

/* Parses lines into blocks. */
static int close_block(struct parser* p) {
  if (p->open == NULL) return 0;
  const int done = read_inlines(p, p->open, p->open_start, p->open_end);
  p->open = NULL;
  return done;
}

static int open_block(struct parser* p, struct element* block, const char* start, const char* end) {
  p->open = block;
  p->open_start = start;
  p->open_end = end;
  return block == NULL ? -1 : 0;
}

static int read_item(struct parser* p, const char* line, const char* start, const char* end) {
  int level = (int)((start - line) / 2 > depth_max ? depth_max : (start - line) / 2) + 1;
  struct element* list = NULL;
  if (p->item == NULL) {
    level = 1;
    list = add(p, p->document->body, kind_list, start, start);
  } else if (level > p->item_level) {
    level = p->item_level + 1;
    if (level > depth_max) return fail(p, "nested more than 32 deep");
    list = add(p, p->item, kind_list, start, start);
  } else {
    struct element* item = p->item;
    for (int up = p->item_level; up > level; --up) {
      item = tarn_tree_parent(tarn_tree_parent(item));
    }
    list = tarn_tree_parent(item);
  }
  if (list == NULL) return -1;
  p->item_level = level;
  p->item = add(p, list, kind_item, start, start);
  return open_block(p, p->item, start + 2, end);
}

static int read_heading(struct parser* p, const char* start, const char* end) {
  const char* words = start;
  while (words < end && *words == '#') ++words;
  struct element* const heading = add(p, p->document->body, kind_heading, words + 1, end);
  if (open_block(p, heading, words + 1, end) != 0) return -1;
  heading->level = (int)(words - start);
  return close_block(p);
}

static int is_heading(const char* start, const char* end) {
  const char* words = start;
  while (words < end && *words == '#') ++words;
  return words > start && words - start <= 6 && words < end && *words == ' ';
}

/* A block from behind the mark at its beginning to the mark at its end. Parsing goes on behind
 * that. */
static int read_raw(struct parser* p, enum kind kind, const char* start, const char* last_mark) {
  const char* const last = find(start, p->end, last_mark);
  if (last == NULL) {
    return fail(p, kind == kind_comment ? "a comment without end" : "code without end");
  }
  p->item = NULL;
  const char* text = start;
  if (kind == kind_code_block) { /* What stands behind the first mark is no code. */
    text = (const char*)memchr(start, '\n', (size_t)(last - start + 1)) + 1;
  }
  if (add(p, p->document->body, kind, text, kind == kind_comment ? last : last + 1) == NULL) {
    return -1;
  }
  for (const char* c = start; c < last + 1; ++c) p->line += *c == '\n';
  --p->line; /* What is behind the last mark is read as a line. */
  p->at = last + strlen(last_mark);
  return 0;
}

static int read_note(struct parser* p, const char* start, const char* name_end, const char* end) {
  struct element* const note = add(p, p->document->notes, kind_note, start + 2, name_end);
  if (note != NULL && name_element(note, note->text, note->length) != 0) {
    return fail(p, "out of memory");
  }
  return open_block(p, note, name_end + 2, end);
}

static int read_line(struct parser* p) {
  ++p->line;
  const char* const line = p->at;
  const char* end = memchr(line, '\n', (size_t)(p->end - line));
  p->at = end == NULL ? p->end : end + 1;
  if (end == NULL) end = p->end;
  while (end > line && is_space(end[-1])) --end;
  const char* start = line;
  while (start < end && *start == ' ') ++start;
  if (start == end) return close_block(p);

  const char* const name_end = begins(start, end, "[^") ? end_of_name(start + 2, end) : NULL;
  const int is_note = name_end != NULL && begins(name_end, end, "]:");
  const int is_item = begins(start, end, "- ");
  const int is_block = is_note || is_item || is_heading(start, end) || begins(start, end, "```") ||
                       begins(start, end, "<!--") ||
                       (begins(start, end, "[toc]") && end - start == 5);
  if (!is_block && p->open != NULL) {
    p->open_end = end;
    return 0;
  }
  if (close_block(p) != 0) return -1;
  if (is_item) return read_item(p, line, start, end);
  if (begins(start, end, "```")) {
    p->at = start + 3;
    return read_raw(p, kind_code_block, start + 3, "\n```");
  }
  if (begins(start, end, "<!--")) {
    p->at = start + 4;
    return read_raw(p, kind_comment, start + 4, "-->");
  }
  p->item = NULL;
  if (is_note) return read_note(p, start, name_end, end);
  if (is_heading(start, end)) return read_heading(p, start, end);
  if (begins(start, end, "[toc]") && end - start == 5) {
    return add(p, p->document->body, kind_contents, start, end) == NULL ? -1 : 0;
  }
  return open_block(p, add(p, p->document->body, kind_paragraph, start, end), start, end);
}

/* The bytes of the UTF-8 letter that begins there; 0 when there is none. */
static size_t letter(const unsigned char* at, size_t room) {
  if (*at < 0x80) return *at != '\0';
  const size_t bytes = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
  if (*at < 0xc2 || *at > 0xf4 || bytes > room) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  const int is_long = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
  const int is_none = (*at == 0xed && at[1] > 0x9f) || (*at == 0xf4 && at[1] > 0x8f);
  return is_long || is_none ? 0 : bytes;
}

/* Reads the whole file into a node. Null, with errno. */
static char* read_all(void* parent, FILE* file, size_t* length) {
  size_t room = 4096;
  char* text = tarn_tree_allocate(parent, room);
  *length = 0;
  while (text != NULL) {
    *length += fread(text + *length, 1, room - *length, file);
    if (ferror(file)) return NULL;
    if (*length < room) return text;
    room *= 2;
    text = tarn_tree_reallocate(text, room);
  }
  return NULL;
}

static int read_document(struct document* document, const char* path, FILE* file,
                         struct problem* problem) {
  size_t length = 0;
  const char* const text = read_all(document, file, &length);
  struct parser p = {.document = document, .problem = problem, .path = path};
  document->text = text;
  document->body = new_element(document, kind_body, text, 0);
  document->notes = new_element(document, kind_notes, text, 0);
  if (text == NULL || document->body == NULL || document->notes == NULL) {
    snprintf(problem->text, sizeof problem->text, "%s: %s", path, strerror(errno));
    return -1;
  }
  for (size_t i = 0, bytes; i < length; i += bytes) {
    bytes = letter((const unsigned char*)text + i, length - i);
    if (bytes == 0) {
      snprintf(problem->text, sizeof problem->text, "%s: not UTF-8 at byte %zu", path, i);
      return -1;
    }
  }
  tarn_tree_set_static_name((void*)text, "source");
  tarn_tree_set_name(document, path);
  p.at = text;
  p.end = text + length;
  while (p.at < p.end) {
    if (read_line(&p) != 0) return -1;
  }
  return close_block(&p);
}

/* Makes a document that has an arena of its own for everything below it. */
static struct document* new_document(void) {
  return tarn_tree_allocate_with_arena(NULL, sizeof(struct document), NULL);
}

struct document* document_read(const char* path, struct problem* problem) {
  FILE* const file = fopen(path, "rb");
  struct document* document = file == NULL ? NULL : new_document();
  if (document == NULL) {
    snprintf(problem->text, sizeof problem->text, "%s: %s", path, strerror(errno));
  } else {
    *document = (struct document){.text = NULL};
    if (read_document(document, path, file, problem) != 0) {
      tarn_tree_dispose(document);
      document = NULL;
    }
  }
  if (file != NULL) fclose(file);
  return document;
}
