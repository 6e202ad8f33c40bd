/* tree_report: what a tree holds, by name, as indented text or as JSON. (In C++: tree_report.hpp.)
 *
 *   tarn_tree_report_to(document, NULL, 2);                          // to standard error
 *
 *   book.md: 6,240 bytes, 1,904 overhead, 58 nodes, depth 5
 *     chapter one: 2,100 bytes, 512 overhead, 20 nodes, depth 4
 *       (unnamed): 32 bytes, 16 overhead
 *       -> footnote, of chapter two
 *       + 17 smaller, 2,004 bytes
 *
 * A line for each node: the totals of all below it and of itself, as tarn_tree_get_stats has them.
 * References are named where they are held; what they lead to is counted with its parent only.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TREE_REPORT_H
#define TARN_TREE_REPORT_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdio.h>

#include "../detail/api.h"
#include "../detail/sized.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TARN_TREE_REPORT_TEXT = 0,
  TARN_TREE_REPORT_JSON = 1,
  TARN_TREE_REPORT_DEPTH_MAX = 60 /* 121 nested things in JSON: many parsers stop at 128. */
};

/* All zero but `bytes`: text, 16 levels, nothing folded but what is alike. Folding replaces nodes
 * and what is below them by one line behind their siblings ("+ 17 smaller, 40 nodes, 2,004 bytes"),
 * with their totals. */
typedef struct tarn_tree_report_options {
  size_t bytes;     /* sizeof(tarn_tree_report_options); TARN_TREE_REPORT_OPTIONS(...) sets it. */
  int format;       /* TARN_TREE_REPORT_TEXT, TARN_TREE_REPORT_JSON. */
  size_t depth_max; /* Levels that are shown, 1: the node alone; 0: 16. What is deeper is folded.
                       Above TARN_TREE_REPORT_DEPTH_MAX: EINVAL; report a node further down. */
  size_t bytes_min; /* Of fewer usable bytes, with all below: folded. */
  size_t alike_min; /* Siblings without names are folded where there are so many or more without
                       children, or with some. 1: all; 0: 9; SIZE_MAX: none. So are references,
                       but from 9 on at the earliest. */
} tarn_tree_report_options;

#define TARN_TREE_REPORT_OPTIONS(...) TARN_SIZED(tarn_tree_report_options, __VA_ARGS__)

/* Takes a piece of the report, which ends anywhere (at most 512 bytes; no '\0' behind it). 0: go
 * on; anything else: no more. It must not change the tree. */
typedef int (*tarn_tree_write)(void* context, const char* text, size_t bytes);

/* Reports the node and what is below it; options may be null. Nothing at all for null (JSON: null).
 * 0; or -1: EINVAL for options that make no sense, or errno as `write` left it, which is not
 * called again then. Neither memory nor recursion, about 8 KiB of stack. The tree is only read, by
 * the thread that has it; of what is referenced, the name and that of its parent, too.
 * Time: linear in the nodes, once for each level that is shown above them (nodes in what is folded
 * included), so at most nodes * depth_max; and in the owners of what is shown.
 *
 * Text: a name is as it is, but for control characters, backslashes and what is no UTF-8 (\x1b).
 * Overhead: in front of nodes, for names, destructors, further owners. "3 owners": there are
 * references to it; "own arena", "own heap": what is below it lies there.
 *
 * JSON: an object for each line; "kind" is
 *   "node"       name (null: none), usable_bytes, overhead_bytes, nodes, depth, references (that it
 *                and those below have to others): the totals; own_usable_bytes, own_overhead_bytes
 *                (its references are its own); owners; own_memory (null, "arena", "heap");
 *                children: these objects, the oldest first
 *   "reference"  name and owner (null: a root, or without a name) of what is referenced
 *   "folded"     what: "smaller", "unnamed", "unnamed parents", "references", "deeper"; count (of
 *                siblings); nodes, usable_bytes, overhead_bytes: their totals
 * The totals of a node are its own and those of its children, added. What is no UTF-8 in a name is
 * U+FFFD. At the depth that is the default 33 objects and arrays are nested: parsers take 64. */
TARN_API int tarn_tree_report(const void* node, const tarn_tree_report_options* options,
                              tarn_tree_write write, void* context);

/* As above, written to a file descriptor. */
TARN_API int tarn_tree_report_to(const void* node, const tarn_tree_report_options* options,
                                 int descriptor);

static inline int tarn_tree_write_to_file(void* context, const char* text, size_t bytes) {
  FILE* const file = (FILE*)context;
  return fwrite(text, 1, bytes, file) == bytes ? 0 : -1;
}

/* As above, to a stream; it is not flushed. */
static inline int tarn_tree_report_to_file(const void* node,
                                           const tarn_tree_report_options* options, FILE* file) {
  return tarn_tree_report(node, options, tarn_tree_write_to_file, file);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
