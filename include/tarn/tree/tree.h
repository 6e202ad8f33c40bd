/* tree.h: blocks that own blocks, in C. (C++: tarn/tree/tree.hpp.) Each has a parent; disposing of
 * it disposes of all below it, children before parents, each after its destructor.
 *
 *   struct document* doc = tarn_tree_allocate(NULL, sizeof *doc);    // a root
 *   doc->title = tarn_tree_format(doc, "%s (%d)", name, year);       // the document's
 *   tarn_tree_dispose(doc);                                          // all of it
 *
 * A block of a tree (a node) has 16 bytes in front of it, an object with a destructor 32; names,
 * further owners and destructors that come later take 96 more, for those nodes that have them. A
 * subtree is one thread's at a time, without locks, and may be handed over (docs/trees.md). Out of
 * memory, for sizes above PTRDIFF_MAX - 4096 and for products that overflow: null or -1 with
 * ENOMEM, and nothing has changed. talloc (A. Tridgell) is the model; docs/trees.md has the
 * counterparts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TREE_H
#define TARN_TREE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stdarg.h>
#include <stddef.h>

#include "../arena/arena.h"
#include "../detail/sized.h"
#include "../heap/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TARN_TREE_FORMATS(text, first) __attribute__((format(printf, text, first)))
#else
#define TARN_TREE_FORMATS(text, first)
#endif

/* `bytes` (0 is allowed) below `parent`; a root where that is null. Aligned to 16. The newest child
 * of its parent. Constant time. */
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_tree_allocate(void* parent, size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(2, 3) void* tarn_tree_allocate_array(void* parent, size_t count,
                                                                    size_t bytes);
/* As above, all zero. */
TARN_API TARN_ALLOCATES_SHARED(2, 3) void* tarn_tree_allocate_zeroed(void* parent, size_t count,
                                                                     size_t bytes);
/* At a multiple of `alignment`, a power of two (else EINVAL). Above 16 such a node takes the
 * alignment besides, and has a place for a destructor; it cannot be reallocated. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_tree_allocate_aligned(void* parent, size_t alignment,
                                                                   size_t bytes);

/* Copies of bytes; of a string; of its first `most` characters at most. Null for null. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_tree_copy(void* parent, const void* p, size_t bytes);
TARN_API TARN_MUST_USE char* tarn_tree_string(void* parent, const char* text);
TARN_API TARN_MUST_USE char* tarn_tree_string_n(void* parent, const char* text, size_t most);

/* As printf writes it. Null, with vsnprintf's errno, for what it refuses. */
TARN_API TARN_MUST_USE char* tarn_tree_format(void* parent, const char* format, ...)
    TARN_TREE_FORMATS(2, 3);
TARN_API TARN_MUST_USE char* tarn_tree_format_list(void* parent, const char* format, va_list list)
    TARN_TREE_FORMATS(2, 0);

/* The string with more behind it, perhaps elsewhere: the old address is not to be used. On failure
 * null, and the string is as it was. `more` may be part of it. */
TARN_API TARN_MUST_USE char* tarn_tree_append(char* text, const char* more);
TARN_API TARN_MUST_USE char* tarn_tree_append_format(char* text, const char* format, ...)
    TARN_TREE_FORMATS(2, 3);

/* The node at its new size, contents kept, moved if need be; parent, children, name, owners and
 * destructor stay. EBUSY while it is being disposed of; EINVAL for one with a place for a
 * destructor (tarn_tree_allocate_object, _aligned, _adopt). Linear in its bytes and, when it moves,
 * in its children and references. */
TARN_API TARN_MUST_USE void* tarn_tree_reallocate(void* node, size_t bytes);

/* Memory that the nodes below one have for themselves. What is allocated below the node from here
 * on, and below that, lies in a heap or an arena that the tree makes with these options (which may
 * be null) and ends with the node. (What is allocated below a node lies where the node does,
 * whatever happens to be above it, if the node has not been given memory.) Nodes that need no visit
 * then go at once when the node is disposed of, or its children are: none of them is looked at. A
 * visit need, and then all are visited, as elsewhere: nodes with destructors or further owners,
 * nodes in it that have been given memory of their own, and children that lie elsewhere
 * (references, and what was there before or was moved here). Nodes that were moved away keep the
 * memory until they have gone: all of an arena; of a heap the rest goes one by one.
 *
 * In an arena a node has 24 bytes in front of it, or 32 when it is larger than 4 KiB or the arena
 * is not fast, and its memory is used again when it is the newest one, or with all others. All
 * nodes in a heap or arena of this kind are one thread's at a time. One that is frozen can be
 * disposed of if nothing needs a visit.
 *
 * 0, or -1 with EEXIST when the node has been given memory already, or with what tarn_heap_create
 * or tarn_arena_init refuse. Takes 96 bytes for the node and 384 besides; linear in the node's
 * children. */
TARN_API int tarn_tree_give_heap(void* node, const tarn_heap_options* options);
TARN_API int tarn_tree_give_arena(void* node, const tarn_arena_options* options);

/* A new node that is given memory. */
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_tree_allocate_with_heap(
    void* parent, size_t bytes, const tarn_heap_options* options);
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_tree_allocate_with_arena(
    void* parent, size_t bytes, const tarn_arena_options* options);

/* What nodes below this one will lie in, if it is a heap or an arena of that kind; else the zero
 * value, null. Blocks that a program allocates there go with the nodes; ending or resetting it, or
 * rewinding it beyond nodes, is for the tree. */
TARN_API tarn_heap tarn_tree_heap(const void* node);
TARN_API tarn_arena* tarn_tree_arena(const void* node);

/* Whose a subtree is. From the first call with 1 on (0: no more; TARN_OPTIONS=check_tree_threads=1
 * does it without a call) a root is the thread's that makes it, with all below it, and a thread
 * that changes what is another one's, or disposes of it, is reported by the node's name or address
 * and ends the process. Reading is not looked at. Returns what it was. Each root takes 96 bytes
 * more then, each operation time linear in the depth. For the beginning of a program: what there
 * is already is not checked. */
TARN_API int tarn_tree_check_threads(int wanted);
/* The node and all below it are nobody's, until another thread takes them over; whatever brings
 * the address there orders the two. A root goes with everything; another node stays where it is,
 * and until it is back its place is not to change. Both do nothing where nothing is checked. 0, or
 * -1 with ENOMEM. */
TARN_API int tarn_tree_hand_over(void* node);
TARN_API int tarn_tree_take_over(void* node);

/* Bytes that may be used: at least what was asked for. 0 for null. */
TARN_API size_t tarn_tree_size(const void* node);

/* Called before a node goes; 0: it may go. Anything else is a veto: it stays. It may allocate, also
 * below what is being disposed of (that goes, too), and dispose of and move other nodes; those that
 * are being disposed of themselves refuse (EBUSY). */
typedef int (*tarn_tree_destructor)(void* node);

/* A node with a place for a destructor, which is there (null: none yet): 16 bytes, or what the
 * alignment takes, instead of the 96 that a destructor takes elsewhere. alignment: as above, also
 * less than 16. It cannot be reallocated. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_tree_allocate_object(void* parent, size_t alignment,
                                                                  size_t bytes,
                                                                  tarn_tree_destructor destructor);

/* One a node; null: none. One that is set in a destructor of the same node is called after it, if
 * it is another one. 0, or -1. */
TARN_API int tarn_tree_set_destructor(void* node, tarn_tree_destructor destructor);

/* Disposes of the node and of all below it: the newest child first, children before parents. Nodes
 * that have other owners pass to the oldest of them instead. 0 (also for null); or -1, and what was
 * not visited yet stays, with the node and its ancestors up to this one:
 *   EBUSY   a destructor vetoed; or it is being disposed of already; or it has other owners itself
 *           (tarn_tree_unreference is for these)
 *   ENOMEM  a node with other owners could not be passed on (only between chunks of memory that lie
 *           16 GiB apart)
 * Linear in the nodes; no recursion. */
TARN_API int tarn_tree_dispose(void* node);
/* As above; the node that was in the way, or null, is in *stayed (which may be null). */
TARN_API int tarn_tree_try_dispose(void* node, void** stayed);
/* Of all below it. Meanwhile the node itself is as those that are disposed of: EBUSY. */
TARN_API int tarn_tree_dispose_children(void* node);

/* Makes the node, with all below it, the newest child of another parent (null: a root). References
 * to it stay, but one of that parent. 0 (and where it is, when it is there already); or -1: ELOOP
 * for a parent that it owns, EBUSY while it is being disposed of. From below a reference it moves,
 * also where that is the same owner's. A search for cycles goes up from the parent through all
 * owners: linear in the depth; below nodes with several owners, at most in the depth of each. It
 * marks these, so it is for a thread that has all of the owners. */
TARN_API int tarn_tree_steal(void* parent, void* node);

/* Makes `owner` a further owner: the node goes when the last of its owners does. 0; or -1: ELOOP
 * when the node owns `owner`, EEXIST when it is one already, EBUSY while the node is being disposed
 * of. As tarn_tree_steal, and linear in the node's references. */
TARN_API int tarn_tree_reference(void* owner, void* node);

/* Ends an owner's part in a node, be it parent or further owner (null: of a root). Without any
 * other it is disposed of. 0; or -1 as tarn_tree_dispose, EINVAL for what is no owner. */
TARN_API int tarn_tree_unreference(void* owner, void* node);

/* How many owners it has: 0 for a root to which there are no references. */
TARN_API size_t tarn_tree_owners(const void* node);

/* A block that is not of a tree, owned: a node, which calls release(block) when it goes. Null, and
 * the block is still the program's, when there is no memory. */
TARN_API TARN_MUST_USE void* tarn_tree_adopt(void* parent, void* block,
                                             void (*release)(void* block));
/* The block of such a node. */
TARN_API void* tarn_tree_adopted(const void* node);

/* Names; copied. Null: none. 0, or -1. */
TARN_API int tarn_tree_set_name(void* node, const char* name);
/* As above, not copied: it must outlive the node. */
TARN_API int tarn_tree_set_static_name(void* node, const char* name);
TARN_API const char* tarn_tree_name(const void* node); /* Null: none. */

/* The first node of that name: below a node, each before what is below it, the oldest first (linear
 * in the nodes); and the nearest owner (linear in the depth). Null: there is none. */
TARN_API void* tarn_tree_find(const void* node, const char* name);
TARN_API void* tarn_tree_find_ancestor(const void* node, const char* name);

/* The parent, null for a root; the oldest child; the next younger one of the same parent, null at
 * the end. References are no children. Constant time, apart from references. */
TARN_API void* tarn_tree_parent(const void* node);
TARN_API void* tarn_tree_first_child(const void* node);
TARN_API void* tarn_tree_next_sibling(const void* node);

/* The next one below `root`, each before what is below it, the oldest first; null at the end.
 * node: the last one; root itself at the beginning. All of them: linear. */
TARN_API void* tarn_tree_next(const void* root, const void* node);

/* 1 when `ancestor` is a parent of the node, or a parent's parent ..., else 0. */
TARN_API int tarn_tree_is_ancestor(const void* ancestor, const void* node);

/* The node and all below it. */
typedef struct tarn_tree_stats {
  size_t bytes; /* sizeof(tarn_tree_stats); TARN_TREE_STATS(...) sets it. */
  size_t nodes;
  size_t usable_bytes;   /* As tarn_tree_size has it. */
  size_t overhead_bytes; /* In front of nodes, for names, destructors, alignment, references. */
  size_t depth;          /* 1 for a node without children. */
  size_t references;     /* That these nodes have to others. */
} tarn_tree_stats;

#define TARN_TREE_STATS(...) TARN_SIZED(tarn_tree_stats, __VA_ARGS__)

TARN_API int tarn_tree_get_stats(const void* node, tarn_tree_stats* stats);

/* 1 when all links below the node are as they must be. Linear. */
TARN_API int tarn_tree_check(const void* node);

#ifdef __cplusplus
}
#endif

#endif
#endif
