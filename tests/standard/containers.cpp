// containers: every container of the standard over tarn's allocators: what they hold, where it
// lies, who goes along when they are copied, moved and swapped, and that all of it goes back. No
// test framework, so that it is compiled with either standard library.
//
// SPDX-License-Identifier: MIT
#include "tarn/standard/containers.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <scoped_allocator>
#include <stdexcept>
#include <type_traits>

#include "check.h"
#include "tarn/arena/arena.hpp"
#include "tarn/heap/tlsf.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/static_heap.hpp"
#include "tarn/source/adaptors.hpp"

namespace {

using tarn::Allocator;
using tarn::Heap;
using tarn::HeapRef;

static_assert(tarn::BlockAllocator<HeapRef> && tarn::BlockAllocator<Heap>);
static_assert(!std::is_default_constructible_v<Allocator<int>>);
static_assert(sizeof(Allocator<int, tarn::Pool>) == sizeof(void*));
static_assert(std::is_convertible_v<Heap&, Allocator<int>>);
static_assert(std::is_convertible_v<HeapRef, Allocator<int>>);
static_assert(std::is_convertible_v<const HeapRef, Allocator<int>>);
static_assert(std::is_convertible_v<tarn_heap, Allocator<int>>);
static_assert(std::is_same_v<tarn::RefOf<const tarn_heap&>, HeapRef>);
static_assert(!std::is_constructible_v<Allocator<int>, const Heap>);
static_assert(!std::is_constructible_v<Allocator<int>, Heap>, "it would end before the container");
static_assert(!std::is_constructible_v<Allocator<int, tarn::Pool>, tarn::Pool>);
static_assert(!std::is_constructible_v<Allocator<int, tarn::ArenaRef>, tarn::Arena>);
static_assert(std::is_convertible_v<tarn::Arena&, Allocator<int, tarn::ArenaRef>>);
static_assert(std::is_nothrow_move_constructible_v<tarn::Vector<int>>);
static_assert(std::is_nothrow_move_assignable_v<tarn::Vector<int>>);

// An element that notices when it is not constructed, not destroyed, or where it should not be.
struct Counted {
  static inline long live = 0;
  int value = 0;
  Counted(int v = 0) : value(v) { ++live; }
  Counted(const Counted& other) : value(other.value) { ++live; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --live; }
  friend bool operator<(const Counted& a, const Counted& b) { return a.value < b.value; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.value == b.value; }
};
struct Hash {
  std::size_t operator()(const Counted& c) const { return static_cast<std::size_t>(c.value) % 37; }
};

template <class Container>
void add(Container& c, int value) {
  if constexpr (requires { c.push_back(Counted(value)); }) {
    c.push_back(Counted(value));
  } else if constexpr (requires { typename Container::mapped_type; }) {
    c.emplace(Counted(value), value);
  } else {
    c.emplace(value);
  }
}

template <class Container>
long count(const Container& c) {
  return std::distance(c.begin(), c.end());
}

// Fills, copies, moves and swaps a container of each of two places.
template <class Container, class Place>
void use(Place& one, Place& other) {
  constexpr int elements = 300;
  {
    Container a(one);
    for (int i = 0; i < elements; ++i) add(a, i);
    CHECK(count(a) == elements);
    Container copy(a);
    CHECK(copy == a && copy.get_allocator() == a.get_allocator());
    Container far(other);
    CHECK(!(far.get_allocator() == a.get_allocator()));
    far = a;  // Keeps its own memory.
    CHECK(far == a && !(far.get_allocator() == a.get_allocator()));
    far = std::move(copy);  // Takes the other's.
    CHECK(far == a && far.get_allocator() == a.get_allocator());
    Container small(other);
    add(small, 7);
    std::swap(small, far);
    CHECK(count(far) == 1 && count(small) == elements);
    CHECK(small.get_allocator() == a.get_allocator());
    Container moved(std::move(small), typename Container::allocator_type(other));
    CHECK(moved == a && !(moved.get_allocator() == a.get_allocator()));
    moved.erase(moved.begin());
    CHECK(count(moved) == elements - 1);
    moved.clear();
  }
  CHECK(Counted::live == 0);
}

template <class Container, class Place>
void use_forward(Place& one, Place& other) {
  {
    Container a(one);
    for (int i = 0; i < 300; ++i) a.push_front(Counted(i));
    Container far(other);
    far = a;
    CHECK(far == a && !(far.get_allocator() == a.get_allocator()));
    far = std::move(a);
    CHECK(count(far) == 300);
    far.remove(Counted(7));
    far.sort();
    CHECK(count(far) == 299 && far.front().value == 0);
  }
  CHECK(Counted::live == 0);
}

template <class A, class Place>
void use_all(Place& one, Place& other) {
  use<tarn::Vector<Counted, A>>(one, other);
  use<tarn::Deque<Counted, A>>(one, other);
  use<tarn::List<Counted, A>>(one, other);
  use_forward<tarn::ForwardList<Counted, A>>(one, other);
  use<tarn::Set<Counted, A>>(one, other);
  use<tarn::MultiSet<Counted, A>>(one, other);
  use<tarn::Map<Counted, int, A>>(one, other);
  use<tarn::MultiMap<Counted, int, A>>(one, other);
  use<tarn::UnorderedSet<Counted, A, Hash>>(one, other);
  use<tarn::UnorderedMultiSet<Counted, A, Hash>>(one, other);
  use<tarn::UnorderedMap<Counted, int, A, Hash>>(one, other);
  use<tarn::UnorderedMultiMap<Counted, int, A, Hash>>(one, other);
  tarn::String<A> text("a text that is too long to lie in the string itself, in any library", one);
  text += text;
  const tarn::String<A> copy(text, other);
  CHECK(copy == text);
  tarn::WideString<A> wide(300, L'w', one);
  CHECK(wide.size() == 300);
}

void heaps() {
  Heap one("one");
  Heap other("other");
  use_all<HeapRef>(one, other);
  CHECK(one.stats().live_blocks == 0 && other.stats().live_blocks == 0);
  CHECK(one.check() && other.check());

  // Where blocks lie; and that a checked heap sees the sizes that it was asked for.
  tarn::Vector<int> numbers(one);
  numbers.assign(1000, 7);
  CHECK(one.owns(numbers.data()) && !other.owns(numbers.data()));
  tarn::HeapOptions options;
  options.mode = tarn::Mode::checked;
  options.name = "checked";
  Heap checked(options);
  Heap also(options);
  use_all<HeapRef>(checked, also);
  CHECK(checked.stats().live_blocks == 0);

  // A handle by value, temporary or in C.
  tarn::List<int> list(HeapRef::main());
  list.push_back(1);
  CHECK(HeapRef::of(&list.front()) == HeapRef::main() || HeapRef::of(&list.front()) == HeapRef());
  tarn::List<int> of_c(one.get());
  of_c.push_back(2);
  CHECK(of_c.get_allocator().allocator() == one);
}

void others() {
  {
    tarn::Arena one;
    tarn::Arena other;
    use_all<tarn::ArenaRef>(one, other);
  }
  {
    tarn::TlsfHeap one;
    tarn::TlsfHeap other;
    std::unique_ptr<char[]> memory(new char[2 << 20]);
    CHECK(one.add_region(memory.get(), 1 << 20));
    CHECK(other.add_region(memory.get() + (1 << 20), 1 << 20));
    use_all<tarn::TlsfHeap>(one, other);
    CHECK(one.stats().blocks == 0 && one.check());
  }
  {
    tarn::Counted<tarn::Arena> one;
    tarn::Counted<tarn::Arena> other;
    use_all<tarn::Counted<tarn::Arena>>(one, other);
    CHECK(one.counts().live == 0 && one.counts().bytes == 0 && one.counts().taken > 1000);
  }
  {  // Blocks of one size: the containers whose nodes fit.
    tarn::Pool one(64);
    tarn::Pool other(64);
    use<tarn::List<Counted, tarn::Pool>>(one, other);
    use<tarn::Set<Counted, tarn::Pool>>(one, other);
    use_forward<tarn::ForwardList<Counted, tarn::Pool>>(one, other);
    CHECK(one.stats().live_blocks == 0 && one.check());
    tarn::Vector<char, tarn::Pool> small(one);
    small.reserve(64);
    try {
      small.reserve(65);
      CHECK(false);
    } catch (const std::bad_alloc&) {
      CHECK(small.capacity() == 64);
    }
  }
}

tarn::StaticPool<64, 700> static_nodes;
tarn::StaticHeap<tarn::Class<64, 800>, tarn::Class<16384, 4>> static_heap;

template <class T>
using OfPool = tarn::StaticAllocator<T, static_nodes>;
template <class T>
using OfHeap = tarn::StaticAllocator<T, static_heap>;

// Before main and after it.
std::list<int, OfPool<int>> from_the_start = {1, 2, 3};

void stateless() {
  static_assert(std::is_empty_v<OfPool<int>>);
  static_assert(std::allocator_traits<OfPool<int>>::is_always_equal::value);
  static_assert(sizeof(std::list<int, OfPool<int>>) == sizeof(std::list<int>));
  CHECK(static_nodes.stats().in_use == 3 && from_the_start.back() == 3);
  {
    std::list<Counted, OfPool<Counted>> list;
    for (int i = 0; i < 300; ++i) list.emplace_back(i);
    std::map<int, int, std::less<>, OfPool<std::pair<const int, int>>> map;
    for (int i = 0; i < 300; ++i) map.emplace(i, i);
    CHECK(static_nodes.owns(&list.front()) && static_nodes.stats().in_use == 603);
    const auto copy = map;
    CHECK(map.size() != 300);  // There is no room for a copy.
  }
}

void stateless_is_strict() {
  try {
    stateless();
  } catch (const std::bad_alloc&) {
  }
  CHECK(static_nodes.stats().in_use == 3 && Counted::live == 0);
  std::unordered_map<int, int, std::hash<int>, std::equal_to<>, OfHeap<std::pair<const int, int>>>
      map;
  for (int i = 0; i < 700; ++i) map[i] = i;
  CHECK(map.size() == 700 && map[699] == 699);
}

void sizes() {
  Heap heap("sizes");
  Allocator<std::uint64_t> allocator(heap);
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 8 + 1, std::size_t{PTRDIFF_MAX} / 8 + 1}) {
    try {
      (void)allocator.allocate(count);
      CHECK(false);
    } catch (const std::bad_array_new_length&) {
    }
  }
  try {
    (void)allocator.allocate(PTRDIFF_MAX / 8);
    CHECK(false);
  } catch (const std::bad_array_new_length&) {
    CHECK(false);
  } catch (const std::bad_alloc&) {
  }
  allocator.deallocate(allocator.allocate(0), 0);
  CHECK(allocator.max_size() == PTRDIFF_MAX / 8);

  const auto got = allocator.allocate_at_least(1000);
  CHECK(got.count >= 1000 && got.count == HeapRef::usable_bytes(got.ptr) / 8);
  for (std::size_t i = 0; i < got.count; ++i) got.ptr[i] = i;
  allocator.deallocate(got.ptr, got.count);
  tarn::Arena arena;
  Allocator<int, tarn::ArenaRef> in_arena(arena);
  const auto exact = in_arena.allocate_at_least(10);
  CHECK(exact.count == 10);

  struct alignas(256) Wide {
    char c[256];
  };
  tarn::Vector<Wide> wide(heap);
  for (int i = 0; i < 20; ++i) {
    wide.push_back({});
    CHECK(reinterpret_cast<std::uintptr_t>(wide.data()) % 256 == 0);
  }
  CHECK(heap.stats().live_blocks == 1);
  Heap young("young");  // Its first blocks lie close.
  Allocator<Wide> of_wide(young);
  for (int i = 0; i < 4; ++i) {
    (void)!young.allocate(16);
    const Wide* const one = of_wide.allocate(1);
    CHECK(reinterpret_cast<std::uintptr_t>(one) % 256 == 0);
  }
}

// The three rules of propagation, on one container.
template <class Propagation>
using Ints = std::vector<int, Allocator<int, HeapRef, Propagation>>;

template <class Propagation>
void propagate(bool copies, bool moves) {
  Heap one("one");
  Heap other("other");
  Ints<Propagation> a({1, 2, 3}, one);
  const int* const data = a.data();
  Ints<Propagation> b({9}, other);
  b = a;
  CHECK(one.owns(b.data()) == copies && b.size() == 3);
  Ints<Propagation> c({9}, other);
  c = std::move(a);
  CHECK(one.owns(c.data()) == moves && (c.data() == data) == moves && c.size() == 3);
  const Ints<Propagation> d(c);
  CHECK(d.get_allocator() == c.get_allocator());
}

// Heaps for elements, too: the inner strings lie where the outer vector does.
void scoped() {
  Heap heap("scoped");
  using Inner = tarn::String<>;
  using Outer = std::scoped_allocator_adaptor<Allocator<Inner>>;
  std::vector<Inner, Outer> texts{Allocator<Inner>(heap)};
  for (int i = 0; i < 20; ++i) texts.emplace_back("too long to lie in the string, in any library");
  for (const Inner& text : texts) CHECK(heap.owns(text.data()));
  CHECK(heap.stats().live_blocks == 21);
}

// A failing allocation leaves the container as it was, at each step.
void failures() {
  for (std::uint64_t n = 1;; ++n) {
    tarn::Failing<tarn::Arena> arena;
    tarn::Map<int, Counted, tarn::Failing<tarn::Arena>> map(arena);
    int done = 0;
    arena.fail_at(n);
    try {
      for (; done < 20; ++done) map.emplace(done, done);
    } catch (const std::bad_alloc&) {
    }
    CHECK(static_cast<int>(map.size()) == done);
    if (done == 20) break;
    map.emplace(done, done);
    CHECK(static_cast<int>(map.size()) == done + 1);
  }
  CHECK(Counted::live == 0);
}

}  // namespace

int main() {
  heaps();
  others();
  stateless_is_strict();
  sizes();
  propagate<tarn::PropagateMoves>(false, true);
  propagate<tarn::PropagateAll>(true, true);
  propagate<tarn::PropagateNone>(false, false);
  scoped();
  failures();
  return 0;
}
