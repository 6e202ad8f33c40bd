// adaptors.hpp: sources and allocators that wrap another one to count, limit, lock or trace its
// calls, or to make them fail. C++20; header only.
//
//   tarn::StaticBuffer<65536> buffer;
//   tarn::Limited<tarn::BufferSource&> part(10'000, buffer);  // never more than 10,000 bytes of it
//   tarn::Counted<tarn::Pool> nodes(sizeof(Node), part);
//   tarn::Locked<tarn::Pool> shared(64, part);
//
// An adaptor holds what it wraps, or refers to it if the type is a reference. Its constructor takes
// its own arguments first, and then those of the wrapped object. An adaptor of a Source is a
// Source, and one of a BlockAllocator is a BlockAllocator, so adaptors nest. Each adds a few
// instructions to a call. One thread at a time uses an adaptor, except Locked, which has to be the
// outermost of those that several threads use.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ADAPTORS_HPP
#define TARN_ADAPTORS_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17) && __cplusplus < 202002L
#error "tarn/source/adaptors.hpp needs C++20: compile with -std=c++20, or a later one"
#elif defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../detail/errors.hpp"
#include "../detail/lock.hpp"
#include "../detail/small_lock.hpp"
#include "concepts.hpp"

namespace tarn {

// What adaptors have in common. Self is the adaptor, and S the wrapped type or a reference to it.
// An adaptor has only those functions that S has.
template <class Self, class S>
class Adaptor {
 public:
  using Inner = std::remove_reference_t<S>;
  static_assert(Source<Inner> || BlockAllocator<Inner>, "it must wrap one or the other");

  Adaptor(const Adaptor&) = delete;
  Adaptor& operator=(const Adaptor&) = delete;

  // The wrapped object. The adaptor does not see what is done with it directly.
  Inner& inner() noexcept { return inner_; }
  const Inner& inner() const noexcept { return inner_; }

  [[nodiscard]] void* allocate(std::size_t bytes,
                               std::size_t alignment) requires BlockAllocator<Inner> {
    return or_bad_alloc(static_cast<Self*>(this)->try_allocate(bytes, alignment));
  }

  // The hints of a source, if the wrapped one has them.
  std::size_t chunk_bytes() const noexcept requires requires(const Inner& s) { s.chunk_bytes(); }
  { return inner().chunk_bytes(); }
  bool zeroed() const noexcept requires requires(const Inner& s) { s.zeroed(); }
  { return inner().zeroed(); }

  bool owns(const void* p) const noexcept requires requires(const Inner& s) { s.owns(p); }
  { return inner().owns(p); }
  bool check() const noexcept requires requires(const Inner& s) { s.check(); }
  { return inner().check(); }

 protected:
  template <class... Args>
  explicit Adaptor(Args&&... args) : inner_(std::forward<Args>(args)...) {}
  ~Adaptor() = default;

  S inner_;
};

// The numbers of a Counted. The bytes of blocks are those asked for, those of chunks are those
// granted.
struct Counts {
  std::uint64_t taken = 0;    // Blocks and chunks taken since the beginning.
  std::uint64_t given = 0;    // Blocks and chunks given back.
  std::uint64_t refused = 0;  // Requests that got nothing.
  std::uint64_t live = 0;     // taken - given
  std::uint64_t live_peak = 0;
  std::uint64_t bytes = 0;  // The bytes of those that are live.
  std::uint64_t bytes_peak = 0;
  std::uint64_t bytes_taken = 0;
};

// Counts all calls exactly.
template <class S>
class Counted : public Adaptor<Counted<S>, S> {
 public:
  using Inner = typename Adaptor<Counted<S>, S>::Inner;

  template <class... Args>
  explicit Counted(Args&&... args) : Adaptor<Counted<S>, S>(std::forward<Args>(args)...) {}

  [[nodiscard]] Chunk acquire(std::size_t bytes,
                              std::size_t alignment) noexcept requires Source<Inner> {
    const Chunk chunk = this->inner_.acquire(bytes, alignment);
    note_taken(chunk.data, chunk.bytes);
    return chunk;
  }
  void release(Chunk chunk) noexcept requires Source<Inner> {
    note_given(chunk.data, chunk.bytes);
    this->inner_.release(chunk);
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    void* const p = this->inner_.try_allocate(bytes, alignment);
    note_taken(p, bytes);
    return p;
  }
  void deallocate(void* p, std::size_t bytes,
                  std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    note_given(p, bytes);
    this->inner_.deallocate(p, bytes, alignment);
  }

  const Counts& counts() const noexcept { return counts_; }

  bool check() const noexcept {
    const bool sound = counts_.live == counts_.taken - counts_.given &&
                       counts_.live <= counts_.live_peak && counts_.bytes <= counts_.bytes_peak;
    if constexpr (requires { this->inner().check(); }) return sound && this->inner().check();
    return sound;
  }

 private:
  void note_taken(const void* p, std::size_t bytes) noexcept {
    if (p == nullptr) {
      ++counts_.refused;
      return;
    }
    ++counts_.taken;
    ++counts_.live;
    counts_.bytes += bytes;
    counts_.bytes_taken += bytes;
    if (counts_.live > counts_.live_peak) counts_.live_peak = counts_.live;
    if (counts_.bytes > counts_.bytes_peak) counts_.bytes_peak = counts_.bytes;
  }
  void note_given(const void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return;
    ++counts_.given;
    --counts_.live;
    counts_.bytes -= bytes;
  }

  Counts counts_;
};

// Never lets more than a number of bytes be out; requests beyond that get null. Around another
// Limited both limits hold. Several that refer to the same Limited share its limit, as heaps share
// their parent's.
template <class S>
class Limited : public Adaptor<Limited<S>, S> {
 public:
  using Inner = typename Adaptor<Limited<S>, S>::Inner;

  template <class... Args>
  explicit Limited(std::size_t limit_bytes, Args&&... args)
      : Adaptor<Limited<S>, S>(std::forward<Args>(args)...), limit_bytes_(limit_bytes) {}

  // If the source grants more than is left, the chunk goes back to it.
  [[nodiscard]] Chunk acquire(std::size_t bytes,
                              std::size_t alignment) noexcept requires Source<Inner> {
    if (bytes > room()) return {};
    const Chunk chunk = this->inner_.acquire(bytes, alignment);
    if (chunk.data == nullptr) return {};
    if (chunk.bytes > room()) {
      this->inner_.release(chunk);
      return {};
    }
    bytes_ += chunk.bytes;
    return chunk;
  }
  void release(Chunk chunk) noexcept requires Source<Inner> {
    if (chunk.data != nullptr) bytes_ -= chunk.bytes;
    this->inner_.release(chunk);
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    if (bytes > room()) return nullptr;
    void* const p = this->inner_.try_allocate(bytes, alignment);
    if (p != nullptr) bytes_ += bytes;
    return p;
  }
  void deallocate(void* p, std::size_t bytes,
                  std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    if (p != nullptr) bytes_ -= bytes;
    this->inner_.deallocate(p, bytes, alignment);
  }

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t limit_bytes() const noexcept { return limit_bytes_; }
  // While more than the limit is out, all requests fail.
  void set_limit_bytes(std::size_t limit_bytes) noexcept { limit_bytes_ = limit_bytes; }

 private:
  std::size_t room() const noexcept { return bytes_ < limit_bytes_ ? limit_bytes_ - bytes_ : 0; }

  std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
};

// Lets any thread use the wrapped object, one at a time. Lock: any class with lock() and unlock(),
// such as std::mutex.
template <class S, class Lock = SmallLock>
class Locked : public Adaptor<Locked<S, Lock>, S> {
 public:
  using Inner = typename Adaptor<Locked<S, Lock>, S>::Inner;

  template <class... Args>
  explicit Locked(Args&&... args) : Adaptor<Locked<S, Lock>, S>(std::forward<Args>(args)...) {}

  [[nodiscard]] Chunk acquire(std::size_t bytes,
                              std::size_t alignment) noexcept requires Source<Inner> {
    const LockScope<Lock> scope(lock_);
    return this->inner_.acquire(bytes, alignment);
  }
  void release(Chunk chunk) noexcept requires Source<Inner> {
    const LockScope<Lock> scope(lock_);
    this->inner_.release(chunk);
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    const LockScope<Lock> scope(lock_);
    return this->inner_.try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes,
                  std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    const LockScope<Lock> scope(lock_);
    this->inner_.deallocate(p, bytes, alignment);
  }

  bool owns(const void* p) const noexcept requires requires(const Inner& s) { s.owns(p); }
  {
    const LockScope<Lock> scope(lock_);
    return this->inner().owns(p);
  }
  bool check() const noexcept requires requires(const Inner& s) { s.check(); }
  {
    const LockScope<Lock> scope(lock_);
    return this->inner().check();
  }

  // Calls use(inner) under the lock, for everything that has no function above.
  template <class Use>
  decltype(auto) with(Use&& use) {
    const LockScope<Lock> scope(lock_);
    return std::forward<Use>(use)(this->inner());
  }

 private:
  mutable Lock lock_;
};

enum class Operation { acquire, release, allocate, deallocate };

// One call. For acquire and release `bytes` are those granted; for a request that failed, and for
// blocks, those asked for.
struct TraceEvent {
  Operation operation;
  void* p;  // Null: the request failed, or null was given back.
  std::size_t bytes;
  std::size_t alignment;  // 0 for release.
};

// Calls sink(event) after memory was taken and before it is given back. The sink must not throw,
// and must not use this adaptor.
template <class S, class Sink>
class Traced : public Adaptor<Traced<S, Sink>, S> {
 public:
  using Inner = typename Adaptor<Traced<S, Sink>, S>::Inner;

  template <class... Args>
  explicit Traced(Sink sink, Args&&... args)
      : Adaptor<Traced<S, Sink>, S>(std::forward<Args>(args)...), sink_(std::forward<Sink>(sink)) {}

  [[nodiscard]] Chunk acquire(std::size_t bytes,
                              std::size_t alignment) noexcept requires Source<Inner> {
    const Chunk chunk = this->inner_.acquire(bytes, alignment);
    const std::size_t told = chunk.data == nullptr ? bytes : chunk.bytes;
    sink_(TraceEvent{Operation::acquire, chunk.data, told, alignment});
    return chunk;
  }
  void release(Chunk chunk) noexcept requires Source<Inner> {
    sink_(TraceEvent{Operation::release, chunk.data, chunk.bytes, 0});
    this->inner_.release(chunk);
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    void* const p = this->inner_.try_allocate(bytes, alignment);
    sink_(TraceEvent{Operation::allocate, p, bytes, alignment});
    return p;
  }
  void deallocate(void* p, std::size_t bytes,
                  std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    sink_(TraceEvent{Operation::deallocate, p, bytes, alignment});
    this->inner_.deallocate(p, bytes, alignment);
  }

  Sink& sink() noexcept { return sink_; }

 private:
  Sink sink_;
};

// Makes the n-th request for memory from now fail (n counts from 1), or all requests from that one
// on. All other calls go through.
//
//   tarn::Failing<tarn::BufferSource&> source(buffer);
//   source.fail_at(3);
template <class S>
class Failing : public Adaptor<Failing<S>, S> {
 public:
  using Inner = typename Adaptor<Failing<S>, S>::Inner;

  template <class... Args>
  explicit Failing(Args&&... args) : Adaptor<Failing<S>, S>(std::forward<Args>(args)...) {}

  // n = 0: no request fails.
  void fail_at(std::uint64_t n) noexcept { set(n, false); }
  void fail_from(std::uint64_t n) noexcept { set(n, true); }

  std::uint64_t calls() const noexcept { return calls_; }  // Requests since one of these two.
  std::uint64_t failures() const noexcept { return failures_; }

  [[nodiscard]] Chunk acquire(std::size_t bytes,
                              std::size_t alignment) noexcept requires Source<Inner> {
    return fails() ? Chunk{} : this->inner_.acquire(bytes, alignment);
  }
  void release(Chunk chunk) noexcept requires Source<Inner> { this->inner_.release(chunk); }

  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    return fails() ? nullptr : this->inner_.try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes,
                  std::size_t alignment) noexcept requires BlockAllocator<Inner> {
    this->inner_.deallocate(p, bytes, alignment);
  }

 private:
  void set(std::uint64_t n, bool onwards) noexcept {
    calls_ = 0;
    failures_ = 0;
    failing_ = n;
    onwards_ = onwards;
  }
  bool fails() noexcept {
    ++calls_;
    const bool failed = failing_ != 0 && (onwards_ ? calls_ >= failing_ : calls_ == failing_);
    if (failed) ++failures_;
    return failed;
  }

  std::uint64_t calls_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t failing_ = 0;
  bool onwards_ = false;
};

}  // namespace tarn

#endif
#endif
