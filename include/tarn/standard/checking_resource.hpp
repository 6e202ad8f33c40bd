// checking_resource.hpp: a std::pmr::memory_resource around another one. It verifies that each
// deallocation is of a live block of its own, with the size and alignment that the block was
// allocated with, and names the code that allocated it (C++17; header only over the library).
//
//   tarn::CheckingResource checked(&resource, "orders");
//   std::pmr::vector<int> numbers(&checked);
//
// Its notes take some 60 bytes for each live block, in memory of their own. It takes a lock. A
// fault is passed to a function of the program's, or is reported ("tarn: size mismatch: ...") and
// ends the process. Blocks that are still live when the resource ends are reported ("tarn: leak:
// ...") and not freed.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CHECKING_RESOURCE_HPP
#define TARN_CHECKING_RESOURCE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "../diagnose/report.h"

namespace tarn {

// What is wrong with a block.
enum class ResourceFault {
  size_mismatch,       // It was deallocated with another size.
  alignment_mismatch,  // It was deallocated with another alignment.
  double_free,         // It is one of the last 64 freed, and its memory is not live again.
  invalid_free,        // It is no live block, and none of these.
  leak,                // It was live at the end, or when report_live() was called.
};

// What is known about a fault. Fields that mean nothing for it are null or 0.
struct ResourceReport {
  ResourceFault fault;
  const char* resource;        // The name that the resource was given.
  const void* p;               // The block.
  std::size_t bytes;           // The size that it was allocated with.
  std::size_t alignment;       // The alignment that it was allocated with.
  std::size_t said_bytes;      // The size that it was deallocated with.
  std::size_t said_alignment;  // The alignment that it was deallocated with.
  const void* allocated_at;    // The code that allocated it.
  const void* freed_at;        // The code that freed it before.
  const void* here;            // The code that deallocates it now.
};

// The fault in words, as in the report.
inline const char* kind_of(ResourceFault fault) noexcept {
  switch (fault) {
    case ResourceFault::size_mismatch: return "size mismatch";
    case ResourceFault::alignment_mismatch: return "alignment mismatch";
    case ResourceFault::double_free: return "double free";
    case ResourceFault::invalid_free: return "invalid free";
    case ResourceFault::leak: return "leak";
  }
  return "";
}

// Prints a line with an address of code. Prints nothing for null.
inline void print_site(const char* words, const void* site) noexcept {
  if (site == nullptr) return;
  char text[300];
  tarn_site_text(site, text, sizeof text);
  tarn_report_line(words, text);
}

// Reports a fault on standard error, and ends the process by SIGABRT unless it is a leak.
inline void report_resource_fault(const ResourceReport& report) {
  char text[400];
  const bool known = report.allocated_at != nullptr;
  int length = std::snprintf(text, sizeof text, "%p of resource \"%s\"", report.p, report.resource);
  const auto add = [&](const char* format, std::size_t bytes, std::size_t alignment) {
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof text) return;
    const auto used = static_cast<std::size_t>(length);
    const int more = std::snprintf(text + used, sizeof text - used, format, bytes, alignment);
    length += more > 0 ? more : 0;
  };
  if (known) add(", allocated as %zu bytes aligned to %zu", report.bytes, report.alignment);
  if (report.fault != ResourceFault::leak) {
    add(", deallocated as %zu bytes aligned to %zu", report.said_bytes, report.said_alignment);
  }
  tarn_report_line(kind_of(report.fault), text);
  print_site("  allocated at", report.allocated_at);
  print_site("  freed at", report.freed_at);
  print_site("  now at", report.here);
  if (report.fault != ResourceFault::leak) std::abort();
}

// A resource that checks each deallocation. Any thread. When on_fault returns or throws, the wrong
// deallocation has done nothing: a block that was deallocated with another size or alignment is
// still live.
class CheckingResource final : public std::pmr::memory_resource {
 public:
  using OnFault = void (*)(const ResourceReport&);

  // upstream must not be null. The name is not copied.
  explicit CheckingResource(std::pmr::memory_resource* upstream, const char* name = "",
                            OnFault on_fault = report_resource_fault)
      : upstream_(upstream), name_(name), on_fault_(on_fault) {}
  // Reports what is live. on_fault must not throw then.
  ~CheckingResource() override {
    for (const auto& [p, note] : live_) on_fault_(leak_of(p, note));
  }
  CheckingResource(const CheckingResource&) = delete;
  CheckingResource& operator=(const CheckingResource&) = delete;

  std::size_t live_blocks() const {
    const std::lock_guard<std::mutex> held(lock_);
    return live_.size();
  }
  std::size_t live_bytes() const {
    const std::lock_guard<std::mutex> held(lock_);
    return live_bytes_;
  }
  std::size_t live_bytes_peak() const {
    const std::lock_guard<std::mutex> held(lock_);
    return live_bytes_peak_;
  }

  // Reports each block that is live now as a leak, in any order, and returns their number. on_fault
  // may use the resource.
  std::size_t report_live() const {
    std::vector<ResourceReport> leaks;
    {
      const std::lock_guard<std::mutex> held(lock_);
      leaks.reserve(live_.size());
      for (const auto& [p, note] : live_) leaks.push_back(leak_of(p, note));
    }
    for (const ResourceReport& leak : leaks) on_fault_(leak);
    return leaks.size();
  }

  // Forgets all blocks: none is live any more. For upstreams that end all their blocks at once (a
  // monotonic_buffer_resource's release()). Otherwise each block counts as live until its place is
  // handed out again.
  void forget_all() {
    const std::lock_guard<std::mutex> held(lock_);
    live_.clear();
    live_bytes_ = 0;
  }

 private:
  struct Note {
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    const void* allocated_at = nullptr;
  };
  struct Freed {
    const void* p;
    Note note;
    const void* freed_at;
  };

  // Each block must have a place of its own. Some resources give one place to several blocks of 0
  // bytes.
  static std::size_t upstream_bytes(std::size_t bytes) noexcept { return bytes == 0 ? 1 : bytes; }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const void* const here = __builtin_return_address(0);
    struct Unnoted {  // Freed when there is no memory for the note.
      CheckingResource& self;
      void* p;
      std::size_t bytes;
      std::size_t alignment;
      ~Unnoted() {
        if (p != nullptr) self.upstream_->deallocate(p, upstream_bytes(bytes), alignment);
      }
    } block{*this, upstream_->allocate(upstream_bytes(bytes), alignment), bytes, alignment};
    const std::lock_guard<std::mutex> held(lock_);
    Note& note = live_[block.p];  // Empty, or of a block that the upstream has ended.
    live_bytes_ = live_bytes_ - note.bytes + bytes;
    note = {bytes, alignment, here};
    if (live_bytes_ > live_bytes_peak_) live_bytes_peak_ = live_bytes_;
    void* const p = block.p;
    block.p = nullptr;
    return p;
  }

  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    ResourceReport report{
        ResourceFault::invalid_free, name_, p, 0, 0, bytes, alignment, nullptr, nullptr,
        __builtin_return_address(0)};
    if (take(p, report)) return upstream_->deallocate(p, upstream_bytes(bytes), alignment);
    on_fault_(report);
  }

  // Ends the block's note if all is right. Otherwise says in the report what is wrong.
  bool take(const void* p, ResourceReport& report) {
    const std::lock_guard<std::mutex> held(lock_);
    const auto found = live_.find(p);
    if (found == live_.end()) {
      find_freed(p, report);
      return false;
    }
    const Note note = found->second;
    fill_in(report, note);
    if (note.bytes != report.said_bytes) {
      report.fault = ResourceFault::size_mismatch;
      return false;
    }
    if (note.alignment != report.said_alignment) {
      report.fault = ResourceFault::alignment_mismatch;
      return false;
    }
    live_.erase(found);
    live_bytes_ -= note.bytes;
    freed_[freed_count_++ % freed_.size()] = {p, note, report.here};
    return true;
  }

  void find_freed(const void* p, ResourceReport& report) const {
    for (std::size_t i = 0; i < freed_.size() && i < freed_count_; ++i) {
      const Freed& freed = freed_[(freed_count_ - 1 - i) % freed_.size()];
      if (freed.p != p) continue;
      fill_in(report, freed.note);
      report.fault = ResourceFault::double_free;
      report.freed_at = freed.freed_at;
      return;
    }
  }

  ResourceReport leak_of(const void* p, const Note& note) const {
    return {ResourceFault::leak, name_,   p,      note.bytes, note.alignment, 0, 0,
            note.allocated_at,   nullptr, nullptr};
  }

  static void fill_in(ResourceReport& report, const Note& note) {
    report.bytes = note.bytes;
    report.alignment = note.alignment;
    report.allocated_at = note.allocated_at;
  }

  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::pmr::memory_resource* upstream_;
  const char* name_;
  OnFault on_fault_;
  mutable std::mutex lock_;
  std::unordered_map<const void*, Note> live_;
  std::array<Freed, 64> freed_{};
  std::size_t freed_count_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t live_bytes_peak_ = 0;
};

}  // namespace tarn

#endif
#endif
