// check: damage to a tree's links, references and domains, which tarn_tree_check must find.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "damage.hpp"
#include "kinds/trees/domain.hpp"
#include "kinds/trees/node.hpp"
#include "tarn/tree/tree.h"

namespace tarn {
namespace {

class DamagedTree : public DamageTest {
 protected:
  ~DamagedTree() override { EXPECT_EQ(tarn_tree_dispose(root_), 0); }
  bool check() const override { return tarn_tree_check(root_) != 0; }
  void* child(void* parent) const { return tarn_tree_allocate(parent, 8); }

  void* const root_ = tarn_tree_allocate(nullptr, 8);
};

// Two nodes, of which the first has two references in the second.
class DamagedReferences : public DamagedTree {
 protected:
  DamagedReferences() {
    EXPECT_EQ(tarn_tree_reference(one_, target_), 0);
    EXPECT_EQ(tarn_tree_reference(two_, target_), 0);
  }
  TreeExtra& extra() const { return *extra_of(node_of(target_)); }
  TreeReference& oldest() const { return *extra().references; }

  void* const owner_ = child(root_);
  void* const target_ = child(owner_);
  void* const other_ = child(root_);
  void* const one_ = child(other_);
  void* const two_ = child(other_);
};

TEST_F(DamagedReferences, InTheirTargetsList) {
  TreeReference& youngest = *oldest().next;
  expect_found(oldest().next, nullptr, "the younger one is lost");
  expect_found(youngest.previous, &youngest, "it does not lead back");
  expect_found(oldest().previous, &oldest(), "the oldest one does not know the youngest");
  expect_found(oldest().previous, nullptr, "it is in no list");
  expect_found(extra().references, &youngest, "the oldest one is lost");
  expect_found(extra().references, nullptr, "all are lost");
}

TEST_F(DamagedReferences, InWhatTheyAre) {
  expect_found(oldest().target, nullptr, "it leads nowhere");
  expect_found(oldest().target, node_of(owner_), "it leads to a node without references");
  expect_found(oldest().is_owner, true, "it is said to be the parent");
  expect_found(extra().next_found, node_of(owner_), "a search has left it");
  EXPECT_EQ(extra().is_found, 0u);
  extra().is_found = 1;
  EXPECT_FALSE(check()) << "a search has left it";
  extra().is_found = 0;
}

TEST_F(DamagedReferences, WhereOneIsTheParent) {
  EXPECT_EQ(tarn_tree_unreference(owner_, target_), 0);
  ASSERT_EQ(tarn_tree_parent(target_), one_);
  auto* const parent = static_cast<TreeReference*>(parent_of(node_of(target_)));
  ASSERT_TRUE(parent->is_owner);
  TreeNode*(&link)[4] = extra().link;
  expect_found(link[link_parent], node_of(one_), "another parent");
  expect_found(link[link_older], node_of(one_), "a sibling");
  expect_found(link[link_younger], node_of(one_), "a younger sibling");
}

TEST_F(DamagedTree, InItsLinks) {
  void* const older = child(root_);
  void* const younger = child(root_);
  TreeNode* const node = node_of(younger);
  const std::uint32_t parent = node->word[link_parent];
  node->word[link_parent] = link_to(node_of(older));
  EXPECT_FALSE(check()) << "a child with another parent";
  node->word[link_parent] = parent;
  EXPECT_TRUE(check());
  const std::uint32_t back = node_of(older)->word[link_younger];
  node_of(older)->word[link_younger] = link_to(node_of(older)) | (back & ~link_bits);
  EXPECT_FALSE(check()) << "a sibling that does not lead back";
  node_of(older)->word[link_younger] = back;
  EXPECT_TRUE(check());
}

TEST_F(DamagedTree, InWhatADomainCounts) {
  ASSERT_EQ(tarn_tree_give_arena(root_, nullptr), 0);
  void* const inside = child(root_);
  void* const named = child(root_);
  ASSERT_EQ(tarn_tree_set_static_name(named, "named"), 0);
  ASSERT_EQ(tarn_tree_set_destructor(inside, [](void*) { return 0; }), 0);
  TreeDomain& domain = *extra_of(node_of(root_))->domain;
  ASSERT_EQ(domain.outside, 0u);
  expect_found(domain.asking, 0, "fewer destructors than there are");
  expect_found(domain.asking, domain.asking + 1, "more destructors than there are");
  expect_found(domain.guests, domain.guests + 1, "more guests than there are");
  ASSERT_NE(domain.extras, nullptr);
  TreeExtra** const led = domain.extras->led;
  expect_found(domain.extras->led, &domain.extras->next, "an Extra that does not lead back");
  EXPECT_EQ(domain.extras->led, led);
  expect_found(domain.extras, nullptr, "the Extras are lost");
  TreeExtra more{};
  TreeExtra* last = domain.extras;
  while (last->next != nullptr) last = last->next;
  more.led = &last->next;
  expect_found(last->next, &more, "an Extra of no node");
}

}  // namespace
}  // namespace tarn
