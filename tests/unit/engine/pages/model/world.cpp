// world: see world.hpp.
//
// SPDX-License-Identifier: MIT
#include "world.hpp"

#include <cstdint>
#include <utility>

#include "engine/upkeep/idle_purge.hpp"

namespace tarn {

using explorer::require;

namespace {

// What the program does with a block that it has: another thread must not, before it is freed.
void use(void* block) {
  auto* const word = static_cast<volatile std::uint64_t*>(block);
  *word = *word + 1;
}

unsigned times_in_mail(const Thread& thread, const Page& page) {
  unsigned times = 0;
  unsigned walked = 0;
  for (const Span* s = thread.mail.first(); s != nullptr; s = s->newer) {
    require(++walked < 16, "the mail is a circle");
    times += s == &page ? 1 : 0;
  }
  return times;
}

}  // namespace

void World::begin() {
  owner.emplace();
  a.emplace();
  if (std::exchange(has_b_, true)) b.emplace();
}

void World::fill() {
  const std::vector<void*> page = owner->fill_page(bytes_);
  blocks_.insert(blocks_.end(), page.begin(), page.end());
  for (void* const p : owner->take_extra()) spare_.push_back(p);
}

// The next block is another page's, or comes from a refill.
void World::use_up() {
  while (owner->current(bytes_)->free != nullptr) spare_.push_back(owner->allocate(bytes_));
}

void World::asleep() {
  begin();
  fill();
  use_up();
}

void World::two_asleep() {
  begin();
  fill();
  // The page that fill_page() had to begin has one block already.
  const Page* const next = owner->current(bytes_);
  while (owner->current(bytes_) == next) blocks_.push_back(owner->allocate(bytes_));
  use_up();  // A third page: the second one is asleep.
}

void World::current() {
  begin();
  blocks_.push_back(owner->allocate(bytes_));
  const std::uint32_t capacity = Actor::page_of(blocks_[0])->capacity;
  while (blocks_.size() < capacity) blocks_.push_back(owner->allocate(bytes_));
}

void World::begun() {
  begin();
  blocks_.push_back(owner->allocate(bytes_));
}

void World::queued() {
  asleep();
  const Page& page = *Actor::page_of(blocks_[0]);
  for (std::size_t i = 0; !page.queued; ++i) free(owner, i);
}

void World::orphaned() {
  queued();
  owner->end();
}

void World::mailed() {
  asleep();
  for (std::size_t i = 0; i < blocks_.size(); ++i) free(a, i);
}

void World::woken() {
  asleep();
  const Page& page = *Actor::page_of(blocks_[0]);
  for (std::size_t i = 1; state_of(&page) == RemoteState::listed; ++i) free(a, i);
}

void World::queued_mailed() {
  queued();
  for (std::size_t i = 0; i < blocks_.size(); ++i) free(a, i);
}

void World::free(std::optional<Actor>& actor, std::size_t block) {
  void* const p = std::exchange(blocks_[block], nullptr);
  if (p == nullptr) return;
  use(p);
  actor->free(p);
}

void World::free_chain(std::optional<Actor>& actor, std::size_t first) {
  actor->run([&] {
    for (const std::size_t block : {first, first + 1}) {
      void* const p = std::exchange(blocks_[block], nullptr);
      use(p);
      deallocate(p);
    }
    Busy busy(*current_thread);
    give_at_hand(*current_thread);
  });
}

void World::take(std::optional<Actor>& actor, std::size_t place) {
  taken_[place] = actor->allocate(bytes_);
  require(taken_[place] != nullptr, "there is no memory");
  use(taken_[place]);
}

void World::free_taken(std::optional<Actor>& actor, std::size_t place) {
  void* const p = std::exchange(taken_[place], nullptr);
  use(p);
  actor->free(p);
}

void World::pass(std::size_t place) {
  void* const before = passed_.exchange(std::exchange(taken_[place], nullptr));
  require(before == nullptr, "a block was passed to nobody");
}

void World::free_passed(std::optional<Actor>& actor) {
  void* const p = passed_.exchange(nullptr);
  if (p == nullptr) return;
  use(p);
  actor->free(p);
}

void World::trim(std::optional<Actor>& actor) {
  actor->run([] { tarn::trim(0); });
}

void World::purge(std::optional<Actor>& actor) {
  actor->run([] { idle_purge.purge(true); });
}

template <class Visit>
void World::for_each_block(Visit visit) const {
  for (void* const p : blocks_) {
    if (p != nullptr) visit(p);
  }
  for (void* const p : spare_) visit(p);
  for (void* const p : taken_) {
    if (p != nullptr) visit(p);
  }
  if (void* const p = passed_.load()) visit(p);
}

std::uint32_t World::live_blocks(const Page& page) const {
  std::uint32_t live = 0;
  for_each_block([&](void* p) { live += Actor::page_of(p) == &page ? 1 : 0; });
  return live;
}

// Whatever has been freed is found: by the owner's next look, or by its mail.
void World::check_page(const Page& page, const Thread& thread) const {
  const Remote word{page.remote.load()};
  const RemoteState state = word.state();
  const bool is_orphans = thread.state.load() == ThreadState::orphan;
  require(thread_of(page) == &thread, "the owner is another one");
  require(page_check(&page), "the lists of a page are wrong");
  require(state != RemoteState::dead, "a page in use is dead");
  require(state != RemoteState::purging, "a page is purged for ever");
  require(page.live() == live_blocks(page) + word.count(), "a page counts its live blocks wrong");
  require(is_in_mail(state) == (times_in_mail(thread, page) == 1),
          "the word and the mail disagree");
  if (state == RemoteState::purged) {
    return require(live_blocks(page) == 0, "a block of a purged page is live");
  }
  if (state == RemoteState::listed) {
    require(word.count() < word.threshold(), "frees that should have been posted");
    require(!is_orphans || live_blocks(page) != 0, "an empty page of an ended thread, untold");
  }
  if (thread.heap.current[page.size_class] == &page) {
    require(page.kept == -1 && state != RemoteState::listed, "a current page is listed");
    require(state == RemoteState::open || state == RemoteState::mailed_open,
            "a current page does not say so");
    return;
  }
  require(state != RemoteState::mailed_open, "a page that is not current says that it is");
  require(state != RemoteState::open, "frees of a page that is not current are never posted");
  if (page.queued) {
    require(page.kept == 0, "a queued page is asleep");
    return;
  }
  require(page.kept > 0 && page.countdown > 0, "a page that sleeps will not wake");
  require(page.free == nullptr, "a page sleeps on blocks for malloc");
}

void World::check() const {
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    require(thread_heap_check(t->heap) && cache_check(*t), "a thread's heap is unsound");
    const bool is_live = t->state.load() == ThreadState::live;
    require(is_live || t->mail.first() == nullptr, "mail that nobody will read");
    for (const Span* s = t->heap.pages.head(); s != nullptr; s = s->next_of_heap) {
      check_page(*static_cast<const Page*>(s), *t);
    }
  }
  std::vector<void*> seen;
  for_each_block([&](void* p) {
    for (void* const other : seen) require(p != other, "a block was handed out twice");
    seen.push_back(p);
  });
}

void World::finish() {
  check();
  Actor last;
  for_each_block([](void* p) { use(p); });
  for (void* const p : std::exchange(blocks_, {})) last.free(p);
  for (void*& p : taken_) last.free(std::exchange(p, nullptr));
  last.free(passed_.exchange(nullptr));
  for (void* const p : std::exchange(spare_, {})) last.free(p);
  for (std::optional<Actor>* const actor : {&owner, &a, &b}) actor->reset();
  last.end();
  tarn::trim(0);
  require(store.check(), "the store is unsound");
  require(store.totals().committed_bytes == 0, "memory is lost");
}

}  // namespace tarn
