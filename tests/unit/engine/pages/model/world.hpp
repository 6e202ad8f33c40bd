// world: a page, the threads that have to do with it, and what must hold of them after each run.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "actor.hpp"
#include "support/explorer/explorer.hpp"

namespace tarn {

class World {
 public:
  // Blocks of which a page has four, or eight; a sleeping page is woken by one free, or by two.
  explicit World(std::size_t block_bytes) : bytes_(block_bytes) {}

  // How the first page is before a run. It is the owner's, and its blocks are blocks 0, 1, ...
  void asleep();         // All its blocks are out.
  void two_asleep();     // And another page of the same.
  void current();        // All its blocks are out, and it is the current page.
  void begun();          // As current, but only block 0 has been made.
  void queued();         // Asleep, and woken: the owner has freed the first blocks.
  void orphaned();       // Queued, and the owner has ended.
  void woken();          // Asleep, and others have freed just enough blocks for the mail.
  void mailed();         // Asleep, and others have freed all blocks.
  void queued_mailed();  // Queued, and others have freed the rest.

  // Thread b is not there before it starts. Before one of the above.
  void without_b() { has_b_ = false; }

  // What threads do.
  void start_b() { b.emplace(); }
  void free(std::optional<Actor>& actor, std::size_t block);
  void free_chain(std::optional<Actor>& actor, std::size_t first);  // It, and the next one.
  void take(std::optional<Actor>& actor, std::size_t place);
  void free_taken(std::optional<Actor>& actor, std::size_t place);
  void pass(std::size_t place);  // To whoever frees what was passed.
  void free_passed(std::optional<Actor>& actor);
  static void trim(std::optional<Actor>& actor);
  static void purge(std::optional<Actor>& actor);

  // After a run: what must hold, and everything is given back.
  void finish();

  std::optional<Actor> owner;
  std::optional<Actor> a;
  std::optional<Actor> b;

 private:
  void begin();
  void fill();
  void use_up();
  void check() const;
  void check_page(const Page& page, const Thread& thread) const;
  std::uint32_t live_blocks(const Page& page) const;
  template <class Visit>
  void for_each_block(Visit visit) const;

  const std::size_t bytes_;
  bool has_b_ = true;
  std::vector<void*> blocks_;
  std::vector<void*> spare_;  // Of other pages.
  std::array<void*, 6> taken_{};
  std::atomic<void*> passed_{nullptr};
};

std::vector<explorer::Scenario> scenarios(World& world);

}  // namespace tarn
