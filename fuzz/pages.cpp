// pages: one owner's pages and the remote frees that come in between its steps, against the set of
// blocks that are out. Every step that the protocol of remote.hpp allows is tried in every order.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/page.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "engine/layout/page_plan.hpp"
#include "engine/store/store.hpp"
#include "input.hpp"
#include "platform/os/process.hpp"

namespace tarn::fuzz {

namespace {

class PageModel {
 public:
  PageModel(std::size_t size_class, std::size_t slices) : page_(page_take(size_class, slices)) {
    TARN_REQUIRE(page_ != nullptr && page_->live() == 0 && page_->carved == 0);
    TARN_REQUIRE(page_->capacity == slices * slice_bytes / class_block_bytes[size_class]);
    TARN_REQUIRE(page_threshold(page_) >= 1 && page_threshold(page_) < page_->capacity);
    TARN_REQUIRE(page_map.span_of(page_->base) == page_);
    TARN_REQUIRE(page_map.span_of(page_->end() - 1) == page_);
  }

  void step(Input& input) {
    if (state_ == RemoteState::purged) return step_purged(input);
    switch (input.below(12)) {
      case 0:
      case 1:
      case 2: allocate(input.below(20) + 1); break;
      case 3: free_local(input); break;
      case 4:
      case 5: free_remote(input); break;
      case 6: collect(input); break;
      case 7: list(input.below(page_->capacity) + 1); break;
      case 8: settle(input.byte() % 2 == 0); break;
      case 9: use(); break;
      case 10: purge(); break;
      default: open();
    }
    check();
  }

  // What an owner may come to do that does not know yet.
  void step_purged(Input& input) {
    switch (input.below(4)) {
      case 0: collect(input); break;
      case 1: settle(input.byte() % 2 == 0); break;
      case 2: use(); break;
      default: open();
    }
    check();
  }

  // Brings every block back and gives the page; a page in the mail is received first.
  void finish(Input& input) {
    while (!live_.empty()) free_local(input);
    // The receiver of the mail, or an owner that looks at a page whose last frees were remote.
    take_in(page_collect(page_, RemoteState::listed));
    state_ = RemoteState::listed;
    check();
    TARN_REQUIRE(page_->live() == 0);
    TARN_REQUIRE(page_kill(page_));
    const std::byte* const base = page_->base;
    const std::byte* const last = page_->end() - 1;
    page_give(page_);
    TARN_REQUIRE(page_map.span_of(base)->kind_now() != SpanKind::page);
    TARN_REQUIRE(page_map.span_of(last)->kind_now() != SpanKind::page);
  }

 private:
  void allocate(std::size_t count) {
    for (; count > 0; --count) {
      if (page_->free == nullptr && page_->local_free != nullptr) {
        page_->free = page_->local_free;
        page_->local_free = nullptr;
      }
      if (page_->free == nullptr) {
        if (page_->carved == page_->capacity) return;
        const std::uint32_t before = page_->carved;
        const std::uint32_t made = page_carve(page_);
        TARN_REQUIRE(made > 0 && page_->carved == before + made);
      }
      Block* const block = page_->free;
      page_->free = block->next;
      ++page_->countdown;
      TARN_REQUIRE(page_->is_block(block) && !pending_.contains(block));
      TARN_REQUIRE(live_.insert(block).second);
    }
  }

  Block* take_live(Input& input) {
    auto it = live_.lower_bound(page_->block_at(input.below(page_->bytes())));
    if (it == live_.end()) it = live_.begin();
    Block* const block = *it;
    live_.erase(it);
    return block;
  }

  void free_local(Input& input) {
    if (live_.empty()) return;
    Block* const block = take_live(input);
    block->next = page_->local_free;
    page_->local_free = block;
    --page_->countdown;
  }

  void free_remote(Input& input) {
    if (live_.empty()) return;
    Block* const block = take_live(input);
    pending_.insert(block);
    const bool posts = state_ == RemoteState::listed && pending_.size() >= threshold_;
    TARN_REQUIRE(page_free_remote(page_, block) == (posts ? RemoteFree::post : RemoteFree::done));
    if (posts) state_ = RemoteState::mailed;
  }

  bool is_in_mail() const { return tarn::is_in_mail(state_); }

  void take_in(Collected collected) {
    if (state_ == RemoteState::purged) {
      TARN_REQUIRE(collected.count == 0);
      return renewed();
    }
    TARN_REQUIRE(collected.count == pending_.size());
    std::size_t walked = 0;
    for (Block* b = collected.head; b != nullptr; b = b->next, ++walked) {
      TARN_REQUIRE(walked < pending_.size() && pending_.contains(b));
    }
    TARN_REQUIRE(walked == collected.count);
    pending_.clear();
    page_attach(page_, collected);
  }

  void collect(Input& input) {
    const RemoteState wanted = RemoteState::open;
    const bool receives = input.byte() % 2 == 0;
    take_in(receives ? page_collect(page_, wanted) : page_collect_unless_mailed(page_, wanted));
    if (receives || !is_in_mail()) {
      state_ = wanted;
    } else if (state_ == RemoteState::purged) {
      state_ = RemoteState::mailed;
    }
  }

  // The owner has learnt that the contents are gone.
  void renewed() {
    pending_.clear();
    TARN_REQUIRE(live_.empty() && page_->live() == 0 && page_->carved == 0);
    TARN_REQUIRE(page_->free == nullptr && page_->local_free == nullptr);
  }

  void use() {
    TARN_REQUIRE(page_use(page_));
    if (state_ == RemoteState::purged) renewed();
    state_ = is_in_mail() ? RemoteState::mailed_open : RemoteState::open;
  }

  void purge() {
    const bool begins = page_begin_purge(page_);
    TARN_REQUIRE(begins == (state_ == RemoteState::mailed && live_.empty()));
    if (!begins) return;
    TARN_REQUIRE(page_has_no_lists(page_) &&
                 page_collect_unless_mailed(page_, RemoteState::open).count == 0);
    TARN_REQUIRE(!page_use(page_) && !page_open(page_) && !page_kill(page_));
    std::memset(page_->base, 0xee, page_->bytes());
    page_end_purge(page_);
    state_ = RemoteState::purged;
  }

  // Taken out of the mail, or put down by its owner; only a page in the mail can be received.
  void settle(bool taken_out) {
    const bool received = taken_out && is_in_mail();
    page_settle(page_, received);
    pending_.clear();
    if (!received && is_in_mail()) {
      state_ = RemoteState::mailed;
      return;
    }
    state_ = RemoteState::listed;
    // So that the last free is posted in any case.
    threshold_ = live_.empty() ? page_threshold(page_)
                               : std::min<std::size_t>(live_.size(), page_threshold(page_));
  }

  void list(std::size_t threshold) {
    const bool listed = page_list(page_, static_cast<std::uint32_t>(threshold));
    TARN_REQUIRE(listed == pending_.empty());
    if (!listed) return;
    if (is_in_mail()) {
      state_ = RemoteState::mailed;
      return;
    }
    state_ = RemoteState::listed;
    threshold_ = threshold;
  }

  void open() {
    const bool opened = page_open(page_);
    TARN_REQUIRE(opened == !is_in_mail());
    if (opened) state_ = RemoteState::open;
  }

  void check() const {
    TARN_REQUIRE(page_check(page_));
    TARN_REQUIRE(page_->live() == live_.size() + pending_.size());
    const Remote remote{page_->remote.load(std::memory_order_relaxed)};
    TARN_REQUIRE(remote.state() == state_ && remote.count() == pending_.size());
    TARN_REQUIRE((remote.head() == 0) == (pending_.empty() || state_ == RemoteState::purged));
    TARN_REQUIRE(remote.head() == 0 ||
                 pending_.contains(page_->block_at(decode_head(remote.head()))));
  }

  Page* page_;
  RemoteState state_ = RemoteState::open;
  std::size_t threshold_ = 0;  // Of a listed page.
  std::set<Block*> live_;      // Handed out.
  std::set<Block*> pending_;   // Freed by others, not yet seen by the owner.
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  std::vector<PageModel> pages;
  while (input.has_step()) {
    const std::size_t choice = input.below(16);
    if (pages.empty() || (choice == 0 && pages.size() < 6)) {
      const std::size_t c = input.below(class_count);
      pages.emplace_back(c, page_slices(c, input.below(4)));
    } else if (choice == 1) {
      pages.back().finish(input);
      pages.pop_back();
    } else {
      pages[input.below(pages.size())].step(input);
    }
  }
  for (PageModel& page : pages) page.finish(input);
  store.purge(os::clock_coarse_ms() + 1000, 0, 0);
  TARN_REQUIRE(store.check() && store.totals().committed_bytes == 0);
}

}  // namespace tarn::fuzz
