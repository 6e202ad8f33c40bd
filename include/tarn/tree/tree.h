/* tree.h: blocks that own blocks, in C. (C++: tarn/tree/tree.hpp.) Each block has a parent.
 * Disposing of a block disposes of all blocks below it, children before parents, and calls the
 * destructor of each before it goes.
 *
 *   struct document* doc = tarn_tree_allocate(NULL, sizeof *doc);    // a root
 *   doc->title = tarn_tree_format(doc, "%s (%d)", name, year);       // the document's
 *   tarn_tree_dispose(doc);                                          // all of it
 *
 * A block of a tree is called a node. One thread at a time uses a subtree, without locks, and may
 * hand it over (docs/trees.md). Out of memory, for a size above PTRDIFF_MAX - 4096 and for a
 * product that overflows, functions return null or -1 with ENOMEM, and nothing has changed. talloc
 * (A. Tridgell) is the model; docs/trees.md has the counterparts of its functions.
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

/* Allocates a node of `bytes` bytes (0 is allowed) as the newest child of `parent`; if `parent` is
 * null, the node is a root. It is aligned to 16, and has 16 bytes in front of it. A name, further
 * owners or a destructor that is set later take 96 bytes more. Constant time. */
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_tree_allocate(void* parent, size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(2, 3) void* tarn_tree_allocate_array(void* parent, size_t count,
                                                                    size_t bytes);
/* As above, and all bytes are zero. */
TARN_API TARN_ALLOCATES_SHARED(2, 3) void* tarn_tree_allocate_zeroed(void* parent, size_t count,
                                                                     size_t bytes);
/* Allocates a node at a multiple of `alignment`, which must be a power of two (else null with
 * EINVAL). A node with an alignment above 16 takes that many bytes more and has a place for a
 * destructor. It cannot be reallocated. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_tree_allocate_aligned(void* parent, size_t alignment,
                                                                   size_t bytes);

/* Allocate a node that holds a copy: of bytes, of a string, or of at most the first `most`
 * characters of a string. They return null for null. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_tree_copy(void* parent, const void* p, size_t bytes);
TARN_API TARN_MUST_USE char* tarn_tree_string(void* parent, const char* text);
TARN_API TARN_MUST_USE char* tarn_tree_string_n(void* parent, const char* text, size_t most);

/* Allocates a node that holds the text printf would write. Null, with vsnprintf's errno, when
 * vsnprintf fails. */
TARN_API TARN_MUST_USE char* tarn_tree_format(void* parent, const char* format, ...)
    TARN_TREE_FORMATS(2, 3);
TARN_API TARN_MUST_USE char* tarn_tree_format_list(void* parent, const char* format, va_list list)
    TARN_TREE_FORMATS(2, 0);

/* Appends to the string in the node `text`. The node may move, so the old address must not be used
 * afterwards. On failure they return null, and the string is as it was. `more`, and arguments of
 * the format, may be part of the string. */
TARN_API TARN_MUST_USE char* tarn_tree_append(char* text, const char* more);
TARN_API TARN_MUST_USE char* tarn_tree_append_format(char* text, const char* format, ...)
    TARN_TREE_FORMATS(2, 3);

/* Resizes the node, which may move. Its contents, parent, children, name, owners and destructor
 * stay. Null with EBUSY while the node is being disposed of, and with EINVAL for a node that has a
 * place for a destructor (tarn_tree_allocate_object, _aligned, _adopt). Linear in its bytes and,
 * when it moves, in its children and references. */
TARN_API TARN_MUST_USE void* tarn_tree_reallocate(void* node, size_t bytes);

/* Give the nodes below this one memory of their own: a heap or an arena that the tree makes with
 * these options (which may be null) and that ends with the node. Every node that is allocated below
 * this one from here on lies in it. So does every node below those, since a node that has been
 * given no memory passes on the memory that it lies in itself, whatever is above it.
 *
 * When the node or its children are disposed of, all that memory goes at once, and no node in it is
 * looked at, unless some node needs a visit. Then all nodes are visited, as elsewhere. A visit is
 * needed by nodes with a destructor or further owners, by nodes that have been given memory of
 * their own, and by children that lie elsewhere: references, and nodes that were there before or
 * were moved here. A node that was moved away keeps its memory until it goes: of an arena that is
 * all memory, while the other nodes of a heap are freed one by one.
 *
 * In an arena a node has 24 bytes in front of it, or 32 when it is larger than 4 KiB or the arena
 * is not fast. The memory of a node is used again if it was the arena's newest block, else when all
 * others go. All nodes in a heap or arena of this kind are one thread's at a time. A frozen heap
 * can be disposed of if no node needs a visit.
 *
 * 0, or -1 with EEXIST when the node has been given memory already, or with the errno of
 * tarn_heap_create or tarn_arena_init. Takes 96 bytes for the node and 384 besides. Linear in the
 * node's children. */
TARN_API int tarn_tree_give_heap(void* node, const tarn_heap_options* options);
TARN_API int tarn_tree_give_arena(void* node, const tarn_arena_options* options);

/* Allocate a node and give it memory, as above. */
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_tree_allocate_with_heap(
    void* parent, size_t bytes, const tarn_heap_options* options);
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_tree_allocate_with_arena(
    void* parent, size_t bytes, const tarn_arena_options* options);

/* The heap or arena in which new nodes below this one will lie, if it was given to a node; else the
 * zero value, or null. Blocks that a program allocates there go with the nodes. The program must
 * not destroy or reset it, nor rewind it beyond a node: that is the tree's to do. */
TARN_API tarn_heap tarn_tree_heap(const void* node);
TARN_API tarn_arena* tarn_tree_arena(const void* node);

/* Turns the check of threads on (1) or off (0) and returns how it was; with
 * TARN_OPTIONS=check_tree_threads=1 it is on without a call. While it is on, a root and all nodes
 * below it belong to the thread that makes the root. A thread that changes or disposes of another
 * thread's node is reported with the node's name or address, and the process ends. Reading is not
 * checked. Each root then takes 96 bytes more, and each operation takes time linear in the depth.
 * Trees that exist already are not checked, so call this at the beginning of a program. */
TARN_API int tarn_tree_check_threads(int wanted);
/* After a hand-over the node and all nodes below it belong to no thread until another one takes
 * them over. Whatever passes the node's address to that thread must order the two calls. A node
 * that is not a root stays where it is in the tree, and must not change its place until it has
 * been handed back. Both do nothing while threads are not checked. 0, or -1 with ENOMEM. */
TARN_API int tarn_tree_hand_over(void* node);
TARN_API int tarn_tree_take_over(void* node);

/* How many bytes of the node may be used: at least as many as were asked for. 0 for null. */
TARN_API size_t tarn_tree_size(const void* node);

/* Called before a node goes. It returns 0 to let the node go; any other value is a veto, and the
 * node stays. It may allocate, also below nodes that are being disposed of (such nodes go, too). It
 * may move and dispose of other nodes; functions refuse that with EBUSY for nodes that are being
 * disposed of already. */
typedef int (*tarn_tree_destructor)(void* node);

/* Allocates a node with a place for a destructor, which may be null at first. The place takes 16
 * bytes, or as many as the alignment takes, instead of the 96 that a destructor takes otherwise.
 * alignment: a power of two as above, also less than 16. The node cannot be reallocated. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_tree_allocate_object(void* parent, size_t alignment,
                                                                  size_t bytes,
                                                                  tarn_tree_destructor destructor);

/* Sets the node's only destructor; null: none. When a destructor sets another one for its own node,
 * that is called after it. 0, or -1 with ENOMEM. */
TARN_API int tarn_tree_set_destructor(void* node, tarn_tree_destructor destructor);

/* Disposes of the node and of all nodes below it: the newest child first, children before parents.
 * A node below that has other owners passes to the oldest of them instead. 0, also for null; or -1,
 * and then the node that was in the way stays, with its ancestors up to this node and with all that
 * was not visited yet:
 *   EBUSY   a destructor vetoed; or the node is being disposed of already; or this node itself has
 *           other owners (use tarn_tree_unreference)
 *   ENOMEM  a node with other owners could not be passed on (only between chunks of memory that lie
 *           16 GiB apart)
 * Linear in the nodes, without recursion. */
TARN_API int tarn_tree_dispose(void* node);
/* As above, and sets *stayed to the node that was in the way, or to null. `stayed` may be null. */
TARN_API int tarn_tree_try_dispose(void* node, void** stayed);
/* Disposes of all nodes below the node. Meanwhile the node itself counts as being disposed of:
 * functions that would move or dispose of it fail with EBUSY. */
TARN_API int tarn_tree_dispose_children(void* node);

/* Makes the node, with all nodes below it, the newest child of another parent; if `parent` is null,
 * it becomes a root. References to it stay, except one that the new parent has. 0, or -1 with ELOOP
 * for a parent that the node owns, with EBUSY while the node is being disposed of, and with ENOMEM.
 * A child of this parent stays where it is. A node whose parent is a reference moves out from below
 * it, even if the reference is this parent's.
 *
 * A search for cycles goes up from the parent through all owners. It is linear in the depth, and
 * for nodes with several owners at most in the depth of each. It marks these nodes, so the calling
 * thread must have all of the owners to itself. */
TARN_API int tarn_tree_steal(void* parent, void* node);

/* Makes `owner` a further owner of the node, which then goes when its last owner does. 0, or -1
 * with ELOOP when the node owns `owner`, with EEXIST when `owner` is an owner already, with EBUSY
 * while the node is being disposed of, and with ENOMEM. Searches for cycles as tarn_tree_steal
 * does, and takes time linear in the node's references besides. */
TARN_API int tarn_tree_reference(void* owner, void* node);

/* Ends an owner's part in a node, whether it is the parent or a further owner; null stands for the
 * owner of a root. A node without any other owner is disposed of. 0, or -1 as tarn_tree_dispose,
 * and with EINVAL when `owner` is no owner of the node. */
TARN_API int tarn_tree_unreference(void* owner, void* node);

/* How many owners the node has: 0 for a root to which there are no references. */
TARN_API size_t tarn_tree_owners(const void* node);

/* Allocates a node that owns a block from elsewhere and calls release(block) when it goes. When
 * there is no memory it returns null, and the block is still the program's. */
TARN_API TARN_MUST_USE void* tarn_tree_adopt(void* parent, void* block,
                                             void (*release)(void* block));
/* The block that such a node owns. */
TARN_API void* tarn_tree_adopted(const void* node);

/* Gives the node a name, which is copied; null: no name. 0, or -1 with ENOMEM. */
TARN_API int tarn_tree_set_name(void* node, const char* name);
/* As above, but the name is not copied: it must outlive the node. */
TARN_API int tarn_tree_set_static_name(void* node, const char* name);
TARN_API const char* tarn_tree_name(const void* node); /* Null: it has none. */

/* Find a node by its name; null: there is none. tarn_tree_find returns the first one below the
 * node, in the order of tarn_tree_next, and is linear in the nodes. tarn_tree_find_ancestor returns
 * the nearest owner of that name, and is linear in the depth. */
TARN_API void* tarn_tree_find(const void* node, const char* name);
TARN_API void* tarn_tree_find_ancestor(const void* node, const char* name);

/* The parent (null for a root), the oldest child (null: there is none), and the next younger child
 * of the same parent (null at the end). References are not children. Constant time, apart from
 * references that are passed over. */
TARN_API void* tarn_tree_parent(const void* node);
TARN_API void* tarn_tree_first_child(const void* node);
TARN_API void* tarn_tree_next_sibling(const void* node);

/* Walks all nodes below `root`: returns the node after `node`, or null at the end. Each node comes
 * before the nodes below it, and siblings come oldest first. Pass `root` itself at the beginning.
 * The whole walk is linear in the nodes. */
TARN_API void* tarn_tree_next(const void* root, const void* node);

/* 1 when `ancestor` is the parent of the node, or the parent's parent and so on; else 0. */
TARN_API int tarn_tree_is_ancestor(const void* ancestor, const void* node);

/* Numbers of a node and all nodes below it. */
typedef struct tarn_tree_stats {
  size_t bytes; /* sizeof(tarn_tree_stats); TARN_TREE_STATS(...) sets it. */
  size_t nodes;
  size_t usable_bytes;   /* The sum of tarn_tree_size. */
  size_t overhead_bytes; /* What lies in front of nodes, and what names, destructors, alignment and
                            references take. */
  size_t depth;          /* 1 for a node without children. */
  size_t references;     /* How many references these nodes have to others. */
} tarn_tree_stats;

#define TARN_TREE_STATS(...) TARN_SIZED(tarn_tree_stats, __VA_ARGS__)

/* 0, or -1 with EINVAL. Linear in the nodes. */
TARN_API int tarn_tree_get_stats(const void* node, tarn_tree_stats* stats);

/* 1 when all links of the node and below it are as they must be, else 0. Linear in the nodes. */
TARN_API int tarn_tree_check(const void* node);

#ifdef __cplusplus
}
#endif

#endif
#endif
