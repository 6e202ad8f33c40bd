// subjects: every kind of allocator behind a tarn_malloc_table, for the conformance suite.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tarn/heap/malloc_table.h"
#include "tarn/source/adaptors.h"

namespace tables {

// An allocator with its table, and what the suite may expect of it.
struct Subject {
  virtual ~Subject() = default;

  // From here on nobody gives it memory, or somebody does again; false: it asks nobody.
  virtual bool refuse(bool) { return false; }
  virtual long long live() const { return -1; }   // Blocks, by its own count; -1: it has none.
  virtual bool is_sound() const { return true; }  // By its own check.

  tarn_malloc_table table{};
  std::size_t bytes_max = 100'000;   // The largest request that it serves,
  std::size_t alignment_max = 4096;  // and the greatest alignment;
  std::size_t blocks = 100;          // so many of the largest at the same time, surely.
  bool frees = true;                 // A freed block's memory is used again.
};

// A source that fails as it is told, in front of `options.source`.
struct Failing {
  explicit Failing(std::size_t n) {
    own.inner = tarn_source_default();
    own.failing = n;
    own.onwards = 1;
    source = tarn_failing_source_get(&own);
  }
  bool refuse(bool is_refused) {
    own.calls = 0;
    own.failing = is_refused ? 1 : 0;
    return true;
  }
  tarn_failing_source own{};
  tarn_source source;
};

struct OverSource : Subject {
  explicit OverSource(std::size_t n) : failing(n) {}
  bool refuse(bool is_refused) override { return failing.refuse(is_refused); }
  Failing failing;
};

inline std::unique_ptr<Subject> limited(std::unique_ptr<Subject> subject, std::size_t bytes_max,
                                        std::size_t alignment_max) {
  subject->bytes_max = bytes_max;
  subject->alignment_max = alignment_max;
  return subject;
}

struct Kind {
  const char* name;
  std::unique_ptr<Subject> (*make)();
  bool is_for_threads = false;
  // Refuses the n-th chunk and all later ones (0: none); null where it asks nobody for memory.
  std::unique_ptr<Subject> (*make_failing)(std::size_t n) = nullptr;
};

// Those over C interfaces, over macros, and over C++ classes.
std::vector<Kind> kinds_in_c();
std::vector<Kind> kinds_at_compile_time();
std::vector<Kind> kinds_in_cpp();

inline std::vector<Kind> all_kinds() {
  std::vector<Kind> all = kinds_in_c();
  for (const auto kinds : {kinds_at_compile_time, kinds_in_cpp}) {
    for (const Kind& kind : kinds()) all.push_back(kind);
  }
  return all;
}

}  // namespace tables
