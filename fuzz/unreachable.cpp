// unreachable: blocks of heaps of all kinds, nodes of trees, pools and arenas whose chunks are
// blocks, and words in them and in registered memory that lead to them, beside a model that knows
// each word. What a search lists is what the model cannot reach, with the right sizes.
//
// The program's own memory has complements of addresses only, and what a step has left on the stack
// is wiped (apart.hpp); the search is strict, so it looks at nothing else.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "input.hpp"
#include "tarn/arena/arena.h"
#include "tarn/detail/watch.h"
#include "tarn/diagnose/unreachable.hpp"
#include "tarn/pool/pool.h"
#include "tarn/tarn.h"
#include "tarn/tree/tree.h"
#include "unreachable_objects.hpp"

namespace tarn::fuzz {

namespace {

class Program {
 public:
  Program();
  void step(Input& input);
  void search();
  void finish();

 private:
  Id add(const Object& object);
  Id any(Input& input, Kind kind);
  tarn_heap some_heap(Input& input) { return heaps_[input.below(heaps_.size())]; }

  void allocate(Input& input);
  void allocate_node(Input& input);
  void make_room(Input& input, Kind kind);
  void allocate_cell(Input& input);
  void link(Input& input);
  void unlink(Input& input);
  void reallocate(Input& input);
  void free_one(Input& input);
  void steal(Input& input);
  void toggle();
  void free_object(Id id);

  std::uintptr_t* word_of(const Edge& edge);
  void set_word(Edge edge, std::size_t offset);
  template <class Which>
  void cut(Which which);
  void forget(Id id);
  bool is_below(Id node, Id above) const;

  std::vector<bool> reached() const;
  std::vector<std::vector<Id>> neighbours() const;
  void compare(const std::vector<Listed>& listed, const std::vector<bool>& reached);
  void compare_room(const std::vector<Listed>& listed, Id id, bool is_reached);
  void compare_direct(const std::vector<Listed>& listed, const std::vector<bool>& reached);

  std::vector<Object> objects_;
  std::vector<Edge> edges_;
  std::vector<tarn_heap> heaps_;
  bool second_is_root_ = false;
};

Program::Program() {
  static const std::array<Hidden, 2> regions{make_region(), make_region()};
  for (const Hidden p : regions) {
    Object object;
    object.kind = Kind::region;
    object.p = p;
    object.bytes = region_bytes;
    std::memset(p.get(), 0, region_bytes);
    objects_.push_back(object);
  }
  TARN_REQUIRE(tarn_add_root(regions[0].get(), region_bytes) == 0);
  heaps_.push_back(tarn_heap_main());
  for (const int mode : {TARN_MODE_FAST, TARN_MODE_CHECKED, TARN_MODE_GUARDED}) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.mode = mode;
    options.threads = heaps_.size() == 1 ? TARN_HEAP_SERIALISED : TARN_HEAP_SHARED;
    heaps_.push_back(tarn_heap_create(&options));
    TARN_REQUIRE(heaps_.back().record != nullptr);
  }
}

Id Program::add(const Object& object) {
  for (Id id = 0; id < objects_.size(); ++id) {
    if (objects_[id].kind != Kind::gone) continue;
    objects_[id] = object;
    return id;
  }
  objects_.push_back(object);
  return objects_.size() - 1;
}

// Of the kind, or of any with `gone`; none when there is none.
Id Program::any(Input& input, Kind kind) {
  std::vector<Id> found;
  for (Id id = 0; id < objects_.size(); ++id) {
    const Kind has = objects_[id].kind;
    if (kind == Kind::gone ? has != Kind::gone : has == kind) found.push_back(id);
  }
  return found.empty() ? none : found[input.below(found.size())];
}

void Program::allocate(Input& input) {
  const std::uint8_t how = input.byte();
  Object object;
  object.kind = Kind::block;
  object.bytes = 32 + (how % 64 == 0  ? 60'000 + input.below(200'000)
                       : how % 8 == 0 ? input.below(9'000)
                                      : input.below(250));
  void* const p = tarn_heap_allocate(some_heap(input), object.bytes);
  TARN_REQUIRE(p != nullptr);
  std::memset(p, 0, tarn_malloc_usable_size(p));
  object.p = Hidden(p);
  add(object);
}

void Program::allocate_node(Input& input) {
  Object object;
  object.kind = Kind::node;
  object.bytes = 8 + input.below(200);
  object.parent = input.byte() % 4 == 0 ? none : any(input, Kind::node);
  void* const parent = object.parent == none ? nullptr : objects_[object.parent].p.get();
  void* const p = tarn_tree_allocate(parent, object.bytes);
  TARN_REQUIRE(p != nullptr);
  std::memset(p, 0, tarn_tree_size(p));
  object.p = Hidden(p);
  add(object);
}

// The pool itself lies in a block, and is reached as that is; but for one that a tool watches,
// which is in a list of the library's.
void Program::make_room(Input& input, Kind kind) {
  if (TARN_WATCH) return;
  const auto free_one =
      std::find_if(rooms.begin(), rooms.end(), [](const Room& room) { return !room.is_used; });
  if (free_one == rooms.end()) return;
  Room& room = *free_one;
  room.is_used = true;
  room.heap = tarn_heap_create(nullptr);
  TARN_REQUIRE(room.heap.record != nullptr);
  room.source = {};
  room.source.bytes = sizeof room.source;
  room.source.acquire = acquire;
  room.source.release = release;
  room.source.context = &room;
  Object object;
  object.kind = kind;
  object.bytes = std::max(sizeof(tarn_pool), sizeof(tarn_arena));
  object.room = static_cast<std::size_t>(free_one - rooms.begin());
  void* const p = tarn_heap_allocate(some_heap(input), object.bytes);
  TARN_REQUIRE(p != nullptr);
  std::memset(p, 0, tarn_malloc_usable_size(p));
  object.p = Hidden(p);
  if (kind == Kind::pool) {
    tarn_pool_options options = TARN_POOL_OPTIONS();
    options.block_bytes = cell_bytes;
    options.source = &room.source;
    TARN_REQUIRE(tarn_pool_init(static_cast<tarn_pool*>(p), &options) == 0);
  } else {
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.source = &room.source;
    TARN_REQUIRE(tarn_arena_init(static_cast<tarn_arena*>(p), &options) == 0);
  }
  add(object);
}

void Program::allocate_cell(Input& input) {
  const Id id = any(input, input.byte() % 2 == 0 ? Kind::pool : Kind::arena);
  if (id == none) return;
  Object& room = objects_[id];
  void* const p = room.kind == Kind::pool
                      ? tarn_pool_allocate(room.p.get<tarn_pool>())
                      : tarn_arena_allocate(room.p.get<tarn_arena>(), cell_bytes);
  TARN_REQUIRE(p != nullptr);
  std::memset(p, 0, cell_bytes);
  room.cells.push_back(Hidden(p));
}

std::uintptr_t* Program::word_of(const Edge& edge) {
  const Object& from = objects_[edge.from];
  const Hidden start = edge.cell == no_cell ? from.p : from.cells[edge.cell];
  return start.get<std::uintptr_t>() + edge.word;
}

template <class Which>
void Program::cut(Which which) {
  for (std::size_t i = 0; i < edges_.size();) {
    if (!which(edges_[i])) {
      ++i;
      continue;
    }
    *static_cast<volatile std::uintptr_t*>(word_of(edges_[i])) = 0;
    edges_[i] = edges_.back();
    edges_.pop_back();
  }
}

void Program::forget(Id id) {
  cut([id](const Edge& edge) { return edge.from == id || edge.to == id; });
}

void Program::set_word(Edge edge, std::size_t offset) {
  cut([&edge](const Edge& e) {
    return e.from == edge.from && e.cell == edge.cell && e.word == edge.word;
  });
  *static_cast<volatile std::uintptr_t*>(word_of(edge)) =
      reinterpret_cast<std::uintptr_t>(objects_[edge.to].p.get()) + offset;
  edges_.push_back(edge);
}

// Pools and arenas have words of their own: theirs are in what they hand out.
void Program::link(Input& input) {
  const bool from_root = input.byte() % 4 == 0;
  const Id from = from_root ? input.below(2) : any(input, Kind::gone);
  const Id to = any(input, Kind::gone);
  const Object& source = objects_[from];
  if (objects_[to].kind == Kind::region) return;
  Edge edge{from, no_cell, 0, to};
  std::size_t bytes = source.bytes;
  if (source.kind == Kind::pool || source.kind == Kind::arena) {
    if (source.cells.empty()) return;
    edge.cell = input.below(source.cells.size());
    bytes = cell_bytes;
  }
  edge.word = input.below(bytes / sizeof(std::uintptr_t));
  set_word(edge, input.byte() % 3 == 0 ? input.below(objects_[to].bytes) : 0);
}

void Program::unlink(Input& input) {
  if (edges_.empty()) return;
  const Edge gone = edges_[input.below(edges_.size())];
  cut([&gone](const Edge& e) {
    return e.from == gone.from && e.cell == gone.cell && e.word == gone.word;
  });
}

void Program::reallocate(Input& input) {
  const Id id = any(input, Kind::block);
  if (id == none) return;
  const std::size_t bytes =
      32 + (input.byte() % 16 == 0 ? input.below(300'000) : input.below(2'000));
  cut([id, bytes](const Edge& edge) {
    return edge.to == id || (edge.from == id && (edge.word + 1) * sizeof(std::uintptr_t) > bytes);
  });
  const std::size_t before = objects_[id].bytes;
  auto* const p = static_cast<char*>(tarn_realloc(objects_[id].p.get(), bytes));
  TARN_REQUIRE(p != nullptr);
  const std::size_t usable = tarn_malloc_usable_size(p);
  const std::size_t kept = before < bytes ? before : bytes;
  std::memset(p + kept, 0, usable - kept);
  objects_[id].p = Hidden(p);
  objects_[id].bytes = bytes;
}

bool Program::is_below(Id node, Id above) const {
  for (; node != none; node = objects_[node].parent) {
    if (node == above) return true;
  }
  return false;
}

void Program::steal(Input& input) {
  const Id node = any(input, Kind::node);
  const Id parent = any(input, Kind::node);
  if (node == none || is_below(parent, node)) return;
  const bool as_root = input.byte() % 8 == 0;
  void* const to = as_root ? nullptr : objects_[parent].p.get();
  TARN_REQUIRE(tarn_tree_steal(to, objects_[node].p.get()) == 0);
  objects_[node].parent = as_root ? none : parent;
}

void Program::toggle() {
  void* const second = objects_[1].p.get();
  TARN_REQUIRE((second_is_root_ ? tarn_remove_root(second) : tarn_add_root(second, region_bytes)) ==
               0);
  second_is_root_ = !second_is_root_;
}

void Program::free_object(Id id) {
  Object& object = objects_[id];
  if (object.kind == Kind::node) {
    std::vector<Id> all;
    for (Id other = 0; other < objects_.size(); ++other) {
      if (objects_[other].kind == Kind::node && is_below(other, id)) all.push_back(other);
    }
    for (const Id other : all) forget(other);
    TARN_REQUIRE(tarn_tree_dispose(object.p.get()) == 0);
    for (const Id other : all) objects_[other] = {};
    return;
  }
  forget(id);
  if (object.kind == Kind::pool) tarn_pool_destroy(object.p.get<tarn_pool>());
  if (object.kind == Kind::arena) tarn_arena_destroy(object.p.get<tarn_arena>());
  if (object.kind != Kind::block) {
    Room& room = rooms[object.room];
    tarn_heap_destroy(room.heap);
    room.is_used = false;
  }
  tarn_free(object.p.get());
  object = {};
}

void Program::free_one(Input& input) {
  const Id id = any(input, Kind::gone);
  if (objects_[id].kind != Kind::region) free_object(id);
}

void Program::step(Input& input) {
  const bool is_full = objects_.size() >= objects_max;
  switch (input.below(16)) {
    case 0:
    case 1:
    case 2: is_full ? free_one(input) : allocate(input); break;
    case 3:
    case 4: is_full ? free_one(input) : allocate_node(input); break;
    case 5: make_room(input, input.byte() % 2 == 0 ? Kind::pool : Kind::arena); break;
    case 6: allocate_cell(input); break;
    case 7: free_one(input); break;
    case 8: unlink(input); break;
    case 9: reallocate(input); break;
    case 10: steal(input); break;
    case 11: toggle(); break;
    default: link(input);
  }
}

void Program::finish() {
  for (Id id = 2; id < objects_.size(); ++id) {
    if (objects_[id].kind != Kind::gone) free_object(id);
  }
  if (second_is_root_) toggle();
  TARN_REQUIRE(tarn_remove_root(objects_[0].p.get()) == 0);
  for (const tarn_heap heap : heaps_) {
    if (heap.id != tarn_heap_main().id) tarn_heap_destroy(heap);
  }
}

// What each leads to: nodes to their parents and children, too.
std::vector<std::vector<Id>> Program::neighbours() const {
  std::vector<std::vector<Id>> next(objects_.size());
  for (const Edge& edge : edges_) next[edge.from].push_back(edge.to);
  for (Id id = 0; id < objects_.size(); ++id) {
    if (objects_[id].parent == none) continue;
    next[id].push_back(objects_[id].parent);
    next[objects_[id].parent].push_back(id);
  }
  return next;
}

std::vector<bool> Program::reached() const {
  const std::vector<std::vector<Id>> next = neighbours();
  std::vector<bool> is_reached(objects_.size());
  std::vector<Id> left{0};
  if (second_is_root_) left.push_back(1);
  while (!left.empty()) {
    const Id id = left.back();
    left.pop_back();
    if (is_reached[id]) continue;
    is_reached[id] = true;
    left.insert(left.end(), next[id].begin(), next[id].end());
  }
  return is_reached;
}

const Listed* find(const std::vector<Listed>& listed, Hidden start) {
  for (const Listed& block : listed) {
    if (block.start == start) return &block;
  }
  return nullptr;
}

Hidden start_of(const Object& object) {
  const std::size_t before = object.kind == Kind::node ? header_bytes : 0;
  return Hidden(object.p.get<char>() - before);
}

// All of its chunks, or none.
void Program::compare_room(const std::vector<Listed>& listed, Id id, bool is_reached) {
  const std::uint64_t heap = rooms[objects_[id].room].heap.id;
  const auto chunks = std::count_if(listed.begin(), listed.end(),
                                    [heap](const Listed& block) { return block.heap == heap; });
  TARN_REQUIRE(is_reached ? chunks == 0 : objects_[id].cells.empty() || chunks != 0);
}

void Program::compare(const std::vector<Listed>& listed, const std::vector<bool>& is_reached) {
  std::size_t expected = 0;
  for (Id id = 2; id < objects_.size(); ++id) {
    const Object& object = objects_[id];
    if (object.kind == Kind::gone) continue;
    const Listed* const found = find(listed, start_of(object));
    TARN_REQUIRE((found == nullptr) == is_reached[id]);
    TARN_REQUIRE(found == nullptr || found->bytes >= object.bytes);
    expected += found == nullptr ? 0 : 1;
    const bool is_room = object.kind == Kind::pool || object.kind == Kind::arena;
    if (is_room) compare_room(listed, id, is_reached[id]);
  }
  for (const Room& room : rooms) {
    if (!room.is_used) continue;
    expected += static_cast<std::size_t>(
        std::count_if(listed.begin(), listed.end(),
                      [&room](const Listed& block) { return block.heap == room.heap.id; }));
  }
  TARN_REQUIRE(listed.size() == expected);
}

// What nothing lost leads to is direct; what it leads to is not.
void Program::compare_direct(const std::vector<Listed>& listed,
                             const std::vector<bool>& is_reached) {
  const std::vector<std::vector<Id>> next = neighbours();
  std::vector<bool> is_led_to(objects_.size());
  const auto is_lost = [&](Id id) {
    return id >= 2 && objects_[id].kind != Kind::gone && !is_reached[id];
  };
  for (Id id = 2; id < objects_.size(); ++id) {
    if (!is_lost(id)) continue;
    for (const Id to : next[id]) {
      if (to != id) is_led_to[to] = true;
    }
  }
  for (Id id = 2; id < objects_.size(); ++id) {
    if (!is_lost(id) || is_led_to[id]) continue;
    TARN_REQUIRE(find(listed, start_of(objects_[id]))->is_direct);
    for (const Id to : next[id]) {
      if (to == id || !is_lost(to)) continue;
      TARN_REQUIRE(!find(listed, start_of(objects_[to]))->is_direct);
    }
  }
}

void Program::search() {
  std::vector<Listed> listed;
  const Unreachable found = UnreachableSearch().strict().find([&](const UnreachableBlock& block) {
    listed.push_back({Hidden(block.start), block.bytes, block.heap.id, block.is_direct != 0});
  });
  TARN_REQUIRE(found.ok() && found->blocks == listed.size());
  const std::vector<bool> is_reached = reached();
  compare(listed, is_reached);
  const bool has_rooms =
      std::any_of(rooms.begin(), rooms.end(), [](const Room& room) { return room.is_used; });
  if (!has_rooms) compare_direct(listed, is_reached);  // Chunks and pools may lead to each other.
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Program program;
  for (std::size_t steps = 1; input.has_step(); ++steps) {
    apart([&] { program.step(input); });
    if (steps % 32 == 0) apart([&] { program.search(); });
  }
  apart([&] { program.search(); });
  apart([&] { program.finish(); });
}

}  // namespace tarn::fuzz
