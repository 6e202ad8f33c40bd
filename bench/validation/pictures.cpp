// Pictures.
//
// pages: curves and glyphs of pages are flattened, sorted into edges, filled into a raster and
// packed, as a viewer of documents does. images: bands of planes go from thread to thread through
// stages that filter, shrink and count; each stage makes its own planes and frees what it got.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "../meter/process.h"
#include "../workloads/queue.hpp"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

struct Dot {
  float x, y;
};

struct Edge {
  float x, slope;
  int first, last;  // Lines.
};

using Outline = std::vector<Dot>;

// A curve of four points, halved until it is flat.
void flatten(const Dot (&p)[4], int depth, Outline& outline) {
  const float bend =
      std::abs(p[0].x - 2 * p[1].x + p[2].x) + std::abs(p[1].y - 2 * p[2].y + p[3].y);
  if (depth == 0 || bend < 2) {
    outline.push_back(p[3]);
    return;
  }
  const auto middle = [](Dot a, Dot b) { return Dot{(a.x + b.x) / 2, (a.y + b.y) / 2}; };
  const Dot a = middle(p[0], p[1]), b = middle(p[1], p[2]), c = middle(p[2], p[3]);
  const Dot d = middle(a, b), e = middle(b, c), f = middle(d, e);
  flatten({p[0], a, d, f}, depth - 1, outline);
  flatten({f, e, c, p[3]}, depth - 1, outline);
}

class Raster {
 public:
  Raster(int width, int height)
      : width_(width),
        height_(height),
        bytes_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)),
        pixels_(static_cast<unsigned char*>(std::calloc(bytes_, 1))) {
    if (pixels_ == nullptr) fail("out of memory");
  }
  ~Raster() { std::free(pixels_); }
  Raster(const Raster&) = delete;
  Raster& operator=(const Raster&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }
  unsigned char* line(int y) { return pixels_ + static_cast<std::ptrdiff_t>(y) * width_; }

  void fill(const Outline& outline, unsigned char colour) {
    std::vector<std::list<Edge>> starting(static_cast<std::size_t>(height_));
    for (std::size_t i = 0; i < outline.size(); ++i) {
      Dot a = outline[i], b = outline[(i + 1) % outline.size()];
      if (a.y > b.y) std::swap(a, b);
      const int first = std::clamp(static_cast<int>(a.y), 0, height_ - 1);
      const int last = std::clamp(static_cast<int>(b.y), 0, height_ - 1);
      if (first == last) continue;
      const float slope = (b.x - a.x) / (b.y - a.y);
      starting[static_cast<std::size_t>(first)].push_back({a.x, slope, first, last});
    }
    std::list<Edge> active;
    for (int y = 0; y < height_; ++y) {
      active.splice(active.end(), starting[static_cast<std::size_t>(y)]);
      active.remove_if([y](const Edge& edge) { return edge.last <= y; });
      active.sort([](const Edge& a, const Edge& b) { return a.x < b.x; });
      for (auto at = active.begin(); at != active.end() && std::next(at) != active.end();) {
        const int from = std::clamp(static_cast<int>(at->x), 0, width_);
        const int to = std::clamp(static_cast<int>(std::next(at)->x), from, width_);
        std::memset(line(y) + from, colour, static_cast<std::size_t>(to - from));
        std::advance(at, 2);
      }
      for (Edge& edge : active) edge.x += edge.slope;
    }
  }

  // Runs of equal bytes, in an array that grows.
  std::uint64_t packed_sum() const {
    unsigned char* packed = nullptr;
    std::size_t room = 0, count = 0;
    for (std::size_t i = 0; i < bytes_;) {
      std::size_t run = 1;
      while (run < 255 && i + run < bytes_ && pixels_[i + run] == pixels_[i]) ++run;
      if (count + 2 > room) {
        room = room * 2 + 256;
        packed = static_cast<unsigned char*>(std::realloc(packed, room));
        if (packed == nullptr) fail("out of memory");
      }
      packed[count++] = static_cast<unsigned char>(run);
      packed[count++] = pixels_[i];
      i += run;
    }
    std::uint64_t sum = count;
    for (std::size_t i = 0; i < count; ++i) sum = sum * 17 + packed[i];
    std::free(packed);
    return sum;
  }

 private:
  int width_, height_;
  std::size_t bytes_;
  unsigned char* pixels_;
};

struct Glyph {
  int width, height;
  std::unique_ptr<unsigned char[]> pixels;
};

// Glyphs by number and size; those that were used the longest ago leave.
class Glyphs {
 public:
  explicit Glyphs(std::size_t most) : most_(most) {}

  const Glyph& glyph(std::uint64_t number, int size) {
    const std::pair key(number, size);
    const auto known = glyphs_.find(key);
    if (known != glyphs_.end()) {
      order_.splice(order_.end(), order_, known->second.place);
      return known->second.glyph;
    }
    if (glyphs_.size() == most_) {
      glyphs_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(key);
    const int height = size + static_cast<int>(number % 5);
    const auto bytes = static_cast<std::size_t>(size) * static_cast<std::size_t>(height);
    Glyph made{size, height, std::make_unique<unsigned char[]>(bytes)};
    for (std::size_t i = 0; i < bytes; ++i) {
      made.pixels[i] = static_cast<unsigned char>((i * (number + 3)) >> 3);
    }
    return glyphs_.emplace(key, Known{std::move(made), std::prev(order_.end())})
        .first->second.glyph;
  }

 private:
  using Key = std::pair<std::uint64_t, int>;
  struct Known {
    Glyph glyph;
    std::list<Key>::iterator place;
  };
  std::size_t most_;
  std::map<Key, Known> glyphs_;
  std::list<Key> order_;
};

void draw_text(Raster& raster, Glyphs& glyphs, Random& random, int size) {
  int x = static_cast<int>(random.below(static_cast<std::uint64_t>(raster.width())));
  const int y = static_cast<int>(random.below(static_cast<std::uint64_t>(raster.height())));
  for (std::size_t n = random.between(3, 40); n != 0; --n) {
    const Glyph& glyph = glyphs.glyph(random.below(90), size);
    for (int row = 0; row < glyph.height && y + row < raster.height(); ++row) {
      const int wide = std::min(glyph.width, raster.width() - x);
      if (wide <= 0) return;
      std::memcpy(raster.line(y + row) + x,
                  &glyph.pixels[static_cast<std::size_t>(row * glyph.width)],
                  static_cast<std::size_t>(wide));
    }
    x += glyph.width;
  }
}

Dot some_dot(Random& random, const Raster& raster) {
  return {static_cast<float>(random.below(static_cast<std::uint64_t>(raster.width()))),
          static_cast<float>(random.below(static_cast<std::uint64_t>(raster.height())))};
}

struct Plane {
  std::size_t width, height;
  std::vector<std::uint16_t> pixels;
};

using PlanePointer = std::unique_ptr<Plane>;

using Stage = BoundedQueue<PlanePointer, 4>;

PlanePointer load(Random& random, std::size_t width) {
  auto plane = std::make_unique<Plane>();
  plane->width = width;
  plane->height = random.between(width / 8, width / 2);
  plane->pixels.resize(plane->width * plane->height);
  std::uint64_t value = random.next();
  for (std::uint16_t& pixel : plane->pixels) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    pixel = static_cast<std::uint16_t>(value >> 52);
  }
  return plane;
}

PlanePointer smoothed(const Plane& plane) {
  auto made = std::make_unique<Plane>(Plane{plane.width, plane.height, {}});
  made->pixels.resize(plane.pixels.size());
  std::vector<std::uint32_t> sums(plane.width);
  for (std::size_t y = 0; y < plane.height; ++y) {
    const std::uint16_t* const from = &plane.pixels[y * plane.width];
    for (std::size_t x = 0; x < plane.width; ++x) {
      sums[x] = (3 * sums[x] + from[x] + from[x == 0 ? 0 : x - 1]) / 5;
      made->pixels[y * plane.width + x] = static_cast<std::uint16_t>(sums[x]);
    }
  }
  return made;
}

PlanePointer halved(const Plane& plane) {
  auto made = std::make_unique<Plane>(Plane{plane.width / 2, plane.height / 2, {}});
  made->pixels.reserve(made->width * made->height);
  for (std::size_t y = 0; y < made->height; ++y) {
    for (std::size_t x = 0; x < made->width; ++x) {
      const std::size_t at = 2 * y * plane.width + 2 * x;
      made->pixels.push_back(static_cast<std::uint16_t>(
          (plane.pixels[at] + plane.pixels[at + 1] + plane.pixels[at + plane.width]) / 3));
    }
  }
  return made;
}

std::uint64_t histogram_sum(const Plane& plane) {
  std::vector<std::uint32_t> counts(4096);
  for (const std::uint16_t pixel : plane.pixels) ++counts[pixel % 4096];
  std::uint64_t sum = plane.pixels.size();
  for (const std::uint32_t count : counts) sum = sum * 3 + count;
  return sum;
}

}  // namespace

std::uint64_t run_pages(const Request& request) {
  Random random(request.seed * 256 + 1);
  const int width = static_cast<int>(random.between(400, 1200));
  const int height = width * 4 / 3;
  const std::size_t shapes = random.between(20, 80);
  Glyphs glyphs(random.between(100, 600));
  std::uint64_t sum = 0;
  for (std::uint64_t page = 0; page < request.size; ++page) {
    Raster raster(width, height);
    std::vector<std::pair<Outline, unsigned char>> drawn;
    for (std::size_t i = 0; i < shapes; ++i) {
      Outline outline;
      Dot p[4] = {some_dot(random, raster), {}, {}, {}};
      for (std::size_t curves = random.between(1, 6); curves != 0; --curves) {
        for (int k = 1; k < 4; ++k) p[k] = some_dot(random, raster);
        flatten(p, 8, outline);
        p[0] = p[3];
      }
      drawn.emplace_back(std::move(outline), static_cast<unsigned char>(random.below(256)));
    }
    for (const auto& [outline, colour] : drawn) raster.fill(outline, colour);
    for (std::size_t i = 0; i < 4 * shapes; ++i) {
      draw_text(raster, glyphs, random, static_cast<int>(random.between(6, 30)));
    }
    sum = sum * 31 + raster.packed_sum();
  }
  return sum;
}

std::uint64_t run_images(const Request& request) {
  Random random(request.seed * 256 + 2);
  const std::size_t width = random.between(600, 2400) / 2 * 2;
  Stage loaded, filtered;
  std::thread loader([&loaded, &request, own = Random(random.next()), width]() mutable {
    for (std::uint64_t done = 0; done < request.size;) {
      PlanePointer plane = load(own, width);
      done += plane->pixels.size();
      loaded.push(std::move(plane));
    }
    loaded.push(nullptr);
  });
  std::thread filter([&loaded, &filtered] {
    while (const PlanePointer plane = loaded.pop()) filtered.push(smoothed(*plane));
    filtered.push(nullptr);
  });
  std::uint64_t sum = width;
  while (PlanePointer plane = filtered.pop()) {
    while (plane->width >= 32 && plane->height >= 4) {
      sum = sum * 31 + histogram_sum(*plane);
      plane = halved(*plane);
    }
  }
  loader.join();
  filter.join();
  return sum;
}

}  // namespace tarn
