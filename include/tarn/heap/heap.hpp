// heap.hpp: heaps of your own, in C++ (C++17). Header only over tarn/heap/heap.h, which says what
// each function promises.
//
//   tarn::Heap names("names");         // ends with its scope, and all its blocks with it
//   auto* text = static_cast<char*>(names.allocate(length));
//   tarn::Fixed<Node> nodes(names);    // blocks of exactly sizeof(Node)
//   Node* node = nodes.create(text);   // and nodes.destroy(node), or nothing: the heap ends anyway
//
// Functions that allocate throw std::bad_alloc; those whose names begin with try_ return null
// instead. Without exceptions all return null. A heap that ends runs no destructors of the objects
// in it: Fixed refuses such a type at compile time unless it is told `leave_objects`.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_HEAP_HPP
#define TARN_HEAP_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/construct.hpp"
#include "../detail/errors.hpp"
#include "../source/mode.hpp"
#include "heap.h"

namespace tarn {

// Which threads may use a heap, and how: see tarn_heap_threads.
enum class Threads {
  shared = TARN_HEAP_SHARED,
  serialised = TARN_HEAP_SERIALISED,
  confined = TARN_HEAP_CONFINED,
};

// What an address is to a heap: see tarn_heap_state.
enum class BlockState {
  nothing = TARN_HEAP_NOTHING,
  live = TARN_HEAP_LIVE,
  free = TARN_HEAP_FREE,
};

// A handle of a heap that is owned elsewhere: two words, copied freely. Using one whose heap has
// ended is reported.
class HeapRef {
 public:
  // Adaptors that keep a reference to a heap store a copy of this handle.
  static constexpr bool is_handle = true;
  static constexpr std::size_t block_alignment = 16;  // Every block has it, whatever is asked for.

  constexpr HeapRef() noexcept = default;
  constexpr HeapRef(tarn_heap heap) noexcept : heap_(heap) {}

  explicit operator bool() const noexcept { return heap_.record != nullptr; }
  tarn_heap get() const noexcept { return heap_; }

  // A block of at least `bytes`, aligned to 16. 0 bytes: a block that may only be freed.
  [[nodiscard]] TARN_NOTES_CALLER void* allocate(std::size_t bytes) const {
    return or_bad_alloc(tarn_heap_allocate(heap_, bytes));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate(std::size_t bytes) const noexcept {
    return tarn_heap_allocate(heap_, bytes);
  }

  // A block of count * bytes, all zero. The product is checked.
  [[nodiscard]] TARN_NOTES_CALLER void* allocate_zeroed(std::size_t count,
                                                        std::size_t bytes) const {
    return or_bad_alloc(tarn_heap_allocate_zeroed(heap_, count, bytes));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate_zeroed(std::size_t count,
                                                            std::size_t bytes) const noexcept {
    return tarn_heap_allocate_zeroed(heap_, count, bytes);
  }

  // A block aligned to `alignment`, which must be a power of two.
  [[nodiscard]] TARN_NOTES_CALLER void* allocate_aligned(std::size_t bytes,
                                                         std::size_t alignment) const {
    return or_bad_alloc(tarn_heap_allocate_aligned(heap_, alignment, bytes));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate_aligned(std::size_t bytes,
                                                             std::size_t alignment) const noexcept {
    return tarn_heap_allocate_aligned(heap_, alignment, bytes);
  }

  // Allocation with an alignment, in the order of arguments that generic code over any allocator
  // uses.
  [[nodiscard]] TARN_NOTES_CALLER void* allocate(std::size_t bytes, std::size_t alignment) const {
    return or_bad_alloc(try_allocate(bytes, alignment));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate(std::size_t bytes,
                                                     std::size_t alignment) const noexcept {
    return alignment <= block_alignment ? tarn_heap_allocate(heap_, bytes)
                                        : tarn_heap_allocate_aligned(heap_, alignment, bytes);
  }

  // Resizes a block: at its new size it is in this heap. p may be null, or of another heap. When
  // there is no memory the block is as it was. Size 0 frees p and gives null.
  [[nodiscard]] TARN_NOTES_CALLER void* reallocate(void* p, std::size_t bytes) const {
    void* const moved = tarn_heap_reallocate(heap_, p, bytes);
    return bytes == 0 && p != nullptr ? moved : or_bad_alloc(moved);
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_reallocate(void* p, std::size_t bytes) const noexcept {
    return tarn_heap_reallocate(heap_, p, bytes);
  }

  // Makes the block larger without moving it. False when that cannot be.
  TARN_NOTES_CALLER static bool try_expand(void* p, std::size_t bytes) noexcept {
    return tarn_heap_try_expand(p, bytes) != 0;
  }

  // Frees a block of any heap. Where tarn is the process's malloc, free and delete do the same.
  TARN_NOTES_CALLER static void deallocate(void* p) noexcept { tarn_heap_deallocate(p); }
  TARN_NOTES_CALLER static void deallocate(void* p, std::size_t bytes, std::size_t) noexcept {
    tarn_heap_deallocate_sized(p, bytes);
  }

  // How many bytes of a block may be used: at least what was asked for.
  static std::size_t usable_bytes(const void* p) noexcept { return tarn_heap_usable_bytes(p); }

  // The heap of a block; false as a truth value when p is no block of tarn's.
  static HeapRef of(const void* p) noexcept { return tarn_heap_of(p); }
  bool owns(const void* p) const noexcept { return tarn_heap_owns(heap_, p) != 0; }

  // What an address is to this heap, and whether the heap is sound: see tarn_heap_look and
  // tarn_heap_check. malloc's heap cannot be inspected, so the answers for it are `nothing` and
  // true.
  BlockState look(const void* p) const noexcept {
    const int state = tarn_heap_look(heap_, p);
    return state < 0 ? BlockState::nothing : static_cast<BlockState>(state);
  }
  bool check() const noexcept { return tarn_heap_check(heap_) != 0; }

  // malloc's own heap.
  static HeapRef main() noexcept { return tarn_heap_main(); }

  // Ends all blocks; the heap stays.
  bool clear() const noexcept { return tarn_heap_clear(heap_) == 0; }

  // Gives empty pages back until keep_bytes, or the floor, are left. Returns the bytes given.
  std::size_t trim(std::size_t keep_bytes = 0) const noexcept {
    return tarn_heap_trim(heap_, keep_bytes);
  }

  // Calls visit(item) for pages, blocks and large blocks; tarn_heap_walk says what it may do. If
  // visit returns anything, false ends the walk. visit must not throw. Returns true when the walk
  // came to its end.
  template <class Visit>
  bool walk(Visit&& visit, bool with_free_blocks = false) const noexcept {
    using Decayed = std::remove_reference_t<Visit>;
    const unsigned flags = with_free_blocks ? unsigned{TARN_HEAP_WALK_FREE} : 0;
    const auto each = [](const tarn_heap_item* item, void* context) noexcept -> int {
      Decayed& call = *static_cast<Decayed*>(context);
      if constexpr (std::is_void_v<decltype(call(*item))>) {
        call(*item);
        return 0;
      } else {
        return call(*item) ? 0 : 1;
      }
    };
    void* const context = const_cast<void*>(static_cast<const void*>(std::addressof(visit)));
    return tarn_heap_walk(heap_, flags, each, context) == 0;
  }

  // Change the limits that the heap was made with: see tarn_heap_set_ceiling.
  bool set_ceiling(std::size_t bytes) const noexcept {
    return tarn_heap_set_ceiling(heap_, bytes) == 0;
  }
  bool set_floor(std::size_t bytes) const noexcept {
    return tarn_heap_set_floor(heap_, bytes) == 0;
  }
  bool set_soft_mark(std::size_t bytes) const noexcept {
    return tarn_heap_set_soft_mark(heap_, bytes) == 0;
  }

  // Locks for std::lock_guard and its like: between them the heap is this thread's alone.
  void lock() const noexcept { tarn_heap_lock(heap_); }
  void unlock() const noexcept { tarn_heap_unlock(heap_); }

  // Makes the heap read-only until it is thawed: see tarn_heap_freeze.
  bool freeze() const noexcept { return tarn_heap_freeze(heap_) == 0; }
  bool thaw() const noexcept { return tarn_heap_thaw(heap_) == 0; }

  // The heap after this one; malloc's for a HeapRef{}. False as a truth value at the end.
  HeapRef next() const noexcept { return tarn_heap_next(heap_); }

  tarn_heap_stats stats() const noexcept {
    tarn_heap_stats stats = TARN_HEAP_STATS();
    tarn_heap_get_stats(heap_, &stats);
    return stats;
  }
  const char* name() const noexcept { return tarn_heap_name(heap_); }
  // What the heap was made with, in HeapOptions::context.
  void* context() const noexcept { return tarn_heap_context(heap_); }

  friend bool operator==(const HeapRef& a, const HeapRef& b) noexcept {
    return a.heap_.record == b.heap_.record && a.heap_.id == b.heap_.id;
  }
  friend bool operator!=(const HeapRef& a, const HeapRef& b) noexcept { return !(a == b); }

 protected:
  tarn_heap heap_{};
};

// A class table: block sizes for a heap with classes of its own. At most 128 sizes, ascending, each
// a multiple of 16. tarn_heap_options::class_bytes says what such a heap does.
//
//   tarn::ClassTable table = tarn::ClassTable::steps(1);  // 16, 32, 64, ... 128 KiB
//   table.add(396);                                       // a size that is asked for often: 400
//   tarn::HeapOptions options;
//   options.use(table);
class ClassTable {
 public:
  // Makes an empty table. A heap that is given it has the common classes.
  constexpr ClassTable() noexcept = default;

  // A ready-made table from `least` to `most`, as tarn_class_table makes it. It is empty where that
  // makes none, or one of more than 128 classes.
  static ClassTable steps(unsigned per_doubling, std::size_t least = TARN_HEAP_CLASS_GRAIN,
                          std::size_t most = TARN_HEAP_CLASS_BYTES_MAX) noexcept {
    ClassTable made;
    made.count_ = tarn_class_table(per_doubling, least, most, TARN_HEAP_CLASS_GRAIN, made.bytes_,
                                   TARN_HEAP_CLASSES_MAX);
    if (made.count_ > TARN_HEAP_CLASSES_MAX) made.count_ = 0;
    return made;
  }

  // Puts a size, rounded up to a multiple of 16, in its place. False for a size of 0 or above 128
  // KiB, and when the table is full.
  bool add(std::size_t bytes) noexcept {
    const std::size_t count = tarn_class_table_add(bytes_, count_, TARN_HEAP_CLASSES_MAX, bytes);
    if (count == 0) return false;
    count_ = count;
    return true;
  }

  // Of the bytes reserved for uniformly distributed sizes, the part that was asked for: see
  // tarn_class_fill. 0 for sizes that the table does not hold.
  double fill(std::size_t least, std::size_t most) const noexcept {
    return tarn_class_fill(bytes_, count_, least, most);
  }

  const std::size_t* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  const std::size_t* begin() const noexcept { return bytes_; }
  const std::size_t* end() const noexcept { return bytes_ + count_; }
  std::size_t operator[](std::size_t i) const noexcept { return bytes_[i]; }

 private:
  std::size_t bytes_[TARN_HEAP_CLASSES_MAX] = {};
  std::size_t count_ = 0;
};

// The options of a heap. The defaults are those of tarn_heap_create(NULL); tarn_heap_options says
// what each means.
struct HeapOptions {
  const char* name = nullptr;
  Threads threads = Threads::shared;
  Mode mode = Mode::fast;
  bool separate = false;
  bool secret = false;
  HeapRef parent{};
  std::size_t ceiling_bytes = 0;
  std::size_t floor_bytes = 0;
  std::size_t soft_mark_bytes = 0;
  tarn_heap_reclaim reclaim = nullptr;
  tarn_heap_mark soft_mark = nullptr;
  void* context = nullptr;
  const std::size_t* class_bytes = nullptr;
  std::size_t class_count = 0;
  void* region = nullptr;
  std::size_t region_bytes = 0;
  const tarn_source* source = nullptr;

  // Gives the heap its classes. The table must live until the heap is made.
  void use(const ClassTable& table) noexcept {
    class_bytes = table.empty() ? nullptr : table.data();
    class_count = table.size();
  }
};

// The same options for functions of the C interface.
inline tarn_heap_options c_options(const HeapOptions& from) noexcept {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = from.name;
  options.threads = static_cast<int>(from.threads);
  options.mode = static_cast<int>(from.mode);
  options.flags = (from.separate ? unsigned{TARN_HEAP_SEPARATE} : 0) |
                  (from.secret ? unsigned{TARN_HEAP_SECRET} : 0);
  options.parent = from.parent.get();
  options.ceiling_bytes = from.ceiling_bytes;
  options.floor_bytes = from.floor_bytes;
  options.soft_mark_bytes = from.soft_mark_bytes;
  options.reclaim = from.reclaim;
  options.soft_mark = from.soft_mark;
  options.context = from.context;
  options.class_bytes = from.class_bytes;
  options.class_count = from.class_count;
  options.region = from.region;
  options.region_bytes = from.region_bytes;
  options.source = from.source;
  return options;
}

// A heap that ends with its scope, and all of its blocks with it.
class Heap : public HeapRef {
 public:
  using Ref = HeapRef;
  static constexpr bool is_handle = false;

  explicit Heap(const HeapOptions& options) : HeapRef(make(options)) {
    if (heap_.record != nullptr) return;
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#endif
  }
  explicit Heap(const char* name = nullptr) : Heap(named(name)) {}
  ~Heap() { tarn_heap_destroy(heap_); }

  Heap(Heap&& other) noexcept : HeapRef(other.release()) {}
  Heap& operator=(Heap&& other) noexcept {
    if (this != &other) {
      tarn_heap_destroy(heap_);
      heap_ = other.release();
    }
    return *this;
  }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Makes a heap without throwing: false as a truth value, with errno set, when there is none.
  static Heap try_make(const HeapOptions& options) noexcept { return Heap(make(options)); }

  // Takes over a heap that was made in C.
  static Heap adopt(tarn_heap heap) noexcept { return Heap(heap); }

  // Ends the heap and keeps its blocks, which are malloc's from then on.
  void end_keeping_blocks() noexcept { tarn_heap_delete(release()); }

  // Gives the heap up: it lives on, and the caller must end it.
  tarn_heap release() noexcept { return std::exchange(heap_, tarn_heap{}); }

 private:
  explicit Heap(tarn_heap heap) noexcept : HeapRef(heap) {}

  static HeapOptions named(const char* name) noexcept {
    HeapOptions options;
    options.name = name;
    return options;
  }
  static tarn_heap make(const HeapOptions& from) noexcept {
    const tarn_heap_options options = c_options(from);
    return tarn_heap_create(&options);
  }
};

// While this object lives, malloc serves this thread from the given heap. Such objects nest.
class DefaultHeap {
 public:
  explicit DefaultHeap(HeapRef heap) noexcept : before_(tarn_heap_set_default(heap.get())) {}
  ~DefaultHeap() { tarn_heap_set_default(before_); }
  DefaultHeap(const DefaultHeap&) = delete;
  DefaultHeap& operator=(const DefaultHeap&) = delete;

 private:
  tarn_heap before_;
};

// Pass this to a Fixed to say that the destructors of its objects need not run when the heap ends.
struct LeaveObjects {};
inline constexpr LeaveObjects leave_objects{};

// Blocks of exactly sizeof(T) in a heap, without a header. A handle: copied freely, and valid as
// long as the heap.
template <class T>
class Fixed {
 public:
  explicit Fixed(HeapRef heap) : Fixed(heap, leave_objects) {
    static_assert(std::is_trivially_destructible_v<T>,
                  "the end of the heap runs no destructors: destroy the objects before, and say so "
                  "with Fixed(heap, tarn::leave_objects)");
  }
  Fixed(HeapRef heap, LeaveObjects) : fixed_(tarn_heap_fixed(heap.get(), sizeof(T), alignof(T))) {
    static_assert(alignof(T) <= 4096, "blocks of one size are aligned to 4096 at most");
    or_bad_alloc(fixed_.record);
  }

  // Memory for a T.
  [[nodiscard]] TARN_NOTES_CALLER void* allocate() const {
    return or_bad_alloc(tarn_fixed_allocate(fixed_));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate() const noexcept {
    return tarn_fixed_allocate(fixed_);
  }
  TARN_NOTES_CALLER static void deallocate(void* p) noexcept { tarn_heap_deallocate(p); }

  // Makes a T. When its constructor throws, the memory is freed and the exception passes on.
  template <class... Args>
  [[nodiscard]] TARN_NOTES_CALLER T* create(Args&&... args) const {
    return construct_in<T>(allocate(), deallocate, std::forward<Args>(args)...);
  }
  TARN_NOTES_CALLER static void destroy(T* object) noexcept {
    if (object == nullptr) return;
    object->~T();
    tarn_heap_deallocate(object);
  }

  tarn_fixed get() const noexcept { return fixed_; }

 private:
  tarn_fixed fixed_;
};

}  // namespace tarn

#endif
#endif
