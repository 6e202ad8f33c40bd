// The mailbox: what is pushed is taken once, by whoever takes.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/mailbox.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tarn {
namespace {

std::vector<Page*> taken(Mailbox& mail) {
  std::vector<Page*> pages;
  for (Span* page = mail.take(); page != nullptr; page = page->newer) {
    pages.push_back(static_cast<Page*>(page));
  }
  return pages;
}

TEST(MailboxTest, AnEmptyOneGivesNothing) {
  Mailbox mail;
  EXPECT_TRUE(mail.is_empty());
  EXPECT_FALSE(mail.has_mail());
  EXPECT_EQ(mail.first(), nullptr);
  EXPECT_EQ(mail.take(), nullptr);
}

TEST(MailboxTest, TheNewestComesFirstAndAllGoAtOnce) {
  Mailbox mail;
  std::array<Page, 3> pages;
  for (Page& page : pages) {
    mail.push(page, page);
    EXPECT_EQ(mail.first(), &page);
    EXPECT_TRUE(mail.has_mail());
  }
  EXPECT_EQ(taken(mail), (std::vector<Page*>{&pages[2], &pages[1], &pages[0]}));
  EXPECT_TRUE(mail.is_empty());
  EXPECT_FALSE(mail.has_mail());
  mail.push(pages[1], pages[1]);
  EXPECT_EQ(taken(mail), (std::vector<Page*>{&pages[1]})) << "an old link leads nowhere";
}

TEST(MailboxTest, AChainIsPutInFrontAsItIs) {
  Mailbox mail;
  std::array<Page, 4> pages;
  mail.push(pages[0], pages[0]);
  pages[1].newer = &pages[2];
  pages[2].newer = &pages[3];
  mail.push(pages[1], pages[3]);
  EXPECT_EQ(taken(mail), (std::vector<Page*>{&pages[1], &pages[2], &pages[3], &pages[0]}));
}

#ifdef TARN_DEBUG
TEST(MailboxDeathTest, AChainThatDoesNotEndWithItsLastPageIsADefect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Mailbox mail;
  std::array<Page, 3> pages;
  pages[0].newer = &pages[1];
  EXPECT_DEATH(mail.push(pages[0], pages[2]), "leads_to");
  pages[1].newer = &pages[0];
  EXPECT_DEATH(mail.push(pages[0], pages[2]), "leads_to");
  pages[1].newer = &pages[2];
  mail.push(pages[0], pages[2]);
}
#endif

TEST(MailboxTest, CountsHowOftenItWasRead) {
  Mailbox mail;
  EXPECT_EQ(mail.reads(), 0u);
  mail.count_read();
  mail.count_read();
  EXPECT_EQ(mail.reads(), 2u);
}

TEST(MailboxTest, WhatManyThreadsPushArrivesOnceEach) {
  constexpr std::size_t senders = 3;
  constexpr std::size_t pages_each = 5000;
  Mailbox mail;
  std::vector<Page> pages(senders * pages_each);
  std::atomic<std::size_t> done{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < senders; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < pages_each; i += 2) {
        Page& first = pages[t * pages_each + i];
        Page& second = pages[t * pages_each + i + 1];
        first.newer = &second;
        first.capacity = second.capacity = 1;  // What the receiver must see.
        mail.push(first, second);
      }
      done.fetch_add(1);
    });
  }
  std::vector<int> arrived(pages.size());
  bool is_last = false;
  while (!is_last) {
    is_last = done.load() == senders;
    for (const Page* const page : taken(mail)) {
      ++arrived[static_cast<std::size_t>(page - pages.data())];
      ASSERT_EQ(page->capacity, 1u);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arrived, std::vector<int>(pages.size(), 1));
  EXPECT_TRUE(mail.is_empty());
}

}  // namespace
}  // namespace tarn
