// Frees by other threads, and how they reach the owner.
//
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "actor.hpp"

namespace tarn {
namespace {

class MailTest : public TwoActorsTest {};

TEST_F(MailTest, BelowTheThresholdNothingIsPosted) {
  Page* const page = sleeping_page();
  ASSERT_GT(page_threshold(page), 1u);
  free_by(other_, page_threshold(page) - 1u);
  EXPECT_EQ(mail(), nullptr);
  EXPECT_EQ(pending_of(page), page_threshold(page) - 1u);
  free_by(other_, 1);
  EXPECT_EQ(mail(), page);
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  free_by(other_, 1);
  EXPECT_EQ(mail(), page) << "once";
  EXPECT_EQ(page->newer, nullptr);
  read_mail_of(owner_);
  EXPECT_EQ(mail(), nullptr);
  EXPECT_EQ(pending_of(page), 0u);
  EXPECT_TRUE(page->queued);
  EXPECT_EQ(page->live(), blocks_.size());
  free_by(owner_, blocks_.size());
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

#ifdef TARN_DEBUG
TEST_F(MailTest, CheckFindsAPageThatIsNoMailOrOfAnotherThread) {
  Page* const page = sleeping_page();
  free_by(other_, page_threshold(page));
  ASSERT_EQ(mail(), page);
  EXPECT_TRUE(mail_check(owner_.record(), mail()));
  EXPECT_FALSE(mail_check(other_.record(), mail())) << "it is the owner's";
  const std::uint64_t word = page->remote.load();
  page->remote.store(Remote::empty(RemoteState::listed).word);
  EXPECT_FALSE(mail_check(owner_.record(), mail())) << "it is on no way";
  page->remote.store(word);
  EXPECT_TRUE(mail_check(owner_.record(), nullptr)) << "there is none";
  free_by(owner_, blocks_.size());
}
#endif

TEST_F(MailTest, ARefillReadsTheMailFirst) {
  Page* const page = sleeping_page();
  free_by(other_, page_threshold(page));
  const std::uint32_t pages = owner_.pages(bytes);
  std::vector<void*> more;
  while (owner_.current(bytes) != page) more.push_back(owner_.allocate(bytes));
  EXPECT_EQ(owner_.pages(bytes), pages);
  for (void* block : more) owner_.free(block);
  free_by(owner_, blocks_.size());
}

TEST_F(MailTest, AllBlocksFreedByOthersRetireThePage) {
  Page* const page = sleeping_page();
  free_by(other_, blocks_.size());
  EXPECT_EQ(page->kind_now(), SpanKind::page) << "until its owner looks";
  read_mail_of(owner_);
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

TEST_F(MailTest, APageThatEmptiesWhileInTheMailIsGivenByItsReceiver) {
  Page* const page = sleeping_page();
  free_by(other_, page_threshold(page));
  ASSERT_EQ(mail(), page);
  free_by(owner_, page_threshold(page));  // Wakes it.
  EXPECT_TRUE(page->queued);
  // A refill that finds it in the mail and current: it collects and leaves it in the mail.
  owner_.run([&] { page_attach(page, page_collect_unless_mailed(page, RemoteState::open)); });
  free_by(owner_, blocks_.size());
  EXPECT_EQ(page->live(), 0u);
  EXPECT_EQ(page->kind_now(), SpanKind::page) << "still in the mail";
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  read_mail_of(owner_);
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

TEST_F(MailTest, SeveralPagesInOneMail) {
  std::vector<std::vector<void*>> pages;
  for (int i = 0; i < 4; ++i) {
    pages.push_back(owner_.fill_page(bytes));
    owner_.free_extra();
  }
  for (const auto& blocks : pages) {
    for (std::uint32_t n = 0; n < page_threshold(Actor::page_of(blocks[0])); ++n) {
      other_.free(blocks[n]);
    }
  }
  std::size_t posted = 0;
  for (const Span* s = mail(); s != nullptr; s = s->newer) ++posted;
  EXPECT_EQ(posted, 4u);
  read_mail_of(owner_);
  for (const auto& blocks : pages) {
    Page* const page = Actor::page_of(blocks[0]);
    EXPECT_TRUE(page->queued);
    EXPECT_TRUE(page_check(page));
    for (std::size_t n = page_threshold(page); n < blocks.size(); ++n) owner_.free(blocks[n]);
  }
}

// The link of the mail is the store's once a page has been given.
TEST_F(MailTest, SeveralPagesInOneMailAllOfThemEmpty) {
  std::vector<std::vector<void*>> pages;
  for (int i = 0; i < 4; ++i) {
    pages.push_back(owner_.fill_page(bytes));
    owner_.free_extra();
  }
  for (const auto& blocks : pages) {
    for (void* block : blocks) other_.free(block);
  }
  read_mail_of(owner_);
  for (const auto& blocks : pages) {
    EXPECT_NE(Actor::page_of(blocks[0])->kind_now(), SpanKind::page);
  }
}

TEST_F(MailTest, TheCurrentPageIsCollectedByItsOwner) {
  for (int i = 0; i < 5; ++i) blocks_.push_back(owner_.allocate(bytes));
  Page* const page = owner_.current(bytes);
  free_by(other_, 5);
  EXPECT_EQ(mail(), nullptr);
  EXPECT_EQ(pending_of(page), 5u);
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i < page->capacity; ++i) blocks.push_back(owner_.allocate(bytes));
  EXPECT_EQ(owner_.current(bytes), page) << "what others freed was found before it was full";
  EXPECT_EQ(pending_of(page), 0u);
  for (void* block : blocks) owner_.free(block);
}

TEST_F(MailTest, TrimFindsWhatIsBelowTheThreshold) {
  Page* const page = sleeping_page();
  free_by(owner_, blocks_.size() - 1);
  ASSERT_TRUE(page->queued);
  free_by(other_, 1);
  EXPECT_EQ(page->live(), pending_of(page)) << "empty, and nobody was told";
  owner_.trim();
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

}  // namespace
}  // namespace tarn
