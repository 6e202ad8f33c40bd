// scope: the heap that serves a thread's malloc in place of malloc's own. malloc's hit path asks
// nothing: while there is one, it reads from a view in which no class has a page, so that each call
// comes to the slow path, which looks here.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// The heap that the thread's malloc is to serve from. pre: in_scope()
extern TARN_INITIAL_EXEC __thread tarn_heap scoped_heap;

// True while the thread's malloc is to serve from another heap than malloc's own.
inline bool in_scope() noexcept { return current_heap == &empty_view; }

// malloc's own heap serves the thread while this lives. Callbacks of the program that run meanwhile
// may choose a heap of their own, and go back to malloc's: the scope is afterwards what it was.
class OutOfScope {
 public:
  OutOfScope() noexcept : was_in_scope_(in_scope()) {
    if (!was_in_scope_) return;
    scope_ = scoped_heap;
    current_heap = &current_thread->heap;
  }
  ~OutOfScope() {
    if (!was_in_scope_) return;
    scoped_heap = scope_;
    current_heap = &empty_view;
  }
  OutOfScope(const OutOfScope&) = delete;
  OutOfScope& operator=(const OutOfScope&) = delete;

 private:
  bool was_in_scope_;
  tarn_heap scope_;  // If it was in one.
};

}  // namespace tarn
