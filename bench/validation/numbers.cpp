// Arithmetic on many small blocks.
//
// factoring: products of two primes are taken apart by Pollard's rho, on numbers of any length
// whose digits are allocated (as cfrac and its like do). bodies: the hierarchical method of Barnes
// and Hut: each step builds a tree of cells over the bodies, and drops it.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

// A natural number: 16 bits a digit, the lowest first, no zeros at the end.
class Natural {
 public:
  Natural(std::uint64_t value = 0) {
    for (; value != 0; value >>= 16) digits_.push_back(static_cast<Digit>(value));
  }
  bool is_zero() const { return digits_.empty(); }
  bool is_one() const { return digits_.size() == 1 && digits_[0] == 1; }
  std::uint64_t low() const {
    std::uint64_t value = 0;
    for (std::size_t i = std::min<std::size_t>(digits_.size(), 4); i-- != 0;) {
      value = value << 16 | digits_[i];
    }
    return value;
  }

  friend bool operator<(const Natural& a, const Natural& b) {
    if (a.digits_.size() != b.digits_.size()) return a.digits_.size() < b.digits_.size();
    return std::lexicographical_compare(a.digits_.rbegin(), a.digits_.rend(), b.digits_.rbegin(),
                                        b.digits_.rend());
  }
  friend bool operator==(const Natural& a, const Natural& b) { return a.digits_ == b.digits_; }

  friend Natural operator+(const Natural& a, const Natural& b) {
    Natural sum;
    std::uint32_t carry = 0;
    for (std::size_t i = 0; i < a.digits_.size() || i < b.digits_.size() || carry != 0; ++i) {
      carry += std::uint32_t{a.digit(i)} + b.digit(i);
      sum.digits_.push_back(static_cast<Digit>(carry));
      carry >>= 16;
    }
    return sum;
  }
  // pre: b <= a
  friend Natural operator-(const Natural& a, const Natural& b) {
    Natural difference;
    std::int32_t borrow = 0;
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      std::int32_t digit = std::int32_t{a.digit(i)} - b.digit(i) - borrow;
      borrow = digit < 0 ? 1 : 0;
      digit += borrow << 16;
      difference.digits_.push_back(static_cast<Digit>(digit));
    }
    difference.trim();
    return difference;
  }
  friend Natural operator*(const Natural& a, const Natural& b) {
    Natural product;
    product.digits_.resize(a.digits_.size() + b.digits_.size());
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      std::uint32_t carry = 0;
      for (std::size_t k = 0; k < b.digits_.size() || carry != 0; ++k) {
        carry += std::uint32_t{a.digits_[i]} * b.digit(k) + product.digits_[i + k];
        product.digits_[i + k] = static_cast<Digit>(carry);
        carry >>= 16;
      }
    }
    product.trim();
    return product;
  }
  // The remainder, by long division, a digit of the quotient at a time.
  friend Natural operator%(const Natural& a, const Natural& b) {
    Natural rest;
    const std::uint64_t top = b.top();
    for (std::size_t i = a.digits_.size(); i-- != 0;) {
      rest.digits_.insert(rest.digits_.begin(), a.digits_[i]);
      rest.trim();
      while (!(rest < b)) {
        const std::size_t longer = rest.digits_.size() - b.digits_.size();
        const std::uint64_t head = longer == 0 ? rest.top() : rest.top() << 16 | rest.second();
        const std::uint64_t guess = std::max<std::uint64_t>(head / (top + 1), 1);
        rest = rest - b * Natural(guess);
      }
    }
    return rest;
  }

 private:
  using Digit = std::uint16_t;

  Digit digit(std::size_t i) const { return i < digits_.size() ? digits_[i] : Digit{0}; }
  std::uint64_t top() const { return digits_.back(); }
  std::uint64_t second() const { return digit(digits_.size() - 2); }
  void trim() {
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }

  std::vector<Digit> digits_;
};

Natural common_divisor(Natural a, Natural b) {
  while (!b.is_zero()) {
    Natural rest = a % b;
    a = std::move(b);
    b = std::move(rest);
  }
  return a;
}

Natural distance(const Natural& a, const Natural& b) { return a < b ? b - a : a - b; }

Natural factor_of(const Natural& n) {
  for (std::uint64_t c = 1;; ++c) {
    Natural slow(2), fast(2), factor(1);
    const auto step = [&](const Natural& x) { return (x * x + Natural(c)) % n; };
    while (factor.is_one()) {
      Natural product(1);  // Of some differences, so that divisors are looked for less often.
      for (int i = 0; i < 16; ++i) {
        slow = step(slow);
        fast = step(step(fast));
        product = (product * distance(slow, fast)) % n;
      }
      factor = product.is_zero() ? n : common_divisor(product, n);
    }
    if (!(factor == n)) return factor;
  }
}

bool is_prime(std::uint64_t n) {
  for (std::uint64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

std::uint64_t some_prime(Random& random, std::uint64_t least, std::uint64_t most) {
  std::uint64_t n = random.between(least, most) | 1;
  while (!is_prime(n)) n += 2;
  return n;
}

struct Point {
  double x = 0, y = 0;
};

struct Body {
  Point at, speed;
  double mass = 1;
};

struct Cell {
  Point corner;
  double side;
  double mass = 0;
  Point centre;                // Of its mass.
  const Body* body = nullptr;  // The only one.
  std::unique_ptr<Cell> parts[4];

  Cell(Point at, double width) : corner(at), side(width) {}

  Cell& part_of(Point p) {
    const double half = side / 2;
    const int right = p.x >= corner.x + half ? 1 : 0;
    const int upper = p.y >= corner.y + half ? 1 : 0;
    std::unique_ptr<Cell>& part = parts[2 * upper + right];
    if (part == nullptr) {
      part = std::make_unique<Cell>(Point{corner.x + right * half, corner.y + upper * half}, half);
    }
    return *part;
  }

  void add(const Body& added) {
    const bool was_empty = mass == 0;
    const double all = mass + added.mass;
    centre = {(centre.x * mass + added.at.x * added.mass) / all,
              (centre.y * mass + added.at.y * added.mass) / all};
    mass = all;
    if (was_empty) {
      body = &added;
      return;
    }
    if (side < 1e-9) return;  // As good as in one place.
    if (body != nullptr) part_of(body->at).add(*body);
    body = nullptr;
    part_of(added.at).add(added);
  }

  void pull(const Body& on, double openness, Point& force) const {
    const double dx = centre.x - on.at.x;
    const double dy = centre.y - on.at.y;
    const double squared = dx * dx + dy * dy + 1e-4;
    if (body == &on) return;
    if (body != nullptr || side * side < openness * openness * squared) {
      const double strength = mass / (squared * std::sqrt(squared));
      force.x += dx * strength;
      force.y += dy * strength;
      return;
    }
    for (const std::unique_ptr<Cell>& part : parts) {
      if (part != nullptr) part->pull(on, openness, force);
    }
  }
};

}  // namespace

std::uint64_t run_factoring(const Request& request) {
  Random random(request.seed * 8 + 1);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    const std::uint64_t p = some_prime(random, 20'000, 60'000);
    const std::uint64_t q = some_prime(random, 1'000'000, 2'000'000'000);
    const std::uint64_t r = some_prime(random, 1'000'000, 2'000'000'000);
    const Natural n = Natural(p) * Natural(q) * Natural(r);
    sum += factor_of(n).low();
  }
  return sum;
}

std::uint64_t run_bodies(const Request& request) {
  Random random(request.seed * 8 + 2);
  std::vector<Body> bodies(random.between(1500, 6000));
  const auto unit = [&] { return static_cast<double>(random.next() >> 11) / 9007199254740992.0; };
  for (Body& body : bodies) {
    const double angle = unit() * 6.283, radius = unit() * unit();
    body.at = {0.5 + 0.5 * radius * std::cos(angle), 0.5 + 0.5 * radius * std::sin(angle)};
    body.mass = 1 + unit();
  }
  const double openness = 0.9 + unit() / 2;
  for (std::uint64_t done = 0; done < request.size; done += bodies.size()) {
    Cell root({-4, -4}, 9);
    for (const Body& body : bodies) root.add(body);
    for (Body& body : bodies) {
      Point force;
      root.pull(body, openness, force);
      body.speed = {body.speed.x + force.x * 1e-8, body.speed.y + force.y * 1e-8};
      body.at = {body.at.x + body.speed.x, body.at.y + body.speed.y};
    }
  }
  double sum = 0;
  for (const Body& body : bodies) sum += std::abs(body.at.x) + std::abs(body.at.y);
  return static_cast<std::uint64_t>(sum * 1e6);
}

}  // namespace tarn
