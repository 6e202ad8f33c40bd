// Forks while another thread is at each instruction of a purge in turn: none of the memory that is
// free is lost to the child. Every interleaving that a fork can see, as the thread is stepped
// through. Not in builds with sanitizers, which take minutes for it.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "child.hpp"
#include "survey.hpp"

#if defined(__x86_64__) && !defined(TARN_SANITIZED)
#include "../../../support/trap_flag.hpp"

namespace tarn {
namespace {

struct Free {
  std::size_t slices = 0;
  std::size_t most = 0;  // Of one span.
};

Free free_now() {
  Free found;
  for (const Run& run : free_runs()) {
    found.slices += run.slices;
    if (run.slices > found.most) found.most = run.slices;
  }
  return found;
}

class StoreForkSteps : public testing::Test {
 protected:
  static constexpr std::size_t span_slices[] = {20, 300, (std::size_t{130} << 20) >> slice_shift};

  void SetUp() override {
    store.configure(3600000, std::size_t{1} << 40);
    store.purge(time_in(0), 0, 0);
    between_ = make_holes(span_slices);
  }
  void TearDown() override {
    for (Span* span : between_) give_span(span);
    store.purge(time_in(0), 0, 0);
    EXPECT_EQ(store.totals().committed_bytes, 0u);
  }

  // What is not free is in use, and so is nothing of what the child has.
  void expect_all_there() const {
    const bool was_held = store.lock().is_held();
    store.recover_after_fork();
    EXPECT_TRUE(store.check());
    const std::size_t reserved = (store.totals().reserved_bytes - metadata_) >> slice_shift;
    const std::size_t missing = reserved - free_now().slices - between_.size();
    // Half-changed under the lock: one span may be lost, and what it is cut from or joined with.
    EXPECT_LE(missing, was_held ? most_lost : 0u);
    for (const Span* span : between_) EXPECT_EQ(span->kind_now(), SpanKind::large);
    // All of it can be used: it is mapped.
    for (const auto& run : free_runs()) {
      *const_cast<volatile std::byte*>(run.base) = std::byte{1};
      *const_cast<volatile std::byte*>(run.end() - 1) = std::byte{1};
    }
  }

  std::vector<Span*> between_;
  std::size_t metadata_ = 0;
  std::size_t most_lost = 0;
};

TEST_F(StoreForkSteps, APurgeLosesNothingToTheChild) {
  const Free before = free_now();
  metadata_ = store.totals().reserved_bytes - ((before.slices + between_.size()) << slice_shift);
  most_lost = before.most;
  const auto purge = [now = time_in(0)] {
    support::in_steps([now] { store.purge(now, 0, 0); });
    support::end_steps();
  };
  const long all = support::steps_of(1, purge, [this] {
    if (HasFailure()) return;
    in_unrepaired_child([this] { expect_all_there(); });
    if (HasFailure()) ADD_FAILURE() << "after instruction " << support::steps;
  });
  if (all == 0) GTEST_SKIP() << "no single steps here";
  EXPECT_GT(all, 500);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
}

}  // namespace
}  // namespace tarn
#else
TEST(StoreForkSteps, NeedTheTrapFlagOfX86AndNoSanitizer) { GTEST_SKIP(); }
#endif
