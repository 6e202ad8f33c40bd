// Symbols.
//
// covers: two-level minimisation of a switching function in the way of espresso (Brayton et al.,
// 1984): covers are lists of cubes, complements come by expansion in one variable after the other,
// and cubes are made larger until none is needed for another. proofs: a checker for equations
// between lambda terms: terms are shared and immutable, each step makes new ones.
//
// SPDX-License-Identifier: MIT
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "../meter/process.h"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

// A product of literals: which variables may be 0, and which may be 1. Of its own block.
struct Cube {
  std::uint64_t zero, one;
};

// An array of pointers to cubes that grows by realloc.
class Cover {
 public:
  explicit Cover(unsigned variables) : variables_(variables) {}
  Cover(Cover&& other) noexcept { *this = std::move(other); }
  Cover& operator=(Cover&& other) noexcept {
    std::swap(variables_, other.variables_);
    std::swap(cubes_, other.cubes_);
    std::swap(count_, other.count_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~Cover() {
    for (std::size_t i = 0; i < count_; ++i) delete cubes_[i];
    std::free(cubes_);
  }

  unsigned variables() const { return variables_; }
  std::size_t size() const { return count_; }
  Cube& operator[](std::size_t i) const { return *cubes_[i]; }
  void add(Cube cube) {
    if (count_ == room_) {
      room_ += room_ / 2 + 2;
      auto** const more = static_cast<Cube**>(std::realloc(cubes_, room_ * sizeof(Cube*)));
      if (more == nullptr) fail("out of memory");
      cubes_ = more;
    }
    cubes_[count_++] = new Cube(cube);
  }
  void remove(std::size_t i) {
    delete cubes_[i];
    cubes_[i] = cubes_[--count_];
  }

 private:
  unsigned variables_ = 0;
  Cube** cubes_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

std::uint64_t all_of(unsigned variables) { return (std::uint64_t{1} << variables) - 1; }
bool meet(const Cube& a, const Cube& b, unsigned variables) {
  return ((a.zero & b.zero) | (a.one & b.one)) == all_of(variables);
}
bool contains(const Cube& a, const Cube& b) {
  return (b.zero & ~a.zero) == 0 && (b.one & ~a.one) == 0;
}
bool is_whole(const Cube& cube, unsigned variables) {
  return (cube.zero & cube.one) == all_of(variables);
}

// What is left of the cover where a variable has a value; the variable is free afterwards.
Cover part_where(const Cover& cover, unsigned variable, bool value) {
  const std::uint64_t bit = std::uint64_t{1} << variable;
  Cover part(cover.variables());
  for (std::size_t i = 0; i < cover.size(); ++i) {
    const Cube& cube = cover[i];
    if (((value ? cube.one : cube.zero) & bit) == 0) continue;
    part.add({cube.zero | bit, cube.one | bit});
  }
  return part;
}

// The variable on which most cubes depend.
unsigned busiest_variable(const Cover& cover) {
  unsigned best = 0, best_count = 0;
  for (unsigned v = 0; v < cover.variables(); ++v) {
    unsigned count = 0;
    for (std::size_t i = 0; i < cover.size(); ++i) {
      count += ((cover[i].zero & cover[i].one) >> v & 1) == 0 ? 1 : 0;
    }
    if (count > best_count) best = v, best_count = count;
  }
  return best;
}

void drop_contained(Cover& cover) {
  for (std::size_t i = 0; i < cover.size();) {
    bool is_contained = false;
    for (std::size_t k = 0; k < cover.size() && !is_contained; ++k) {
      is_contained = k != i && contains(cover[k], cover[i]);
    }
    if (is_contained) {
      cover.remove(i);
    } else {
      ++i;
    }
  }
}

Cover complement(const Cover& cover) {
  const unsigned variables = cover.variables();
  const std::uint64_t all = all_of(variables);
  Cover result(variables);
  for (std::size_t i = 0; i < cover.size(); ++i) {
    if (is_whole(cover[i], variables)) return result;
  }
  if (cover.size() == 0) {
    result.add({all, all});
    return result;
  }
  if (cover.size() == 1) {  // Each literal the other way round.
    const Cube cube = cover[0];
    for (unsigned v = 0; v < variables; ++v) {
      const std::uint64_t bit = std::uint64_t{1} << v;
      if ((cube.zero & bit) == 0) result.add({all, all & ~bit});
      if ((cube.one & bit) == 0) result.add({all & ~bit, all});
    }
    return result;
  }
  const unsigned variable = busiest_variable(cover);
  const std::uint64_t bit = std::uint64_t{1} << variable;
  for (const bool value : {false, true}) {
    const Cover part = complement(part_where(cover, variable, value));
    for (std::size_t i = 0; i < part.size(); ++i) {
      result.add({part[i].zero & (value ? ~bit : all), part[i].one & (value ? all : ~bit)});
    }
  }
  drop_contained(result);
  return result;
}

bool covers(const Cover& cover, const Cube& cube) {
  Cover inside(cover.variables());
  const std::uint64_t all = all_of(cover.variables());
  const std::uint64_t fixed = all & ~(cube.zero & cube.one);
  for (std::size_t i = 0; i < cover.size(); ++i) {
    if (meet(cover[i], cube, cover.variables())) {
      inside.add({cover[i].zero | fixed, cover[i].one | fixed});
    }
  }
  return complement(inside).size() == 0;
}

// Makes each cube as large as the off-set allows.
void expand(Cover& cover, const Cover& off, Random& random) {
  for (std::size_t i = 0; i < cover.size(); ++i) {
    const unsigned first = static_cast<unsigned>(random.below(cover.variables()));
    for (unsigned k = 0; k < cover.variables(); ++k) {
      const std::uint64_t bit = std::uint64_t{1} << (first + k) % cover.variables();
      const Cube larger{cover[i].zero | bit, cover[i].one | bit};
      bool is_free = true;
      for (std::size_t o = 0; o < off.size() && is_free; ++o) {
        is_free = !meet(larger, off[o], cover.variables());
      }
      if (is_free) cover[i] = larger;
    }
  }
  drop_contained(cover);
}

void make_irredundant(Cover& cover) {
  for (std::size_t i = 0; i < cover.size();) {
    Cover others(cover.variables());
    for (std::size_t k = 0; k < cover.size(); ++k) {
      if (k != i) others.add(cover[k]);
    }
    if (covers(others, cover[i])) {
      cover.remove(i);
    } else {
      ++i;
    }
  }
}

struct Term;
using Shared = std::shared_ptr<const Term>;

// A lambda term: a variable by the number of binders between (de Bruijn), or one or two parts.
struct Term {
  enum Kind { variable, function, application } kind;
  unsigned index = 0;
  Shared first, second;
};

Shared variable(unsigned index) {
  return std::make_shared<const Term>(Term{Term::variable, index, nullptr, nullptr});
}
Shared function(Shared body) {
  return std::make_shared<const Term>(Term{Term::function, 0, std::move(body), nullptr});
}
Shared apply(Shared f, Shared x) {
  return std::make_shared<const Term>(Term{Term::application, 0, std::move(f), std::move(x)});
}

Shared lifted(const Shared& term, unsigned by, unsigned from) {
  if (by == 0) return term;
  if (term->kind == Term::variable) {
    return term->index < from ? term : variable(term->index + by);
  }
  if (term->kind == Term::function) return function(lifted(term->first, by, from + 1));
  return apply(lifted(term->first, by, from), lifted(term->second, by, from));
}

Shared substituted(const Shared& term, const Shared& value, unsigned depth) {
  if (term->kind == Term::variable) {
    if (term->index == depth) return lifted(value, depth, 0);
    return term->index > depth ? variable(term->index - 1) : term;
  }
  if (term->kind == Term::function) return function(substituted(term->first, value, depth + 1));
  return apply(substituted(term->first, value, depth), substituted(term->second, value, depth));
}

// Outermost first; counts steps.
Shared normal_form(Shared term, std::uint64_t& steps) {
  while (term->kind == Term::application) {
    const Shared f = normal_form(term->first, steps);
    if (f->kind != Term::function) return apply(f, normal_form(term->second, steps));
    term = substituted(f->first, term->second, 0);
    ++steps;
  }
  if (term->kind == Term::function) return function(normal_form(term->first, steps));
  return term;
}

bool equal(const Shared& a, const Shared& b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->index != b->index) return false;
  if (a->kind == Term::variable) return true;
  if (!equal(a->first, b->first)) return false;
  return a->kind == Term::function || equal(a->second, b->second);
}

// Church's numbers, with sums and products.
Shared numeral(std::uint64_t n) {
  Shared body = variable(0);
  for (; n != 0; --n) body = apply(variable(1), body);
  return function(function(body));
}
Shared times() {
  return function(function(function(apply(variable(2), apply(variable(1), variable(0))))));
}
Shared plus() {
  return function(function(function(function(apply(
      apply(variable(3), variable(1)), apply(apply(variable(2), variable(1)), variable(0)))))));
}

}  // namespace

std::uint64_t run_covers(const Request& request) {
  Random random(request.seed * 16 + 1);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    const unsigned variables = static_cast<unsigned>(random.between(9, 12));
    const std::uint64_t all = all_of(variables);
    Cover on(variables);
    for (std::size_t cubes = random.between(20, 50); cubes != 0; --cubes) {
      const std::uint64_t free = random.next() & random.next() & all;
      const std::uint64_t values = random.next();
      on.add({(free | ~values) & all, (free | values) & all});
    }
    const Cover off = complement(on);
    expand(on, off, random);
    make_irredundant(on);
    sum = sum * 31 + on.size() + off.size();
    for (std::size_t k = 0; k < on.size(); ++k) {
      sum += static_cast<unsigned>(std::popcount(on[k].zero & on[k].one));
    }
  }
  return sum;
}

std::uint64_t run_proofs(const Request& request) {
  Random random(request.seed * 16 + 2);
  std::uint64_t steps = 0;
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    const std::uint64_t a = random.between(2, 9), b = random.between(2, 9),
                        c = random.between(1, 6);
    const Shared left =  // a (b + c) = a b + c a
        apply(apply(times(), numeral(a)), apply(apply(plus(), numeral(b)), numeral(c)));
    const Shared right = apply(apply(plus(), apply(apply(times(), numeral(a)), numeral(b))),
                               apply(apply(times(), numeral(c)), numeral(a)));
    held += equal(normal_form(left, steps), normal_form(right, steps)) ? 1 : 0;
  }
  return held * 1'000'003 + steps;
}

}  // namespace tarn
