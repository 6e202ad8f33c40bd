// The delay: every block comes out once, none before its place is drawn again, and what is left
// goes to its page.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/delay.hpp"

#include <map>
#include <vector>

#include "actor.hpp"

namespace tarn {
namespace {

TEST(Delay, EachBlockComesOutOnceInAnOrderOfItsOwn) {
  Actor actor;
  std::vector<void*> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(actor.allocate(100));
  std::map<const void*, int> out;
  std::size_t in_order = 0;
  std::size_t nulls = 0;
  actor.run([&] {
    Thread& thread = *current_thread;
    const void* last = nullptr;
    for (void* const p : blocks) {
      Block* const block = delay_exchange(thread, static_cast<Block*>(p), 112);
      if (block == nullptr) {
        ++nulls;
        continue;
      }
      EXPECT_NE(block, p);
      ++out[block];
      in_order += last != nullptr && block > last ? 1 : 0;
      last = block;
    }
    std::size_t held = 0;
    Delay::for_each(thread.delay, [&](const Page& page, const Block* block) noexcept {
      EXPECT_TRUE(page.is_block(block) && out.count(block) == 0);
      ++held;
    });
    EXPECT_EQ(held, nulls);
    EXPECT_LE(held, Delay::narrow);
    delay_empty(thread);
    Delay::for_each(thread.delay, [](const Page&, const Block*) noexcept { ADD_FAILURE(); });
  });
  for (const auto& [block, times] : out) EXPECT_EQ(times, 1);
  EXPECT_EQ(out.size() + nulls, blocks.size());
  EXPECT_GT(in_order, out.size() / 4);
  EXPECT_LT(in_order, out.size() * 3 / 4);
  for (const auto& [block, times] : out) actor.free(const_cast<void*>(block));
  actor.end();
}

TEST(Delay, AShelfGivesWhatCameLast) {
  Actor actor;
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i <= Delay::Shelf::most; ++i) blocks.push_back(actor.allocate(100));
  actor.run([&] {
    delay_exchange(*current_thread, static_cast<Block*>(blocks[0]), 112);
    Delay& delay = *current_thread->delay.load();
    const std::size_t size_class = class_of(100);
    EXPECT_EQ(delay.take(size_class), nullptr);
    for (std::uint32_t i = 1; i <= Delay::Shelf::most; ++i) {
      EXPECT_TRUE(delay.put(size_class, static_cast<Block*>(blocks[i])));
    }
    EXPECT_FALSE(delay.put(size_class, static_cast<Block*>(blocks[0]))) << "it is full";
    EXPECT_FALSE(delay.put(class_of(60'000), static_cast<Block*>(blocks[0]))) << "there is none";
    EXPECT_EQ(delay.take(class_of(60'000)), nullptr);
    EXPECT_EQ(delay.take(size_class), blocks.back());
    EXPECT_TRUE(delay.put(size_class, static_cast<Block*>(blocks.back())));
    delay_empty(*current_thread);
    EXPECT_EQ(delay.take(size_class), nullptr);
  });
  actor.end();
  expect_nothing_in_use();
}

}  // namespace
}  // namespace tarn
