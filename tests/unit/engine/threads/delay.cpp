// The delay: every block comes out once, none before its place is drawn again, and what is left
// goes to its page.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/delay.hpp"

#include <cstring>
#include <map>
#include <vector>

#include "actor.hpp"
#include "platform/base/fill.hpp"

namespace tarn {
namespace {

// As a hardened heap leaves them when they are freed.
std::vector<void*> freed_blocks(Actor& actor, std::size_t count) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(memset(actor.allocate(100), freed_byte, 100));
  }
  return blocks;
}

TEST(Delay, EachBlockComesOutOnceInAnOrderOfItsOwn) {
  Actor actor;
  const std::vector<void*> blocks = freed_blocks(actor, 500);
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
  const std::vector<void*> blocks = freed_blocks(actor, Delay::Shelf::most + 1);
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

TEST(DelayDeathTest, WhatWasWrittenToSinceIsReported) {
  Actor actor;
  const std::vector<void*> blocks = freed_blocks(actor, 1);
  actor.run([&] {
    delay_exchange(*current_thread, static_cast<Block*>(blocks[0]), 112);
    static_cast<char*>(blocks[0])[7] = 1;
    EXPECT_DEATH(delay_empty(*current_thread), "use after free: a freed block of 112 bytes");
    memset(blocks[0], freed_byte, 8);
    delay_empty(*current_thread);
  });
  actor.end();
  expect_nothing_in_use();
}

}  // namespace
}  // namespace tarn
