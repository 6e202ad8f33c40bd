// sqlite_pages: SQLite's page cache as sqlite3_pcache_methods2 has it, against a map of the pages:
// in any order of calls.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <map>
#include <random>

#include "sqlite.hpp"

namespace {

constexpr int page_bytes = 1024;
constexpr int extra_bytes = 200;

class Model {
 public:
  Model(unsigned seed, bool is_purgeable) : random_(seed), is_purgeable_(is_purgeable) {
    cache_ = methods_.xCreate(page_bytes, extra_bytes, is_purgeable);
    if (is_purgeable) methods_.xCachesize(cache_, limit_);
  }
  ~Model() { methods_.xDestroy(cache_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void step() {
    switch (random() % 12) {
      case 0: truncate(1 + random() % 120); break;
      case 1: rekey(); break;
      case 2:
        if (random() % 4 == 0) resize();
        break;
      case 3:
        if (random() % 8 == 0) methods_.xShrink(cache_);
        break;
      case 4:
      case 5:
      case 6:
      case 7: unpin(random() % 8 == 0); break;
      default: fetch(1 + random() % 100, int(random() % 3));
    }
    check();
  }

 private:
  struct Page {
    sqlite3_pcache_page* page;
    unsigned value;
    bool is_pinned;
  };
  using Pages = std::map<unsigned, Page>;

  // The cache may have given up what nobody has pinned; what it says it has must be what it was.
  void fetch(unsigned key, int create) {
    const auto known = pages_.find(key);
    sqlite3_pcache_page* const page = methods_.xFetch(cache_, key, create);
    if (known != pages_.end() && (known->second.is_pinned || !is_purgeable_)) {
      ASSERT_EQ(page, known->second.page) << key;
    }
    if (page == nullptr) {
      ASSERT_TRUE(create != 2) << "there is memory";
      if (known != pages_.end()) pages_.erase(known);
      return;
    }
    unsigned char* const data = static_cast<unsigned char*>(page->pBuf);
    void* mark = nullptr;
    std::memcpy(&mark, page->pExtra, sizeof mark);
    if (known != pages_.end() && mark != nullptr) {
      ASSERT_EQ(page, known->second.page);
      require_value(known->second);
      known->second.is_pinned = true;
      return;
    }
    ASSERT_EQ(mark, nullptr) << "a new page says so";
    ASSERT_NE(create, 0);
    const Page made{page, ++value_, true};
    std::memset(data, int(made.value & 0xff), page_bytes);
    std::memset(page->pExtra, 0xee, extra_bytes);
    pages_[key] = made;
  }

  Pages::iterator any_pinned() {
    for (int tries = 0; tries < 10 && !pages_.empty(); ++tries) {
      const auto found = std::next(pages_.begin(), std::ptrdiff_t(random() % pages_.size()));
      if (found->second.is_pinned) return found;
    }
    return pages_.end();
  }
  void unpin(bool discards) {
    const auto found = any_pinned();
    if (found == pages_.end()) return;
    require_value(found->second);
    methods_.xUnpin(cache_, found->second.page, discards);
    found->second.is_pinned = false;
    if (discards) pages_.erase(found);
  }
  // To a key that nobody has pinned.
  void rekey() {
    const auto found = any_pinned();
    const unsigned key = 1 + random() % 120;
    if (found == pages_.end()) return;
    const auto other = pages_.find(key);
    if (other != pages_.end() && other->second.is_pinned) return;
    const Page moved = found->second;
    methods_.xRekey(cache_, moved.page, found->first, key);
    pages_.erase(found);
    pages_[key] = moved;
  }
  void truncate(unsigned key) {
    methods_.xTruncate(cache_, key);
    pages_.erase(pages_.lower_bound(key), pages_.end());
  }
  void resize() {
    if (!is_purgeable_) return;
    limit_ = int(random() % 90);
    methods_.xCachesize(cache_, limit_);
  }

  static void require_value(const Page& page) {
    const auto* const data = static_cast<const unsigned char*>(page.page->pBuf);
    ASSERT_EQ(data[0], page.value & 0xff);
    ASSERT_EQ(data[page_bytes - 1], page.value & 0xff);
    ASSERT_EQ(static_cast<unsigned char*>(page.page->pExtra)[extra_bytes - 1], 0xee);
  }

  void check() {
    std::size_t pinned = 0;
    for (const auto& [key, page] : pages_) {
      if (page.is_pinned) require_value(page);
      pinned += page.is_pinned;
    }
    const auto count = static_cast<std::size_t>(methods_.xPagecount(cache_));
    ASSERT_GE(count, pinned);
    ASSERT_LE(count, pages_.size());
    if (!is_purgeable_) {
      ASSERT_EQ(count, pages_.size());
    }
  }

  const sqlite3_pcache_methods2 methods_ = tarn_sqlite3_cache_methods();
  sqlite3_pcache* cache_ = nullptr;
  unsigned random() { return static_cast<unsigned>(random_()); }
  std::mt19937 random_;
  const bool is_purgeable_;
  int limit_ = 40;
  unsigned value_ = 0;
  Pages pages_;
};

class Pages : public sqlite::Sqlite {};

TEST_F(Pages, AreWhatTheyWere) {
  for (unsigned seed = 1; seed <= 40 && !HasFatalFailure(); ++seed) {
    Model model(seed, seed % 2 == 0);
    for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) model.step();
  }
  EXPECT_EQ(all().pages, 0u);
  EXPECT_EQ(all().heaps, 2u);
}

}  // namespace
