// arena.hpp: memory that is given back all at once, in C++ (C++17). Header only over
// tarn/arena/arena.h, which says what each function promises; the hit path is the same.
//
//   tarn::Arena arena;
//   auto* node = arena.create<Node>(1, "one");      // its destructor runs when the arena ends
//   {
//     tarn::ArenaScope scope(arena);                // what is allocated in here goes at its end
//     char* line = arena.format("%d of %d", i, n);
//   }
//   arena.reset();
//
// Functions that allocate throw std::bad_alloc; those that begin with try_ give null instead.
// Without exceptions all give null. One thread at a time.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ARENA_HPP
#define TARN_ARENA_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstdarg>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/align.hpp"
#include "../detail/errors.hpp"
#include "../source/mode.hpp"
#include "../source/source.hpp"
#include "arena.h"

namespace tarn {

inline constexpr std::size_t keep_nothing = TARN_ARENA_KEEP_NOTHING;
inline constexpr std::size_t keep_all = TARN_ARENA_KEEP_ALL;
inline constexpr std::size_t keep_typical = TARN_ARENA_KEEP_TYPICAL;

// The options of an arena; each field means what it does in tarn_arena_options.
struct ArenaOptions {
  const char* name = nullptr;
  std::size_t chunk_bytes = 0;
  std::size_t chunk_bytes_max = 0;
  std::size_t limit_bytes = 0;
  std::size_t keep_bytes = keep_typical;
  Mode mode = Mode::fast;
};

// The same for functions of the C interface.
inline tarn_arena_options c_options(const tarn_source* source, const ArenaOptions& from) noexcept {
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.name = from.name;
  options.source = source;
  options.chunk_bytes = from.chunk_bytes;
  options.chunk_bytes_max = from.chunk_bytes_max;
  options.limit_bytes = from.limit_bytes;
  options.keep_bytes = from.keep_bytes;
  options.mode = static_cast<int>(from.mode);
  return options;
}

// The functions of Arena and ArenaRef. Self::get() returns the arena.
template <class Self>
class ArenaCalls {
 public:
  [[nodiscard]] TARN_NOTES_CALLER void* allocate(std::size_t bytes, std::size_t alignment = 16) {
    return or_bad_alloc(tarn_arena_allocate_aligned(raw(), bytes, alignment));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate(std::size_t bytes,
                                                     std::size_t alignment = 16) noexcept {
    return tarn_arena_allocate_aligned(raw(), bytes, alignment);
  }
  [[nodiscard]] TARN_NOTES_CALLER void* allocate_zeroed(std::size_t count, std::size_t bytes) {
    return or_bad_alloc(tarn_arena_allocate_zeroed(raw(), count, bytes));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_allocate_zeroed(std::size_t count,
                                                            std::size_t bytes) noexcept {
    return tarn_arena_allocate_zeroed(raw(), count, bytes);
  }
  TARN_NOTES_CALLER void deallocate(void* p, std::size_t bytes, std::size_t = 0) noexcept {
    tarn_arena_deallocate(raw(), p, bytes);
  }

  [[nodiscard]] TARN_NOTES_CALLER void* resize(void* p, std::size_t old_bytes, std::size_t bytes,
                                               std::size_t alignment = 16) {
    return or_bad_alloc(tarn_arena_resize(raw(), p, old_bytes, bytes, alignment));
  }
  [[nodiscard]] TARN_NOTES_CALLER void* try_resize(void* p, std::size_t old_bytes,
                                                   std::size_t bytes,
                                                   std::size_t alignment = 16) noexcept {
    return tarn_arena_resize(raw(), p, old_bytes, bytes, alignment);
  }
  TARN_NOTES_CALLER bool try_expand(void* p, std::size_t old_bytes, std::size_t bytes) noexcept {
    return tarn_arena_try_expand(raw(), p, old_bytes, bytes) != 0;
  }

  // Makes a T. Its destructor runs when the arena is wound back beyond the object, reset or
  // destroyed. Objects are destroyed in the reverse order of their creation. When the constructor
  // throws, nothing is registered.
  template <class T, class... Args>
  [[nodiscard]] TARN_NOTES_CALLER T* create(Args&&... args) {
    if constexpr (std::is_trivially_destructible_v<T>) {
      return create_raw<T>(std::forward<Args>(args)...);
    } else {
      return create_with_release<T>(
          [&](void* p) { return ::new (p) T(std::forward<Args>(args)...); }, 1);
    }
  }

  // Makes a T without a destructor; other types do not compile.
  template <class T, class... Args>
  [[nodiscard]] TARN_NOTES_CALLER T* create_raw(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>,
                  "its destructor would not run: use create()");
    void* const p = allocate(sizeof(T), alignof(T));
    if (p == nullptr) return nullptr;  // Without exceptions.
    return ::new (p) T(std::forward<Args>(args)...);
  }

  // `count` value-initialised objects, destroyed like those of create().
  template <class T>
  [[nodiscard]] TARN_NOTES_CALLER T* create_array(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) return static_cast<T*>(or_bad_alloc(nullptr));
    if constexpr (std::is_trivially_destructible_v<T>) {
      T* const array = create_array_raw<T>(count);
      if (array == nullptr) return nullptr;
      return construct(array, count);
    } else {
      return create_with_release<T>([&](void* p) { return construct(static_cast<T*>(p), count); },
                                    count);
    }
  }

  // Memory for `count` objects that need neither constructor nor destructor.
  template <class T>
  [[nodiscard]] TARN_NOTES_CALLER T* create_array_raw(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>,
                  "destructors would not run: use create_array()");
    return static_cast<T*>(allocate(array_bytes<T>(count), alignof(T)));
  }

  // Copy `count` objects, a string, or at most `length` characters of a string, terminated.
  template <class T>
  [[nodiscard]] T* copy(const T* objects, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "copied byte by byte");
    return static_cast<T*>(
        or_bad_alloc(tarn_arena_copy(raw(), objects, array_bytes<T>(count), alignof(T))));
  }
  [[nodiscard]] char* copy(const char* text) {
    return or_bad_alloc(tarn_arena_copy_string(raw(), text));
  }
  [[nodiscard]] char* copy_string(const char* text, std::size_t length) {
    return or_bad_alloc(tarn_arena_copy_string_n(raw(), text, length));
  }

  [[nodiscard]]
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  char*
  format(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char* const text = tarn_arena_format_v(raw(), format, arguments);
    va_end(arguments);
    return or_bad_alloc(text);
  }

  // Has call() run when the arena is wound back beyond this point. It must not throw.
  template <class Call>
  void on_release(Call call) {
    using Holder = Holding<Call>;
    void* const p = allocate(sizeof(Holder), alignof(Holder));
    if (p == nullptr) return;
    auto* const holder = ::new (p) Holder{std::move(call)};
    if (tarn_arena_on_release(raw(), &Holder::run, holder) == 0) return;
    holder->~Holder();
    or_bad_alloc(nullptr);
  }

  using Mark = tarn_arena_mark;
  Mark mark() const noexcept { return tarn_arena_get_mark(raw()); }
  void rewind(const Mark& mark) noexcept { tarn_arena_rewind(raw(), &mark); }
  void reset() noexcept { tarn_arena_reset(raw()); }
  void reset(std::size_t keep_bytes) noexcept { tarn_arena_reset_keeping(raw(), keep_bytes); }
  std::size_t trim() noexcept { return tarn_arena_trim(raw()); }

  bool owns(const void* p) const noexcept { return tarn_arena_owns(raw(), p) != 0; }
  bool check() const noexcept { return tarn_arena_check(raw()) != 0; }
  const char* name() const noexcept { return raw()->name; }
  tarn_arena_stats stats() const noexcept {
    tarn_arena_stats stats = TARN_ARENA_STATS();
    tarn_arena_get_stats(raw(), &stats);
    return stats;
  }

  // An arena is a source, for pools and arenas inside it: chunks go back with it. (An Arena in an
  // Arena is made from SourceRef(outer), since naming the outer one alone would copy it.)
  Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    void* const data = try_allocate(bytes, alignment);
    return {data, data == nullptr ? 0 : bytes};
  }
  void release(Chunk chunk) noexcept { deallocate(chunk.data, chunk.bytes); }

 private:
  template <class Call>
  struct Holding {
    Call call;
    static void run(void* self) {
      auto* const holding = static_cast<Holding*>(self);
      holding->call();
      holding->~Holding();
    }
  };

  // Lies in front of objects with destructors, and destroys them.
  template <class T>
  struct Objects {
    tarn_arena_release release;
    std::size_t count;
    static constexpr std::size_t alignment() noexcept {
      return alignof(T) > alignof(Objects) ? alignof(T) : alignof(Objects);
    }
    static constexpr std::size_t offset() noexcept { return align_up(sizeof(Objects), alignof(T)); }
    static void destroy(void* self) {
      auto* const first = reinterpret_cast<T*>(static_cast<char*>(self) + offset());
      for (std::size_t i = static_cast<Objects*>(self)->count; i > 0; --i) first[i - 1].~T();
    }
  };

  template <class T>
  static std::size_t array_bytes(std::size_t count) noexcept {
    std::size_t bytes = 0;
    return checked_multiply(count, sizeof(T), &bytes) ? bytes : SIZE_MAX;
  }

  template <class T>
  static T* construct(T* array, std::size_t count) {
    struct Built {
      T* first;
      std::size_t count = 0;
      ~Built() {
        while (count > 0) first[--count].~T();
      }
    } built{array};
    while (built.count < count) {
      ::new (static_cast<void*>(array + built.count)) T();
      ++built.count;
    }
    built.count = 0;  // The arena owns them now.
    return array;
  }

  // The destructor is registered after the objects exist, so that a function which a constructor
  // has registered runs after the object's end.
  template <class T, class Build>
  TARN_NOTES_CALLER T* create_with_release(Build build, std::size_t count) {
    const std::size_t objects = array_bytes<T>(count);
    const std::size_t bytes = objects > SIZE_MAX / 2 ? SIZE_MAX : Objects<T>::offset() + objects;
    void* const memory = allocate(bytes, Objects<T>::alignment());
    if (memory == nullptr) return nullptr;  // Without exceptions.
    T* const object = build(static_cast<char*>(memory) + Objects<T>::offset());
    auto* const header = ::new (memory) Objects<T>{{nullptr, Objects<T>::destroy, memory}, count};
    tarn_arena_add_release(raw(), &header->release);
    return object;
  }

  tarn_arena* raw() noexcept { return static_cast<Self*>(this)->get(); }
  const tarn_arena* raw() const noexcept { return static_cast<const Self*>(this)->get(); }
};

class ArenaRef;

// An arena; its destructor ends it.
class Arena : public ArenaCalls<Arena> {
 public:
  using Ref = ArenaRef;

  // Makes an arena over malloc's heap, or over a source, which must outlive the arena. Throws
  // InvalidOptions. Without exceptions the arena is false as a truth value instead, and never has
  // memory.
  explicit Arena(const ArenaOptions& options = {}) { make(nullptr, options); }
  explicit Arena(SourceRef source, const ArenaOptions& options = {}) {
    make(&source.get(), options);
  }
  ~Arena() { tarn_arena_destroy(&arena_); }

  // The blocks stay where they are and become the new arena's.
  Arena(Arena&& other) noexcept { tarn_arena_move(&arena_, &other.arena_); }
  Arena& operator=(Arena&& other) noexcept {
    if (this != &other) {
      tarn_arena_destroy(&arena_);
      tarn_arena_move(&arena_, &other.arena_);
    }
    return *this;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  explicit operator bool() const noexcept { return arena_.chunk_bytes != 0; }

  // For functions of the C interface.
  tarn_arena* get() noexcept { return &arena_; }
  const tarn_arena* get() const noexcept { return &arena_; }

 private:
  void make(const tarn_source* source, const ArenaOptions& from) {
    const tarn_arena_options options = c_options(source, from);
    if (tarn_arena_init(&arena_, &options) == 0) return;
#if defined(__cpp_exceptions)
    throw InvalidOptions(
        "tarn::Arena: chunk_bytes_max must not be below chunk_bytes, and the mode must be one "
        "that the library has a source for");
#endif
  }

  tarn_arena arena_;
};

// A pointer to an arena that is owned elsewhere, perhaps by C code. It is copied freely.
class ArenaRef : public ArenaCalls<ArenaRef> {
 public:
  // A reference that is stored is stored as a copy of this handle.
  static constexpr bool is_handle = true;

  ArenaRef(Arena& arena) noexcept : arena_(arena.get()) {}
  explicit ArenaRef(tarn_arena* arena) noexcept : arena_(arena) {}
  tarn_arena* get() const noexcept { return arena_; }

  friend bool operator==(ArenaRef a, ArenaRef b) noexcept { return a.arena_ == b.arena_; }
  friend bool operator!=(ArenaRef a, ArenaRef b) noexcept { return a.arena_ != b.arena_; }

 private:
  tarn_arena* arena_;
};

// Blocks that are allocated in the arena while this object lives end with it. Scopes nest.
class ArenaScope {
 public:
  explicit ArenaScope(ArenaRef arena) noexcept : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.rewind(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;
  ArenaRef arena() const noexcept { return arena_; }

 private:
  ArenaRef arena_;
  tarn_arena_mark mark_;
};

}  // namespace tarn

#endif
#endif
