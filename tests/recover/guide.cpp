// The example of docs/recover.md, with an index and pictures that are small enough for a test.
//
// SPDX-License-Identifier: MIT
#include <deque>

#include "recover.hpp"
#include "tarn/heap/heap.hpp"

namespace recovering {
namespace {

struct Pixel {
  unsigned char red, green, blue, alpha;
};

// Entries in a heap; the oldest are dropped first.
class Index {
 public:
  explicit Index(tarn::HeapRef heap) : heap_(heap) {}
  ~Index() { drop_oldest(SIZE_MAX); }
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;
  void add(std::size_t bytes) { entries_.push_back(heap_.allocate(bytes)); }
  std::size_t drop_oldest(std::size_t wanted) {
    std::size_t dropped = 0;
    for (; dropped < wanted && !entries_.empty(); entries_.pop_front()) {
      dropped += tarn_malloc_usable_size(entries_.front());
      tarn_free(entries_.front());
    }
    return dropped;
  }
  std::size_t size() const { return entries_.size(); }

 private:
  tarn::HeapRef heap_;
  std::deque<void*> entries_;
};

constexpr std::size_t width = 512;
constexpr std::size_t height = 256;
constexpr std::size_t picture_count = 40;  // 512 KiB each.

TEST(RecoverGuide, AnImageCacheAndAnIndexUnderOneCeiling) {
  tarn::HeapOptions limited;
  limited.name = "pictures";
  limited.ceiling_bytes = 8 * mib;
  tarn::Heap pictures(limited);

  Index index(pictures);
  tarn::ReclaimerOptions first;
  first.heap = pictures.get();
  first.priority = -1;
  tarn::Reclaimer index_gives([&](std::size_t wanted) { return index.drop_oldest(wanted); }, first);
  for (int i = 0; i < 2'000; ++i) index.add(1'000);

  std::vector<std::unique_ptr<tarn::Purgeable<Pixel>>> all;
  std::size_t decoded = 0;
  std::size_t drawn = 0;
  const auto draw = [&](std::size_t which) {
    tarn::Purgeable<Pixel>& picture = *all[which];
    if (auto pixels = picture.lock_or_fill([&](Pixel* to, std::size_t n) {
          ++decoded;
          for (std::size_t i = 0; i < n; ++i) to[i].red = static_cast<unsigned char>(which);
        })) {
      EXPECT_EQ(pixels[pixels.size() - 1].red, which);
      ++drawn;
    }
  };
  for (std::size_t i = 0; i < picture_count; ++i) {
    all.push_back(std::make_unique<tarn::Purgeable<Pixel>>(width * height, pictures.get()));
    draw(i);
    draw(0);  // Looked at all the time: it stays.
  }
  EXPECT_EQ(drawn, 2 * picture_count);
  EXPECT_EQ(index.size(), 0u) << "it goes before any picture does";
  EXPECT_LE(committed(pictures.get()), 8 * mib);
  // Nearly all were decoded once, though most have vanished since; the one in use rarely again.
  EXPECT_GE(decoded, picture_count);
  EXPECT_LE(decoded, picture_count + picture_count / 8);
  std::size_t there = 0;
  for (auto& picture : all) there += static_cast<bool>(picture->lock());
  EXPECT_GE(there, 8u);
  EXPECT_LE(there, 16u);
}

// The same in C's functions.
TEST(RecoverGuide, InC) {
  const Heap pictures(options(2 * mib));
  constexpr std::size_t bytes = 300 * kib;
  int decoded = 0;
  tarn_purgeable all[20] = {};
  for (tarn_purgeable& picture : all) {
    ASSERT_EQ(tarn_purgeable_begin(&picture, pictures, bytes), 0);
    void* pixels = tarn_purgeable_lock(&picture);
    if (pixels == nullptr) {
      pixels = tarn_purgeable_refill(&picture);
      if (pixels != nullptr) ++decoded, std::memset(pixels, 1, bytes);
    }
    ASSERT_NE(pixels, nullptr);
    tarn_purgeable_unlock(&picture);
  }
  EXPECT_EQ(decoded, 20);
  for (tarn_purgeable& picture : all) EXPECT_EQ(tarn_purgeable_end(&picture), 0);
}

}  // namespace
}  // namespace recovering
