// tree.hpp: blocks that own blocks, in C++ (C++17). Header only over tarn/tree/tree.h, which says
// what each function promises: children go before their parents, the newest first.
//
//   tarn::Tree document;
//   auto* chapter = document.create<Chapter>("one");
//   auto* page = tarn::tree::create<Page>(chapter, 7);   // goes with its chapter
//   char* title = tarn::tree::format(chapter, "%s (%d)", name, year);
//
// Objects are destroyed when their nodes go. If a type has `bool may_dispose() noexcept`, that is
// asked first, and false is a veto. Functions that allocate throw std::bad_alloc; those that begin
// with try_ return null instead. Without exceptions all return null.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_TREE_HPP
#define TARN_TREE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../arena/arena.hpp"
#include "../detail/construct.hpp"
#include "../detail/errors.hpp"
#include "../heap/heap.hpp"
#include "tree.h"

namespace tarn::tree {

template <class T, class = void>
struct is_asked : std::false_type {};
template <class T>
struct is_asked<T, std::void_t<decltype(std::declval<T&>().may_dispose())>> : std::true_type {};

// The destructor of a node that holds a T.
template <class T>
int destroy(void* p) {
  T* const object = static_cast<T*>(p);
  if constexpr (is_asked<T>::value) {
    if (!object->may_dispose()) return 1;
  }
  object->~T();
  return 0;
}

inline int stay(void*) { return 1; }

// Disposes of a node in which no object could be made.
inline void abandon(void* node) noexcept {
  tarn_tree_set_destructor(node, nullptr);
  tarn_tree_dispose(node);
}

// Returns the node; or disposes of it and returns null, with errno as it was.
inline void* given(void* node, bool done) noexcept {
  if (done || node == nullptr) return node;
  const int error = errno;
  abandon(node);
  errno = error;
  return nullptr;
}

// Returns the node that was made with these options, or throws as errno says.
template <class T>
T* or_throw(T* p) {
#if defined(__cpp_exceptions)
  if (p == nullptr && errno != ENOMEM) {
    throw InvalidOptions("tarn::tree: the heap or arena cannot be made with these options");
  }
#endif
  return or_bad_alloc(p);
}

template <class T>
inline constexpr bool has_end = !std::is_trivially_destructible_v<T> || is_asked<T>::value;

// Allocates a node for a T, with a place for its destructor. Until the T is made the node vetoes
// its disposal.
template <class T>
[[nodiscard]] void* allocate_for(void* parent) noexcept {
  if constexpr (has_end<T>) {
    return tarn_tree_allocate_object(parent, alignof(T), sizeof(T), stay);
  } else {
    return tarn_tree_allocate_aligned(parent, alignof(T), sizeof(T));
  }
}

// Makes a T in such a node; null for null. If that fails, the node goes.
template <class T, class... Args>
T* create_in(void* p, Args&&... args) {
  if (p == nullptr) return nullptr;
  T* const object = construct_in<T>(p, abandon, std::forward<Args>(args)...);
  if constexpr (has_end<T>) tarn_tree_set_destructor(p, destroy<T>);
  return object;
}

// Makes a T below `parent`, or a root if that is null. Returns null when there is no memory, and
// throws what the constructor throws. Then nothing has changed, unless the constructor gave its own
// node children that veto, or other owners.
template <class T, class... Args>
[[nodiscard]] T* try_create(void* parent, Args&&... args) {
  return create_in<T>(allocate_for<T>(parent), std::forward<Args>(args)...);
}
template <class T, class... Args>
[[nodiscard]] T* create(void* parent, Args&&... args) {
  return or_bad_alloc(try_create<T>(parent, std::forward<Args>(args)...));
}

// Give the nodes below this one memory of their own, which goes with the node: see
// tarn_tree_give_arena and tarn_tree_give_heap. False, with errno: it was refused.
inline bool give_arena(void* node, const ArenaOptions& options = {}) noexcept {
  const tarn_arena_options c = c_options(nullptr, options);
  return tarn_tree_give_arena(node, &c) == 0;
}
inline bool give_arena(void* node, SourceRef source, const ArenaOptions& options = {}) noexcept {
  const tarn_arena_options c = c_options(&source.get(), options);
  return tarn_tree_give_arena(node, &c) == 0;
}
inline bool give_heap(void* node, const HeapOptions& options = {}) noexcept {
  const tarn_heap_options c = c_options(options);
  return tarn_tree_give_heap(node, &c) == 0;
}

// Makes a T whose node is given such memory before the constructor runs, so that what this
// allocates below the node lies there. Null, with errno, on failure.
template <class T, class... Args>
[[nodiscard]] T* try_create_with_arena(void* parent, const ArenaOptions& options, Args&&... args) {
  void* const p = allocate_for<T>(parent);
  return create_in<T>(given(p, p != nullptr && give_arena(p, options)),
                      std::forward<Args>(args)...);
}
template <class T, class... Args>
[[nodiscard]] T* try_create_with_heap(void* parent, const HeapOptions& options, Args&&... args) {
  void* const p = allocate_for<T>(parent);
  return create_in<T>(given(p, p != nullptr && give_heap(p, options)), std::forward<Args>(args)...);
}
// The same, but they throw: InvalidOptions for options that make no sense, else std::bad_alloc.
template <class T, class... Args>
[[nodiscard]] T* create_with_arena(void* parent, const ArenaOptions& options, Args&&... args) {
  return or_throw(try_create_with_arena<T>(parent, options, std::forward<Args>(args)...));
}
template <class T, class... Args>
[[nodiscard]] T* create_with_heap(void* parent, const HeapOptions& options, Args&&... args) {
  return or_throw(try_create_with_heap<T>(parent, options, std::forward<Args>(args)...));
}

// Allocates an array of objects that need no constructor, all zero.
template <class T>
[[nodiscard]] T* create_array(void* parent, std::size_t count) {
  static_assert(std::is_trivial_v<T>, "arrays in a tree have neither constructors nor destructors");
  static_assert(alignof(T) <= 16, "arrays in a tree are aligned to 16");
  return or_bad_alloc(static_cast<T*>(tarn_tree_allocate_zeroed(parent, count, sizeof(T))));
}

[[nodiscard]] inline char* string(void* parent, std::string_view text) {
  if (text.empty()) return or_bad_alloc(tarn_tree_string(parent, ""));
  return or_bad_alloc(tarn_tree_string_n(parent, text.data(), text.size()));
}

[[nodiscard]] TARN_TREE_FORMATS(2, 3) inline char* format(void* parent, const char* how, ...) {
  va_list list;
  va_start(list, how);
  char* const text = tarn_tree_format_list(parent, how, list);
  va_end(list);
  return or_bad_alloc(text);
}

// These return true when it is done. False, with errno: tarn/tree/tree.h has the reasons.
inline bool dispose(void* node) noexcept { return tarn_tree_dispose(node) == 0; }
inline bool dispose_children(void* node) noexcept { return tarn_tree_dispose_children(node) == 0; }
inline bool steal(void* parent, void* node) noexcept { return tarn_tree_steal(parent, node) == 0; }
inline bool reference(void* owner, void* node) noexcept {
  return tarn_tree_reference(owner, node) == 0;
}
inline bool unreference(void* owner, void* node) noexcept {
  return tarn_tree_unreference(owner, node) == 0;
}
inline bool check_threads(bool wanted) noexcept { return tarn_tree_check_threads(wanted) != 0; }
inline bool hand_over(void* node) noexcept { return tarn_tree_hand_over(node) == 0; }
inline bool take_over(void* node) noexcept { return tarn_tree_take_over(node) == 0; }
inline bool set_name(void* node, const char* name) noexcept {
  return tarn_tree_set_name(node, name) == 0;
}

// Calls visit(node) for each node below `root`: a parent before its children, and siblings oldest
// first. visit must not change the tree. If it returns false, the walk ends and returns false.
template <class Visit>
bool for_each(const void* root, Visit&& visit) {
  for (void* n = tarn_tree_next(root, root); n != nullptr; n = tarn_tree_next(root, n)) {
    if constexpr (std::is_void_v<decltype(visit(n))>) {
      visit(n);
    } else {
      if (!visit(n)) return false;
    }
  }
  return true;
}

}  // namespace tarn::tree

namespace tarn {

// A root with all nodes below it, of which the destructor disposes.
class Tree {
 public:
  Tree() : root_(or_bad_alloc(tarn_tree_allocate(nullptr, 0))) {}
  // Makes the root a child of `parent` instead. When that goes, this tree goes with it, and then
  // the object must neither be used nor destroyed. So it must not be a member of an object below
  // `parent`.
  explicit Tree(void* parent) : root_(or_bad_alloc(tarn_tree_allocate(parent, 0))) {}

  // Makes a root whose nodes lie in an arena or a heap, which ends with it. For a tree below a node
  // use tree::give_arena.
  static Tree with_arena(const ArenaOptions& options = {}) {
    const tarn_arena_options c = c_options(nullptr, options);
    return Tree(Root{}, tree::or_throw(tarn_tree_allocate_with_arena(nullptr, 0, &c)));
  }
  static Tree with_arena(SourceRef source, const ArenaOptions& options = {}) {
    const tarn_arena_options c = c_options(&source.get(), options);
    return Tree(Root{}, tree::or_throw(tarn_tree_allocate_with_arena(nullptr, 0, &c)));
  }
  static Tree with_heap(const HeapOptions& options = {}) {
    const tarn_heap_options c = c_options(options);
    return Tree(Root{}, tree::or_throw(tarn_tree_allocate_with_heap(nullptr, 0, &c)));
  }

  // A node that vetoes stays where it is; dispose() tells whether there is one. If the root has
  // other owners, they keep it.
  ~Tree() { end(); }

  Tree(Tree&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  Tree& operator=(Tree&& other) noexcept {
    if (this != &other) {
      end();
      root_ = std::exchange(other.root_, nullptr);
    }
    return *this;
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  explicit operator bool() const noexcept { return root_ != nullptr; }

  // The root, below which this object creates nodes. It is null after a move from this object,
  // after dispose(), and when there was no memory for it. Then this object finds no memory, either.
  void* root() const noexcept { return root_; }

  template <class T, class... Args>
  [[nodiscard]] T* create(Args&&... args) {
    return or_bad_alloc(try_create<T>(std::forward<Args>(args)...));
  }
  template <class T, class... Args>
  [[nodiscard]] T* try_create(Args&&... args) {
    return root_ == nullptr ? nullptr : tree::try_create<T>(root_, std::forward<Args>(args)...);
  }
  template <class T>
  [[nodiscard]] T* create_array(std::size_t count) {
    return root_ == nullptr ? or_bad_alloc<T>(nullptr) : tree::create_array<T>(root_, count);
  }
  [[nodiscard]] char* string(std::string_view text) {
    return root_ == nullptr ? or_bad_alloc<char>(nullptr) : tree::string(root_, text);
  }

  // Disposes of all nodes below the root. False: a veto stopped it.
  bool clear() noexcept { return root_ == nullptr || tree::dispose_children(root_); }

  // Disposes of the root, too. True: it has gone, and the object is false as a truth value.
  bool dispose() noexcept {
    if (root_ != nullptr && !tree::dispose(root_)) return false;
    root_ = nullptr;
    return true;
  }

  tarn_tree_stats stats() const noexcept {
    tarn_tree_stats stats = TARN_TREE_STATS();
    if (root_ != nullptr) tarn_tree_get_stats(root_, &stats);
    return stats;
  }

 private:
  struct Root {};
  Tree(Root, void* root) noexcept : root_(root) {}

  void end() noexcept {
    if (root_ != nullptr) tarn_tree_unreference(tarn_tree_parent(root_), root_);
  }

  void* root_;
};

}  // namespace tarn

#endif
#endif
