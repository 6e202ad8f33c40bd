// no_exceptions: class-level new where there are none gives null, and makes nothing there;
// containers and memory resources, which expect no null, end the program.
//
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory_resource>

#include "../support/child.hpp"
#include "check.h"
#include "tarn/standard/checking_resource.hpp"
#include "tarn/standard/class_new.hpp"
#include "tarn/standard/containers.hpp"
#include "tarn/standard/pmr.hpp"

namespace {

struct Large {
  TARN_CLASS_NEW(tarn::ClassHeap<Large>)
  Large() { bytes[0] = 1; }
  ~Large() { bytes[0] = 0; }
  char bytes[100000];
};
struct alignas(64) Wide : tarn::ClassNew<Wide> {
  Wide() { bytes[0] = 1; }
  char bytes[1 << 17];
};

// Whether it is ended by a signal, and not by an access to memory that is none.
template <class What>
bool traps(What what) {
  const int status = support::status_of_child(what);
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
}

}  // namespace

int main() {
  tarn::HeapOptions options;
  options.ceiling_bytes = 65536;
  tarn::Heap heap(options);
  tarn::ClassHeap<Large>::use(heap);
  tarn::ClassHeap<Wide>::use(heap);
  CHECK(new Large == nullptr);
  CHECK(new Large[2] == nullptr);
  CHECK(new (heap) Large == nullptr);
  CHECK(new (heap) Wide == nullptr);
  CHECK(new Wide == nullptr);
  CHECK(new Wide[2] == nullptr);
  CHECK(traps([&] { tarn::Vector<char>(heap).reserve(100000); }));
  CHECK(traps([&] {
    tarn::Resource<> resource(heap);
    tarn::CheckingResource checked(&resource);
    std::pmr::vector<char>(&checked).reserve(100000);
  }));
  CHECK(heap.set_ceiling(0));
  const Large* const large = new Large;
  CHECK(large != nullptr && large->bytes[0] == 1);
  delete large;
  return 0;
}
