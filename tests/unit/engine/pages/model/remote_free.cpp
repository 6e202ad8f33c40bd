// Every interleaving of remote frees, refills, ending threads and adoption, in small scenarios; and
// the proof that the search can fail: each mistake of protocol.hpp is found in one of them.
//
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <ostream>

#include <gtest/gtest.h>

#include "scenarios.hpp"

namespace tarn::model {
namespace {

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

// How many: the test's environment says.
int made_up_programs() {
  const char* const said = std::getenv("TARN_MODEL_PROGRAMS");
  const int count = said == nullptr ? 0 : std::atoi(said);
  return count > 0 ? count : 20;
}

TEST(MadeUpPrograms, EveryInterleavingKeepsThePromises) {
  std::uint64_t states = 0;
  const int programs = made_up_programs();
  for (int seed = 1; seed <= programs; ++seed) {
    const Scenario scenario = made_up_scenario(static_cast<std::uint64_t>(seed));
    const Outcome outcome = explore(scenario, Mistake::no_mistake);
    ASSERT_EQ(outcome.broken, "") << "seed " << seed << ": " << told(outcome);
    states += outcome.states;
  }
  std::printf("%d made-up programs: %llu states\n", programs,
              static_cast<unsigned long long>(states));
}

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
    {"threshold_apart", Mistake::threshold_apart},
    {"wake_forgets_kept", Mistake::wake_forgets_kept},
    {"purges_live_blocks", Mistake::purges_live_blocks},
    {"purge_looks_once", Mistake::purge_looks_once},
    {"purge_reads_kept_last", Mistake::purge_reads_kept_last},
    {"purge_drops_frees", Mistake::purge_drops_frees},
    {"use_stays_mailed", Mistake::use_stays_mailed},
    {"sleep_counts_late", Mistake::sleep_counts_late},
    {"sleeps_mailed_open", Mistake::sleeps_mailed_open},
    {"uses_purging_page", Mistake::uses_purging_page},
    {"collects_purging_page", Mistake::collects_purging_page},
    {"purged_keeps_lists", Mistake::purged_keeps_lists},
    {"chain_counts_one", Mistake::chain_counts_one},
    {"chain_drops_rest", Mistake::chain_drops_rest},
    {"chain_meets_threshold", Mistake::chain_meets_threshold},
    {"purger_serves_nobody", Mistake::purger_serves_nobody},
    {"purger_keeps_mail", Mistake::purger_keeps_mail},
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
