// churn: a thread that takes and gives blocks at random, and looks whether they are its own.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <random>
#include <vector>

namespace array_pools {

// Plain numbers, so that the thread sanitizer sees a missing order.
struct Message {
  unsigned owner;
  unsigned text[7];
};

// `most`: how many blocks it has at most.
template <class Pool>
void churn(Pool& pool, unsigned self, std::size_t most, int steps, std::atomic<bool>* is_sound) {
  std::minstd_rand random(self + 1);
  std::vector<Message*> held(most);
  for (int step = 0; step != steps; ++step) {
    Message*& place = held[random() % most];
    if (place == nullptr) {
      place = static_cast<Message*>(pool.try_allocate());
      if (place == nullptr) continue;
      place->owner = self;
      for (unsigned& word : place->text) word = self;
      continue;
    }
    bool is_mine = place->owner == self;
    for (const unsigned word : place->text) is_mine = is_mine && word == self;
    if (!is_mine) *is_sound = false;
    pool.deallocate(place);
    place = nullptr;
  }
  for (Message* p : held) pool.deallocate(p);
}

}  // namespace array_pools
