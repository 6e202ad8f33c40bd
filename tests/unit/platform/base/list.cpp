// The intrusive list against std::deque.
//
// SPDX-License-Identifier: MIT
#include "platform/base/list.hpp"

#include <array>
#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace tarn {
namespace {

struct Element {
  Element* next = nullptr;
  Element* prev = nullptr;
};

void expect_same(const List<Element>& list, const std::deque<Element*>& model) {
  ASSERT_TRUE(list.check());
  ASSERT_EQ(list.empty(), model.empty());
  ASSERT_EQ(list.head(), model.empty() ? nullptr : model.front());
  ASSERT_EQ(list.tail(), model.empty() ? nullptr : model.back());
  const Element* at = list.head();
  for (const Element* element : model) {
    ASSERT_EQ(at, element);
    at = at->next;
  }
  ASSERT_EQ(at, nullptr);
}

TEST(List, PushesAtBothEnds) {
  std::array<Element, 3> e;
  List<Element> list;
  expect_same(list, {});
  list.push_back(&e[1]);
  list.push_front(&e[0]);
  list.push_back(&e[2]);
  expect_same(list, {&e[0], &e[1], &e[2]});
}

TEST(List, RemovesTheHeadTheMiddleAndTheTail) {
  std::array<Element, 4> e;
  List<Element> list;
  for (Element& element : e) list.push_back(&element);
  list.remove(&e[1]);
  expect_same(list, {&e[0], &e[2], &e[3]});
  EXPECT_EQ(e[1].next, nullptr);
  EXPECT_EQ(e[1].prev, nullptr);
  list.remove(&e[3]);
  expect_same(list, {&e[0], &e[2]});
  list.remove(&e[0]);
  expect_same(list, {&e[2]});
  list.remove(&e[2]);
  expect_same(list, {});
}

TEST(List, PopOfAnEmptyListIsNull) {
  List<Element> list;
  EXPECT_EQ(list.pop_front(), nullptr);
  Element e;
  list.push_back(&e);
  EXPECT_EQ(list.pop_front(), &e);
  EXPECT_EQ(list.pop_front(), nullptr);
  EXPECT_TRUE(list.check());
}

TEST(List, AbandonLeavesTheElementsAlone) {
  std::array<Element, 2> e;
  List<Element> list;
  list.push_back(&e[0]);
  list.push_back(&e[1]);
  list.abandon();
  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(list.check());
  EXPECT_EQ(e[0].next, &e[1]);
}

TEST(List, CheckFindsABrokenLink) {
  std::array<Element, 3> e;
  List<Element> list;
  for (Element& element : e) list.push_back(&element);
  e[2].prev = &e[0];
  EXPECT_FALSE(list.check());
  e[2].prev = &e[1];
  EXPECT_TRUE(list.check());
  e[1].next = nullptr;
  EXPECT_FALSE(list.check());
}

#ifdef TARN_DEBUG
TEST(ListDeathTest, AnElementOfNoListOrOfAnotherIsNotRemoved) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::array<Element, 4> e;
  List<Element> list;
  List<Element> other;
  list.push_back(&e[0]);
  list.push_back(&e[1]);
  other.push_back(&e[2]);
  EXPECT_DEATH(list.remove(&e[3]), "does not hold");
  EXPECT_DEATH(list.remove(&e[2]), "does not hold");
  EXPECT_DEATH(list.push_front(&e[0]), "does not hold");
  EXPECT_DEATH(list.push_back(&e[1]), "does not hold");
  list.remove(&e[1]);
  EXPECT_DEATH(list.remove(&e[1]), "does not hold");
}
#endif

TEST(List, RandomOperations) {
  std::array<Element, 20> elements;
  std::deque<Element*> unlisted;
  for (Element& element : elements) unlisted.push_back(&element);
  std::deque<Element*> model;
  List<Element> list;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    if (!unlisted.empty() && random() % 2 == 0) {
      Element* const element = unlisted.front();
      unlisted.pop_front();
      if (random() % 2 == 0) {
        list.push_front(element);
        model.push_front(element);
      } else {
        list.push_back(element);
        model.push_back(element);
      }
    } else if (!model.empty()) {
      const std::size_t at = random() % model.size();
      Element* const element = model[at];
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
      if (at == 0) {
        ASSERT_EQ(list.pop_front(), element);
      } else {
        list.remove(element);
      }
      unlisted.push_back(element);
    }
    expect_same(list, model);
  }
}

}  // namespace
}  // namespace tarn
