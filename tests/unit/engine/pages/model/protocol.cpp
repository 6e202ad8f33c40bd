// protocol: the actors' programs, the key of a state, and what must hold at the end.
//
// SPDX-License-Identifier: MIT
#include "protocol.hpp"

namespace tarn::model {

Run::Run(const Scenario& scenario, Mistake mistake) : scenario_(scenario), mistake_(mistake) {
  for (auto& hand : shared_.hands) hand.fill(none);
  if (scenario.prepare != nullptr) scenario.prepare(shared_, scenario);
  programs_.reserve(scenario.programs.size());
  for (Byte id = 0; id < scenario.programs.size(); ++id) {
    threads_[id].id = id;
    threads_[id].record = scenario.started[id];
    if (threads_[id].record != none) record_of(threads_[id].record).state = RecordState::live;
    programs_.push_back(program(threads_[id]));
    threads_[id].begin(programs_.back());
  }
}

Task<void> Run::program(Thread& t) {
  for (const Do what : scenario_.programs[t.id]) {
    co_await t.step();
    co_await perform(t, what);
  }
  t.done = true;
}

Task<void> Run::perform(Thread& t, Do what) {
  Byte ref = none;
  switch (what.action) {
    case Action::allocate: co_await allocate(t); break;
    case Action::free_block: co_await deallocate(t, what.page, what.block); break;
    case Action::free_chain: co_await free_chain(t, what.page, what.block); break;
    case Action::free_hand: ref = take_from_hand(t); break;
    case Action::pass: shared_.passed = take_from_hand(t); break;
    case Action::free_passed: ref = std::exchange(shared_.passed, none); break;
    case Action::start: co_await start(t); break;
    case Action::end: co_await end(t); break;
    case Action::trim: co_await trim(t); break;
    case Action::purge: co_await purge(t); break;
  }
  if (ref == none) co_return;
  t.saw(ref);
  co_await deallocate(t, static_cast<Byte>(ref / blocks_max), static_cast<Byte>(ref % blocks_max));
}

unsigned Run::enabled() const {
  unsigned mask = 0;
  for (unsigned i = 0; i < programs_.size(); ++i) {
    const Thread& t = threads_[i];
    if (!t.done && !(t.waits() && shared_.lock != none)) mask |= 1u << i;
  }
  return mask;
}

void Run::turn(unsigned actor) {
  threads_[actor].turn();
  programs_[actor].check();
}

std::uint64_t Run::key() const {
  static_assert(alignof(Shared) == 1, "no padding: it is hashed as bytes");
  std::array<Byte, (sizeof(Shared) + 7) / 8 * 8> bytes{};
  std::memcpy(bytes.data(), &shared_, sizeof shared_);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = mixed(hash, word);
  }
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const Thread& t = threads_[i];
    hash = mixed(hash, t.history());
    hash = mixed(hash, t.record * 4u + t.waits() * 2u + t.done);
  }
  return hash;
}

unsigned Run::times_in_mail(Byte page) const {
  unsigned count = 0;
  for (const Record& record : shared_.records) {
    unsigned walked = 0;
    for (Byte p = record.mail; p != none; p = shared_.pages[p].newer) {
      require(++walked <= pages_max, "the mail is a circle");
      count += p == page;
    }
  }
  return count;
}

// Every block is in one place: with the program, or on one of the page's three lists, or not
// carved.
void Run::check_page(Byte page) const {
  const Page& p = shared_.pages[page];
  if (p.word.state == purged) {
    require(p.live == 0, "a block of a purged page is live");
    require(p.live_count() == p.word.count, "the owner's count of a purged page is wrong");
    return;
  }
  unsigned seen = p.live;
  unsigned remote = 0;
  for (const Byte list : {p.free, p.local_free, p.word.head}) {
    for (Byte b = list; b != none; b = link(page, b)) {
      require((seen & 1u << b) == 0, "a block is in two places");
      seen |= 1u << b;
      remote += list == p.word.head;
    }
  }
  require(seen == (1u << p.carved) - 1, "a block is lost");
  require(remote == p.word.count, "the word does not count its list");
  const auto live = static_cast<int>(__builtin_popcount(p.live));
  require(p.live_count() == live + p.word.count, "the owner's count is wrong");
}

// Whatever has been freed is found: by the owner's next look, or by its mail.
void Run::check_place(Byte page) const {
  const Page& p = shared_.pages[page];
  const Record& record = shared_.records[p.holder];
  require(p.owner == p.holder, "the owner is another one");
  bool queued = false;
  for (const Byte q : record.queue) queued = queued || q == page;
  require(queued == (p.queued != 0), "the page and the queue disagree");
  require(in_mail(p.word.state) == (times_in_mail(page) == 1), "the word and the mail disagree");
  require(p.word.state != dead, "a page in use is dead");
  require(p.word.state != purging, "a page is purged for ever");
  if (p.word.state == listed) {
    const bool apart = is(Mistake::threshold_apart);
    require(p.word.count < (apart ? p.threshold : p.word.threshold),
            "frees that should have been posted");
    const bool served = record.state == RecordState::orphan;
    require(!served || p.live != 0, "an empty page of an ended thread that nobody was told of");
  }
  if (record.current == page) {
    require(p.kept == -1 && p.word.state != listed, "a current page is listed");
    require(p.word.state == open || p.word.state == mailed_open, "a current page does not say so");
    return;
  }
  require(p.word.state != mailed_open, "a page that is not current says that it is");
  require(p.word.state != open, "frees of a page that is not current are never posted");
  if (queued) {
    require(p.kept == 0, "a queued page is asleep");
    return;
  }
  require(p.kept > 0 && p.countdown > 0, "a page that sleeps will not wake");
  require(p.free == none, "a page sleeps on blocks for malloc");
}

void Run::finished() const {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    require(threads_[i].done, "nobody can go on");
  }
  require(shared_.lock == none, "the lock is held for ever");
  for (Byte page = 0; page < pages_max; ++page) {
    const Page& p = shared_.pages[page];
    if (p.holder == none) {
      require(times_in_mail(page) == 0 && p.live == 0, "a page that was given is in use");
      continue;
    }
    check_page(page);
    check_place(page);
  }
  for (const Record& record : shared_.records) {
    const bool read = record.mail == none;
    require(read || record.state == RecordState::live, "mail that nobody will read");
  }
}

Outcome explore(const Scenario& scenario, Mistake mistake) {
  constexpr std::uint64_t states_max = 20'000'000;
  return explore([&] { return std::make_unique<Run>(scenario, mistake); }, states_max);
}

}  // namespace tarn::model
