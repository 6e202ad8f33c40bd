// scenarios: what threads do at the same time.
//
// SPDX-License-Identifier: MIT
#include <utility>

#include "world.hpp"

namespace tarn {

namespace {

using Body = std::function<void()>;
using Whose = std::optional<Actor> World::*;

constexpr Whose owner = &World::owner;
constexpr Whose a = &World::a;
constexpr Whose b = &World::b;

class Collection {
 public:
  explicit Collection(World& world) : w_(world) {}

  void add_owners();
  void add_ends();
  void add_adoptions();
  void add_purges();
  void add_chains();

  std::vector<explorer::Scenario> all;

 private:
  using Prepare = void (World::*)();
  void add(const char* name, Prepare prepare, std::vector<std::vector<Body>> threads) {
    put(
        name, [this, prepare] { (w_.*prepare)(); }, threads);
  }
  // Thread b is to start meanwhile.
  void add_start(const char* name, Prepare prepare, std::vector<std::vector<Body>> threads) {
    const auto begin = [this, prepare] {
      w_.without_b();
      (w_.*prepare)();
    };
    put(name, begin, threads);
  }
  void put(const char* name, Body prepare, const std::vector<std::vector<Body>>& threads) {
    std::vector<Body> programs;
    for (const std::vector<Body>& parts : threads) {
      programs.emplace_back([parts] {
        for (const Body& part : parts) part();
      });
    }
    const auto finish = [this] { w_.finish(); };
    all.push_back({name, std::move(prepare), std::move(programs), finish, finish});
  }

  Body free(Whose who, std::size_t block) {
    return [this, who, block] { w_.free(w_.*who, block); };
  }
  Body free_chain(Whose who, std::size_t first) {
    return [this, who, first] { w_.free_chain(w_.*who, first); };
  }
  Body take(Whose who, std::size_t place) {
    return [this, who, place] { w_.take(w_.*who, place); };
  }
  Body free_taken(Whose who, std::size_t place) {
    return [this, who, place] { w_.free_taken(w_.*who, place); };
  }
  Body pass(std::size_t place) {
    return [this, place] { w_.pass(place); };
  }
  Body free_passed(Whose who) {
    return [this, who] { w_.free_passed(w_.*who); };
  }
  Body end(Whose who) {
    return [this, who] { (w_.*who)->end(); };
  }
  Body start_b() {
    return [this] { w_.start_b(); };
  }
  Body trim(Whose who) {
    return [this, who] { World::trim(w_.*who); };
  }
  Body purge(Whose who) {
    return [this, who] { World::purge(w_.*who); };
  }

  World& w_;
};

void Collection::add_owners() {
  add("owner_sleeps_and_wakes", &World::current,
      {{take(owner, 0), free_taken(owner, 0), free(owner, 0), take(owner, 1)},
       {free(a, 1)},
       {free(b, 2)}});
  add("page_empties_from_all_sides", &World::asleep,
      {{free(owner, 0), take(owner, 0), take(owner, 1)}, {free(a, 1), free(a, 3)}, {free(b, 2)}});
  add("refill_meets_remote_frees", &World::current,
      {{take(owner, 0), take(owner, 1), free_taken(owner, 0)}, {free(a, 0)}, {free(b, 1)}});
  add("mail_of_two_pages", &World::two_asleep,
      {{take(owner, 0), free_taken(owner, 0)}, {free(a, 0), free(a, 4)}, {free(b, 5), free(b, 1)}});
}

void Collection::add_ends() {
  add("owner_ends", &World::asleep, {{free(owner, 0), end(owner)}, {free(a, 1)}, {free(b, 2)}});
  add("owner_ends_and_memory_is_trimmed", &World::current,
      {{take(owner, 0), end(owner)}, {free(a, 0), trim(a)}, {free(b, 1)}});
  add_start("successor_takes_the_record", &World::asleep,
            {{end(owner)}, {free(a, 0), free(a, 1)}, {start_b(), take(b, 0), free(b, 2)}});
}

void Collection::add_adoptions() {
  add_start("adoption_and_successor", &World::orphaned,
            {{take(a, 0), free_taken(a, 0)}, {start_b(), free(b, 2), take(b, 1)}});
  add("adoption_and_remote_frees", &World::orphaned,
      {{take(a, 0), take(a, 1)}, {free(b, 2), free(b, 3)}});
  add("two_adopt", &World::orphaned, {{take(a, 0), free_taken(a, 0)}, {take(b, 1), free(b, 3)}});
  add("end_adopt_end", &World::queued,
      {{end(owner)}, {take(a, 0), end(a)}, {free(b, 2), free(b, 3)}});
  add("blocks_are_passed_on", &World::begun,
      {{take(owner, 0), pass(0), take(owner, 1), free_taken(owner, 1), end(owner)},
       {free_passed(a), free(a, 0)}});
  add("trim_beside_frees", &World::current,
      {{free(owner, 0), trim(owner)}, {free(a, 1), free(a, 2), trim(a)}});
}

void Collection::add_purges() {
  add("purge_beside_the_owner", &World::mailed,
      {{take(owner, 0), take(owner, 1), free_taken(owner, 0)}, {purge(a)}});
  add("purge_of_a_queued_page", &World::queued_mailed,
      {{take(owner, 0), free_taken(owner, 0), trim(owner)}, {purge(a), purge(a)}});
  add("purge_beside_frees", &World::asleep,
      {{free(owner, 0), take(owner, 0)}, {free(a, 1), free(a, 2), free(a, 3)}, {purge(b)}});
  // Twice the owner uses the page up, and others free as many of its blocks as before, the same one
  // last: the word says the same, and a block is live.
  const auto round = [this](std::size_t place) -> std::vector<Body> {
    return {take(owner, 0),     take(owner, 1),   take(owner, 2),   take(owner, 3),
            take(owner, place), free_taken(a, 3), free_taken(a, 2), free_taken(a, 1)};
  };
  std::vector<Body> rounds = round(4);
  rounds.push_back(free_taken(owner, 0));
  for (const Body& part : round(5)) rounds.push_back(part);
  rounds.push_back(free_taken(a, 0));
  add("purge_and_a_word_that_comes_back", &World::queued_mailed, {rounds, {purge(b)}});
  add("purge_beside_a_free_that_wakes", &World::woken, {{free(owner, 0)}, {purge(b)}});
  add("purge_and_sleep_in_the_mail", &World::queued_mailed,
      {{take(owner, 0), take(owner, 1), take(owner, 2), take(owner, 3), take(owner, 4)},
       {purge(b)}});
  add("purge_beside_a_page_that_falls_asleep", &World::current,
      {{take(owner, 0)}, {free(a, 1), free(a, 2), purge(b)}});
  add("purge_and_end", &World::queued_mailed, {{end(owner)}, {purge(a)}, {take(b, 0)}});
  add("purge_end_and_frees", &World::asleep,
      {{free(owner, 0), end(owner)}, {free(a, 1), free(a, 2), free(a, 3)}, {purge(b)}});
  add("two_purge", &World::mailed, {{take(owner, 0)}, {purge(a)}, {purge(b)}});
}

void Collection::add_chains() {
  add("chain_beside_the_owner", &World::asleep,
      {{free(owner, 0), take(owner, 0), free_taken(owner, 0)}, {free_chain(a, 1)}});
  add("chain_beside_a_free", &World::asleep, {{take(owner, 0)}, {free_chain(a, 0)}, {free(b, 3)}});
  add("two_chains", &World::current,
      {{take(owner, 0), free_taken(owner, 0)}, {free_chain(a, 0)}, {free_chain(b, 2)}});
  add_start("chain_and_end", &World::asleep,
            {{free(owner, 0), end(owner)}, {free_chain(a, 1)}, {start_b(), take(b, 0)}});
  add_start("chain_and_adoption", &World::orphaned, {{free_chain(a, 2)}, {start_b(), take(b, 0)}});
  // The page may be the thread's own by the time that it gives the chain.
  add("chain_of_a_page_that_was_adopted", &World::orphaned,
      {{take(a, 0), free_chain(a, 2), take(a, 1)}, {take(b, 2)}});
  add("chain_beside_a_purge", &World::asleep,
      {{free(owner, 0), take(owner, 0)}, {free_chain(a, 1), free(a, 3)}, {purge(b)}});
}

}  // namespace

std::vector<explorer::Scenario> scenarios(World& world) {
  // The scenarios refer to it.
  static std::vector<std::unique_ptr<Collection>> kept;
  Collection& collection = *kept.emplace_back(std::make_unique<Collection>(world));
  collection.add_owners();
  collection.add_ends();
  collection.add_adoptions();
  collection.add_purges();
  collection.add_chains();
  return collection.all;
}

}  // namespace tarn
