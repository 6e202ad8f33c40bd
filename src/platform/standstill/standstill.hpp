// standstill: the contract for stopping all other threads of the process for a while, and for
// looking at them meanwhile: at registers, stacks and the mappings of memory. Between begin() and
// end() the caller must not take a lock that another thread can hold, nor allocate from malloc.
// Errors are in errno.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::os {

struct Bytes {
  const std::byte* start = nullptr;
  const std::byte* end = nullptr;

  std::size_t count() const noexcept { return static_cast<std::size_t>(end - start); }
  bool has(const void* p) const noexcept { return p >= start && p < end; }
};

// A thread that stands still.
struct Standing {
  const std::byte* stack = nullptr;    // The end of the stack: what is below is not in use.
  Bytes registers;                     // The general registers, as they were.
  Bytes vectors;                       // The vector registers.
  const std::byte* tls = nullptr;      // What the thread pointer leads to.
  const std::byte* modules = nullptr;  // The table of the modules' thread-local memory.
};

class Standstill {
 public:
  // Stops every other thread. A thread is missed, and runs on, when it has the signal blocked or
  // does not come within `wait_ms`; so are the threads that it makes after that. False: no thread
  // stands still, and nothing is left behind. Takes no longer than `wait_ms` and what looking at
  // the threads takes. pre: one thread at a time, Undisturbed
  bool begin(int signal, unsigned wait_ms) noexcept;
  void end() noexcept;

  std::size_t stopped() const noexcept { return stopped_; }
  std::size_t missed() const noexcept { return missed_; }
  Standing standing(std::size_t i) const noexcept;  // pre: i < stopped()

  // In the child of a fork: undoes what another thread had begun.
  static void recover_after_fork() noexcept;

 private:
  bool call_all(int signal, unsigned wait_ms) noexcept;
  bool call_new(int folder, std::size_t* called) noexcept;
  void wait_for_called(int signal, std::uint64_t until_ms) noexcept;
  void count() noexcept;

  std::size_t known_ = 0;
  std::size_t stopped_ = 0;
  std::size_t missed_ = 0;
  int signal_ = 0;
};

// While this lives, no signal that can be blocked comes to the calling thread, and no thread
// cancels it: a thread that ended between begin() and end() would leave the others standing.
class Undisturbed {
 public:
  Undisturbed() noexcept;
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  [[maybe_unused]] std::uint64_t mask_ = 0;  // The signal mask as it was.
  [[maybe_unused]] int cancel_state_ = 0;
};

// Calls work(context, self), where self is the calling thread as its caller left it.
void with_registers(void (*work)(void* context, const Standing& self), void* context) noexcept;

// A mapping of memory, as the OS has it.
struct Mapping {
  Bytes bytes;
  bool readable;
  bool writable;
  bool is_module;  // Private and of a file. If writable: the data of an executable or a library.
  bool is_named;   // The OS or a program has named it.
  bool is_stack;   // The first thread's stack.
  bool is_device;  // A device's memory, which must not be read.
  bool is_shared;  // Other processes may have written there.
};

// Writes the first `room` mappings by address, and returns how many there are; 0 when the OS does
// not say.
std::size_t read_mappings(Mapping* to, std::size_t room) noexcept;

// Copies bytes; false when they cannot be read (any more). pre: bytes <= 4 KiB
bool copy_readable(void* to, const std::byte* from, std::size_t bytes) noexcept;

// Tells which pages have contents: to read any other page would give it some. Of shared memory,
// pages that this process has not touched count too; the child of a fork has touched none.
class Presence {
 public:
  bool open() noexcept;  // False with errno set when the OS does not say.
  void close() noexcept;

  // The first run of pages with contents in `in`, or as much of it as the buffer holds; empty when
  // there is none. pre: `in` is whole pages of one mapping
  Bytes first_run(Bytes in, bool is_shared) noexcept;

 private:
  bool look(const std::byte* from, std::size_t pages, bool is_shared) noexcept;
  bool add_resident(std::size_t pages) noexcept;
  bool has(const std::byte* page) const noexcept;

  static constexpr std::size_t pages_max_ = 512;
  int file_ = -1;
  Bytes seen_;
  std::uint64_t entries_[pages_max_];
};

}  // namespace tarn::os
