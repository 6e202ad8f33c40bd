// offset_containers: the standard's containers in memory that is seen at two addresses, and by two
// processes: those of either library that keep the allocator's pointers. No test framework, so that
// it is compiled with either library.
//
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include "check.h"
#include "tarn/pool/static_heap.hpp"
#include "tarn/standard/offset_allocator.hpp"

#if defined(_LIBCPP_VERSION)
#include <forward_list>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#endif

namespace {

using Blocks = tarn::BasicStaticHeap<tarn::LockFree, tarn::Spill::larger, tarn::Class<64, 4000>,
                                     tarn::Class<4096, 40>, tarn::Class<65536, 8>>;
template <class T>
using Offset = tarn::OffsetAllocator<T, Blocks>;

struct Shared {
  Blocks blocks;
  std::vector<int, Offset<int>> vector{blocks};
  std::deque<int, Offset<int>> deque{Offset<int>(blocks)};
#if defined(_LIBCPP_VERSION)
  std::vector<bool, Offset<bool>> bits{Offset<bool>(blocks)};
  std::list<int, Offset<int>> list{Offset<int>(blocks)};
  std::forward_list<int, Offset<int>> forward{Offset<int>(blocks)};
  std::set<int, std::less<>, Offset<int>> set{Offset<int>(blocks)};
  std::map<int, int, std::less<>, Offset<std::pair<const int, int>>> map{Offset<int>(blocks)};
  std::unordered_map<int, int, std::hash<int>, std::equal_to<>, Offset<std::pair<const int, int>>>
      hashed{Offset<int>(blocks)};
#endif

  void add(int from, int to) {
    for (int i = from; i < to; ++i) {
      vector.push_back(i);
      deque.push_back(i);
#if defined(_LIBCPP_VERSION)
      bits.push_back(i % 3 == 0);
      list.push_back(i);
      forward.push_front(i);
      set.insert(i);
      map[i] = i;
      hashed[i] = i;
#endif
    }
  }

  // What moves elements, blocks and nodes, and leaves all as it was.
  void stir() {
    std::reverse(vector.begin(), vector.end());
    std::sort(vector.begin(), vector.end());
    vector.shrink_to_fit();
    deque.push_front(-1);
    deque.pop_front();
#if defined(_LIBCPP_VERSION)
    list.reverse();
    list.sort();
    forward.reverse();
    forward.reverse();
    set.erase(5);
    set.insert(5);
    map.insert(map.extract(7));
    hashed.rehash(2000);
    hashed.erase(9);
    hashed[9] = 9;
#endif
  }

  template <class Container>
  static bool counts_up(const Container& c, int count) {
    int next = 0;
    for (const int each : c) {
      if (each != next++) return false;
    }
    return next == count;
  }
  void check(int count) const {
    CHECK(counts_up(vector, count));
    for (int i = 0; i < count; ++i) CHECK(deque[static_cast<std::size_t>(i)] == i);
#if defined(_LIBCPP_VERSION)
    CHECK(counts_up(list, count));
    CHECK(counts_up(set, count));
    int next = count;
    for (const int each : forward) CHECK(each == --next);
    CHECK(next == 0);
    for (int i = 0; i < count; ++i) {
      CHECK(bits[static_cast<std::size_t>(i)] == (i % 3 == 0));
      CHECK(map.at(i) == i && hashed.at(i) == i);
    }
#endif
  }
};

void* map_view(int file) {
  void* const view = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(view != MAP_FAILED);
  return view;
}

}  // namespace

int main() {
  const int file = ::memfd_create("offset_containers", MFD_CLOEXEC);
  CHECK(file >= 0 && ::ftruncate(file, sizeof(Shared)) == 0);
  auto* const one = ::new (map_view(file)) Shared;
  auto* const other = static_cast<Shared*>(map_view(file));
  one->add(0, 100);
  other->check(100);
  other->add(100, 300);
  one->check(300);

  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    ::munmap(one, sizeof(Shared));
    other->check(300);
    other->add(300, 400);
    other->stir();
    other->check(400);
    ::_exit(0);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child && status == 0);
  one->check(400);
  one->stir();
  other->check(400);
  one->~Shared();
  CHECK(other->blocks.check());
  return 0;
}
