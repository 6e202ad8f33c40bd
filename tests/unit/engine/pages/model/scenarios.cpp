// scenarios: see scenarios.hpp.
//
// SPDX-License-Identifier: MIT
#include "scenarios.hpp"

namespace tarn::model {

namespace {

using enum Action;

// Page 0 belongs to record 0 and all its blocks are out: `asleep`, or the current page.
void all_out(Shared& s, const Scenario& scenario, bool asleep) {
  Page& p = s.pages[0];
  p.owner = p.holder = 0;
  p.carved = scenario.capacity;
  p.threshold = scenario.threshold;
  p.live = static_cast<Byte>((1u << scenario.capacity) - 1);
  const auto live = static_cast<std::int8_t>(scenario.capacity);
  if (asleep) {
    p.word = {listed, 0, none, scenario.threshold};
    p.countdown = static_cast<std::int8_t>(scenario.threshold);
    p.kept = static_cast<std::int8_t>(live - p.countdown);
  } else {
    p.word = {open, 0, none, 0};
    p.countdown = static_cast<std::int8_t>(live + 1);
    p.kept = -1;
    s.records[0].current = 0;
  }
  s.records[0].state = RecordState::live;
}

void current_full(Shared& s, const Scenario& scenario) { all_out(s, scenario, false); }
void asleep_full(Shared& s, const Scenario& scenario) { all_out(s, scenario, true); }

// As asleep_full, with block 0 freed by the owner: queued.
void queued_page(Shared& s, const Scenario& scenario) {
  all_out(s, scenario, true);
  Page& p = s.pages[0];
  p.live &= 0xfe;
  p.local_free = 0;
  p.countdown = static_cast<std::int8_t>(scenario.capacity - 1);
  p.kept = 0;
  p.queued = 1;
  s.records[0].queue[0] = 0;
}

// As current_full, in the mail, where the owner uses it.
void mailed_full(Shared& s, const Scenario& scenario) {
  current_full(s, scenario);
  s.pages[0].word = {mailed_open, 0, none, 0};
  s.records[0].mail = 0;
}

// As queued_page, and the owner has ended.
void orphaned_page(Shared& s, const Scenario& scenario) {
  queued_page(s, scenario);
  s.records[0].state = RecordState::orphan;
  s.orphans[0] = 0;
}

// As asleep_full, and all its blocks have been freed by others: in the mail.
void mailed_free(Shared& s, const Scenario& scenario) {
  all_out(s, scenario, true);
  Page& p = s.pages[0];
  p.live = 0;
  p.word = {mailed, scenario.capacity, 0, 0};
  for (Byte b = 0; b + 1 < scenario.capacity; ++b) p.next[b] = static_cast<Byte>(b + 1);
  s.records[0].mail = 0;
}

// As mailed_free, but block 0 has been freed by the owner: queued as well.
void queued_mailed_free(Shared& s, const Scenario& scenario) {
  queued_page(s, scenario);
  Page& p = s.pages[0];
  p.live = 0;
  p.word = {mailed, static_cast<Byte>(scenario.capacity - 1), 1, 0};
  for (Byte b = 1; b + 1 < scenario.capacity; ++b) p.next[b] = static_cast<Byte>(b + 1);
  s.records[0].mail = 0;
}

// Two pages asleep, each with all its blocks out.
void two_asleep(Shared& s, const Scenario& scenario) {
  all_out(s, scenario, true);
  s.pages[1] = s.pages[0];
}

// A page of which only the first block has been carved, and that is out.
void hardly_carved(Shared& s, const Scenario& scenario) {
  all_out(s, scenario, false);
  Page& p = s.pages[0];
  p.carved = 1;
  p.live = 1;
  p.countdown = 2;
}

class Collection {
 public:
  explicit Collection(Byte threshold) : threshold_(threshold) {}

  void add(Scenario scenario) {
    scenario.threshold = threshold_;
    for (std::size_t i = 1; i < actors_max; ++i) {
      // Designated initialisers leave 0, the record of the first actor.
      if (scenario.started[i] == 0) scenario.started[i] = none;
    }
    all.push_back(std::move(scenario));
  }
  void add_owners();
  void add_ends();
  void add_adoptions();
  void add_purges();
  void add_chains();

  std::vector<Scenario> all;

 private:
  const Byte threshold_;
};

void Collection::add_owners() {
  add({.name = "owner_sleeps_and_wakes",
       .prepare = current_full,
       .programs = {{{allocate}, {free_hand}, {free_block, 0, 0}, {allocate}},
                    {{free_block, 0, 1}},
                    {{free_block, 0, 2}}},
       .started = {0}});
  add({.name = "page_empties_from_all_sides",
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {allocate}, {allocate}},
                    {{free_block, 0, 1}},
                    {{free_block, 0, 2}}},
       .started = {0}});
  add({.name = "refill_meets_remote_frees",
       .capacity = static_cast<Byte>(threshold_ + 1),  // A page is larger than its threshold.
       .prepare = current_full,
       .programs = {{{allocate}, {allocate}, {free_hand}, {free_hand}},
                    {{free_block, 0, 0}},
                    {{free_block, 0, 1}}},
       .started = {0}});
  add({.name = "page_empties_in_the_mail",
       .capacity = static_cast<Byte>(threshold_ + 1),
       .prepare = asleep_full,
       .programs =
           {{{free_block, 0, 0}, {allocate}, {allocate}, {allocate}, {free_hand}, {free_hand}},
            {{free_block, 0, 1}}},
       .started = {0}});
  add({.name = "mail_of_two_pages",
       .capacity = static_cast<Byte>(threshold_ + 1),
       .pages = 3,
       .prepare = two_asleep,
       .programs = {{{allocate}, {free_hand}},
                    {{free_block, 0, 0}, {free_block, 1, 0}},
                    {{free_block, 1, 1}, {free_block, 0, 1}}},
       .started = {0}});
}

void Collection::add_ends() {
  add({.name = "owner_ends",
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {end}}, {{free_block, 0, 1}}, {{free_block, 0, 2}}},
       .started = {0}});
  add({.name = "owner_ends_and_puts_down",
       .warm_max = 0,
       .prepare = current_full,
       .programs = {{{allocate}, {end}}, {{free_block, 0, 0}}, {{free_block, 0, 1}}},
       .started = {0}});
  add({.name = "successor_takes_the_record",
       .prepare = asleep_full,
       .programs = {{{end}},
                    {{free_block, 0, 0}, {free_block, 0, 1}},
                    {{start}, {allocate}, {free_block, 0, 2}, {free_hand}}},
       .started = {0}});
}

void Collection::add_adoptions() {
  add({.name = "adoption_and_successor",
       .pages = 1,
       .prepare = orphaned_page,
       .programs = {{{allocate}, {free_hand}},
                    {{free_block, 0, 1}},
                    {{start}, {free_block, 0, 2}, {allocate}}},
       .started = {1}});
  add({.name = "adoption_and_remote_frees",
       .pages = 1,
       .prepare = orphaned_page,
       .programs = {{{allocate}, {allocate}, {allocate}},
                    {{free_block, 0, 1}},
                    {{free_block, 0, 2}}},
       .started = {1}});
  add({.name = "two_adopt",
       .prepare = orphaned_page,
       .programs = {{{allocate}, {free_hand}},
                    {{allocate}, {free_block, 0, 1}},
                    {{free_block, 0, 2}}},
       .started = {1, 2}});
  add({.name = "end_adopt_end",
       .pages = 1,
       .warm_max = 0,
       .prepare = queued_page,
       .programs = {{{end}}, {{allocate}, {end}}, {{free_block, 0, 1}, {free_block, 0, 2}}},
       .started = {0, 1}});
  add({.name = "blocks_are_passed_on",
       .prepare = hardly_carved,
       .programs = {{{allocate}, {pass}, {allocate}, {free_hand}, {end}},
                    {{free_passed}, {free_block, 0, 0}},
                    {{allocate}, {free_hand}}},
       .started = {0, none, none}});
  add({.name = "trim_beside_frees",
       .prepare = current_full,
       .programs = {{{free_block, 0, 0}, {trim}},
                    {{free_block, 0, 1}, {trim}},
                    {{free_block, 0, 2}}},
       .started = {0}});
  add({.name = "four_blocks_two_frees_each",
       .capacity = 4,
       .prepare = asleep_full,
       .programs = {{{allocate}, {allocate}},
                    {{free_block, 0, 0}, {free_block, 0, 1}},
                    {{free_block, 0, 2}, {free_block, 0, 3}}},
       .started = {0}});
}

void Collection::add_purges() {
  add({.name = "purge_beside_the_owner",
       .prepare = mailed_free,
       .programs = {{{allocate}, {allocate}, {free_hand}, {free_hand}}, {{purge}}},
       .started = {0}});
  add({.name = "purge_of_a_queued_page",
       .prepare = queued_mailed_free,
       .programs = {{{allocate}, {allocate}, {free_hand}, {trim}}, {{purge}, {purge}}},
       .started = {0}});
  add({.name = "purge_beside_frees",
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {allocate}},
                    {{free_block, 0, 1}, {free_block, 0, 2}},
                    {{purge}}},
       .started = {0}});
  add({.name = "purge_and_a_word_that_comes_back",
       .capacity = static_cast<Byte>(threshold_ + 1),
       .prepare = queued_mailed_free,
       .programs = {{{allocate}, {allocate}, {free_hand}, {allocate}, {allocate}, {pass}, {pass}},
                    {{free_passed}, {free_passed}},
                    {{purge}}},
       .started = {0}});
  add({.name = "purge_and_sleep_in_the_mail",
       .capacity = static_cast<Byte>(threshold_ + 1),
       .prepare = mailed_full,
       .programs = {{{allocate}, {free_hand}, {allocate}}, {{free_block, 0, 0}}, {{purge}}},
       .started = {0}});
  add({.name = "purge_and_end",
       .prepare = queued_mailed_free,
       .programs = {{{end}}, {{purge}}, {{allocate}, {allocate}}},
       .started = {0}});
  add({.name = "purge_end_and_frees",
       .warm_max = 0,
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {end}},
                    {{free_block, 0, 1}, {free_block, 0, 2}},
                    {{purge}}},
       .started = {0}});
  add({.name = "purge_of_two_pages",
       .capacity = static_cast<Byte>(threshold_ + 1),
       .pages = 3,
       .prepare = two_asleep,
       .programs = {{{free_block, 0, 0}, {allocate}, {free_hand}},
                    {{free_block, 1, 0}, {free_block, 1, 1}, {free_block, 0, 1}},
                    {{purge}}},
       .started = {0}});
  add({.name = "two_purge",
       .prepare = mailed_free,
       .programs = {{{allocate}, {trim}}, {{purge}}, {{purge}}},
       .started = {0}});
}

void Collection::add_chains() {
  add({.name = "chain_beside_the_owner",
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {allocate}, {allocate}, {free_hand}},
                    {{free_chain, 0, 1}}},
       .started = {0}});
  add({.name = "chain_beside_a_free",
       .capacity = 4,
       .prepare = asleep_full,
       .programs = {{{allocate}, {allocate}}, {{free_chain, 0, 0}}, {{free_block, 0, 3}}},
       .started = {0}});
  add({.name = "two_chains",
       .capacity = 4,
       .prepare = current_full,
       .programs = {{{allocate}, {free_hand}, {allocate}},
                    {{free_chain, 0, 0}},
                    {{free_chain, 0, 2}}},
       .started = {0}});
  add({.name = "chain_and_end",
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {end}}, {{free_chain, 0, 1}}, {{start}, {allocate}}},
       .started = {0}});
  add({.name = "chain_and_adoption",
       .pages = 1,
       .prepare = orphaned_page,
       .programs = {{{allocate}, {free_hand}}, {{free_chain, 0, 1}}, {{start}, {allocate}}},
       .started = {1}});
  // The page may be the thread's own by the time that it gives the chain.
  add({.name = "chain_of_a_page_that_was_adopted",
       .pages = 1,
       .prepare = orphaned_page,
       .programs = {{{allocate}, {free_chain, 0, 1}, {allocate}}, {{allocate}}},
       .started = {1, 2}});
  add({.name = "chain_beside_a_purge",
       .prepare = asleep_full,
       .programs = {{{free_block, 0, 0}, {allocate}}, {{free_chain, 0, 1}}, {{purge}}},
       .started = {0}});
}

std::vector<Scenario> make_scenarios() {
  std::vector<Scenario> all;
  for (const Byte threshold : {Byte{1}, Byte{2}}) {
    Collection collection(threshold);
    collection.add_owners();
    collection.add_ends();
    collection.add_adoptions();
    collection.add_purges();
    collection.add_chains();
    all.insert(all.end(), collection.all.begin(), collection.all.end());
  }
  return all;
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = make_scenarios();
  return all;
}

namespace {

class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(mixed(seed, 0x7461726e)) {}
  Byte below(unsigned count) {
    state_ = mixed(state_, 1);
    return static_cast<Byte>((state_ >> 32) % count);
  }

 private:
  std::uint64_t state_;
};

struct Situation {
  void (*prepare)(Shared&, const Scenario&);
  Byte record;  // That the first actor begins with.
};

constexpr Situation situations[] = {{current_full, 0},
                                    {asleep_full, 0},
                                    {queued_page, 0},
                                    {orphaned_page, none},
                                    {hardly_carved, 0}};

}  // namespace

Scenario made_up_scenario(std::uint64_t seed) {
  constexpr Action actions[] = {allocate,    allocate, allocate, free_hand, free_hand, pass,
                                free_passed, end,      end,      trim,      purge};
  Sequence sequence(seed);
  Scenario scenario;
  scenario.name = "made up";
  scenario.threshold = static_cast<Byte>(sequence.below(2) + 1);
  scenario.capacity = static_cast<Byte>(scenario.threshold + 1 + sequence.below(2));
  scenario.pages = static_cast<Byte>(sequence.below(2) + 1);
  scenario.warm_max = sequence.below(2);
  const Situation& situation = situations[sequence.below(std::size(situations))];
  scenario.prepare = situation.prepare;
  scenario.started = {situation.record, none, none};
  scenario.programs.resize(actors_max);
  for (std::vector<Do>& program : scenario.programs) {
    for (unsigned n = sequence.below(3) + 1u; n > 0; --n) {
      program.push_back({actions[sequence.below(std::size(actions))]});
    }
  }
  Shared shared;
  scenario.prepare(shared, scenario);
  for (Byte block = 0; block < scenario.capacity; ++block) {
    if ((shared.pages[0].live & 1u << block) == 0 || sequence.below(6) == 0) continue;
    std::vector<Do>& program = scenario.programs[sequence.below(actors_max)];
    const auto at = sequence.below(static_cast<unsigned>(program.size()) + 1);
    program.insert(program.begin() + at, Do{free_block, 0, block});
  }
  return scenario;
}

}  // namespace tarn::model
