// Every interleaving of remote frees, refills, ending threads and adoption, in small scenarios; and the
// proof that the search can fail: each mistake of protocol.hpp is found in one of them.
//
// SPDX-License-Identifier: MIT
#include <ostream>

#include <gtest/gtest.h>

#include "protocol.hpp"

namespace tarn::model {
namespace {

using enum Action;

// Page 0 belongs to record 0 and all its blocks are out: `asleep`, or the current page.
void all_out(Shared& s, const Scenario& scenario, bool asleep) {
  Page& p = s.pages[0];
  p.owner = p.holder = 0;
  p.carved = scenario.capacity;
  p.live = static_cast<Byte>((1u << scenario.capacity) - 1);
  const auto live = static_cast<std::int8_t>(scenario.capacity);
  if (asleep) {
    p.word = {listed, 0, none};
    p.countdown = static_cast<std::int8_t>(scenario.threshold);
    p.kept = static_cast<std::int8_t>(live - p.countdown);
  } else {
    p.word = {open, 0, none};
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

// As queued_page, and the owner has ended.
void orphaned_page(Shared& s, const Scenario& scenario) {
  queued_page(s, scenario);
  s.records[0].state = RecordState::orphan;
  s.orphans[0] = 0;
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

std::vector<Scenario> make_scenarios() {
  std::vector<Scenario> all;
  for (const Byte threshold : {Byte{1}, Byte{2}}) {
    const auto add = [&](Scenario scenario) {
      scenario.threshold = threshold;
      all.push_back(std::move(scenario));
    };
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
         .capacity = static_cast<Byte>(threshold + 1),  // A page is larger than its threshold.
         .prepare = current_full,
         .programs = {{{allocate}, {allocate}, {free_hand}, {free_hand}},
                      {{free_block, 0, 0}},
                      {{free_block, 0, 1}}},
         .started = {0}});
    add({.name = "page_empties_in_the_mail",
         .capacity = static_cast<Byte>(threshold + 1),
         .prepare = asleep_full,
         .programs = {{{free_block, 0, 0}, {allocate}, {allocate}, {allocate}, {free_hand},
                       {free_hand}},
                      {{free_block, 0, 1}}},
         .started = {0}});
    add({.name = "mail_of_two_pages",
         .capacity = static_cast<Byte>(threshold + 1),
         .pages = 3,
         .prepare = two_asleep,
         .programs = {{{allocate}, {free_hand}},
                      {{free_block, 0, 0}, {free_block, 1, 0}},
                      {{free_block, 1, 1}, {free_block, 0, 1}}},
         .started = {0}});
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
         .programs = {{{allocate}, {free_hand}}, {{allocate}, {free_block, 0, 1}},
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
         .programs = {{{free_block, 0, 0}, {trim}}, {{free_block, 0, 1}, {trim}},
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
  for (Scenario& scenario : all) {
    for (std::size_t i = 1; i < actors_max; ++i) {
      // Designated initialisers leave 0, the record of the first actor.
      if (scenario.started[i] == 0) scenario.started[i] = none;
    }
  }
  return all;
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = make_scenarios();
  return all;
}

std::string told(const Outcome& outcome) {
  std::string text = outcome.broken + "; turns: ";
  for (const unsigned actor : outcome.turns) text += static_cast<char>('0' + actor);
  return text;
}

class RemoteFree : public testing::TestWithParam<std::size_t> {};

TEST_P(RemoteFree, EveryInterleavingKeepsThePromises) {
  const Scenario& scenario = scenarios()[GetParam()];
  const Outcome outcome = explore(scenario, Mistake::no_mistake);
  EXPECT_EQ(outcome.broken, "") << told(outcome);
  EXPECT_GT(outcome.states, 50u) << "nothing was explored";
  RecordProperty("states", static_cast<int>(outcome.states));
  std::printf("%s, threshold %d: %llu states, %llu runs\n", scenario.name, scenario.threshold,
              static_cast<unsigned long long>(outcome.states),
              static_cast<unsigned long long>(outcome.runs));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RemoteFree, testing::Range<std::size_t>(0, scenarios().size()),
                         [](const auto& info) {
                           const Scenario& scenario = scenarios()[info.param];
                           return std::string(scenario.name) +
                                  (scenario.threshold == 1 ? "_at_one" : "_at_two");
                         });

struct Wrong {
  const char* name;
  Mistake mistake;
};

constexpr Wrong mistakes[] = {
    {"retire_ignores_mail", Mistake::retire_ignores_mail},
    {"post_before_swap", Mistake::post_before_swap},
    {"owner_before_swap", Mistake::owner_before_swap},
    {"owner_after_unlock", Mistake::owner_after_unlock},
    {"adopts_mailed_page", Mistake::adopts_mailed_page},
    {"end_reads_mail_first", Mistake::end_reads_mail_first},
    {"end_reads_no_mail", Mistake::end_reads_no_mail},
    {"poster_serves_nobody", Mistake::poster_serves_nobody},
    {"serve_without_lock", Mistake::serve_without_lock},
    {"serve_without_looking", Mistake::serve_without_looking},
    {"list_keeps_frees", Mistake::list_keeps_frees},
    {"list_forgets_frees", Mistake::list_forgets_frees},
    {"settle_leaves_open", Mistake::settle_leaves_open},
    {"collect_unposts", Mistake::collect_unposts},
    {"mail_linked_late", Mistake::mail_linked_late},
    {"wake_forgets_kept", Mistake::wake_forgets_kept},
};

class MistakeTest : public testing::TestWithParam<Wrong> {};

TEST_P(MistakeTest, IsFound) {
  std::string found;
  for (const Scenario& scenario : scenarios()) {
    const Outcome outcome = explore(scenario, GetParam().mistake);
    if (outcome.broken.empty()) continue;
    found = outcome.broken;
    std::printf("%s: %s, threshold %d: %s\n", GetParam().name, scenario.name, scenario.threshold,
                told(outcome).c_str());
    break;
  }
  EXPECT_NE(found, "") << "no scenario tells this mistake from the protocol";
}

INSTANTIATE_TEST_SUITE_P(Mistakes, MistakeTest, testing::ValuesIn(mistakes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tarn::model
