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
 * There is a line for each node, with the totals of the node and all nodes below it, as
 * tarn_tree_get_stats has them. References are named where they are held; the node that one leads
 * to is counted with its parent only.
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

/* With all but `bytes` zero the report is text, 16 levels deep, and only nodes that are alike are
 * folded. Folding replaces nodes, with all nodes below them, by one line behind their siblings that
 * has their totals ("+ 17 smaller, 40 nodes, 2,004 bytes"). */
typedef struct tarn_tree_report_options {
  size_t bytes;     /* sizeof(tarn_tree_report_options); TARN_TREE_REPORT_OPTIONS(...) sets it. */
  int format;       /* TARN_TREE_REPORT_TEXT or TARN_TREE_REPORT_JSON. */
  size_t depth_max; /* How many levels are shown: 1 is the node alone, 0 means 16. Deeper nodes are
                       folded. A number above TARN_TREE_REPORT_DEPTH_MAX is refused with EINVAL:
                       report a node further down. */
  size_t bytes_min; /* A node is folded if it has, with all nodes below it, fewer usable bytes. */
  size_t alike_min; /* From how many on siblings without names are folded; those with children and
                       those without are counted apart. 1 folds all, 0 means 9, and SIZE_MAX folds
                       none. References are folded likewise, but never fewer than 9. */
} tarn_tree_report_options;

#define TARN_TREE_REPORT_OPTIONS(...) TARN_SIZED(tarn_tree_report_options, __VA_ARGS__)

/* Takes a piece of the report, which may end anywhere. A piece has at most 512 bytes, and no '\0'
 * behind it. The function returns 0 to go on and anything else to stop. It must not change the
 * tree. */
typedef int (*tarn_tree_write)(void* context, const char* text, size_t bytes);

/* Reports the node and all nodes below it; options may be null. A null node is reported as nothing
 * at all, and in JSON as null.
 *
 * 0, or -1 with EINVAL for options that make no sense, or with errno as `write` left it when it
 * stopped the report; it is not called again then. The function allocates nothing, does not recurse
 * and takes about 8 KiB of stack. It only reads the tree, and is for the thread that has it; of a
 * node that is referenced it reads the name and its parent's name, too. Each node is looked at once
 * for each level that is shown above it, also in folded subtrees, so the time is at most linear in
 * nodes * depth_max, and besides in the owners of the nodes that are shown.
 *
 * Text: names are written as they are, except that control characters, backslashes and bytes that
 * are no UTF-8 are escaped (\x1b). Overhead is what lies in front of nodes and what names,
 * destructors and further owners take. "3 owners" says that there are references to the node; "own
 * arena" and "own heap" say that the nodes below it lie in one.
 *
 * JSON: there is an object for each line. Its "kind" is
 *   "node"       name (null: none), usable_bytes, overhead_bytes, nodes, depth, references (that it
 *                and those below have to others): the totals; own_usable_bytes, own_overhead_bytes
 *                (its references are its own); owners; own_memory (null, "arena", "heap");
 *                children: these objects, the oldest first
 *   "reference"  name and owner (null: a root, or without a name) of what is referenced
 *   "folded"     what: "smaller", "unnamed", "unnamed parents", "references", "deeper"; count (of
 *                siblings); nodes, usable_bytes, overhead_bytes: their totals
 * The totals of a node are the sum of its own numbers and its children's totals. Bytes of a name
 * that are no UTF-8 become U+FFFD. With the default depth 33 objects and arrays are nested; parsers
 * take 64. */
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
