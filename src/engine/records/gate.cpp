// gate: see gate.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/gate.hpp"

#include "platform/base/check.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

namespace {

// Refused: not since the process began, so there are slots that were filled without a fence, and
// threads that hit there. From then on no slot is filled, visitors fence, and a thread that enters
// an exclusive section waits.
enum class Barriers : std::uint8_t { unknown, there, missing, refused };
std::atomic<Barriers> barriers{Barriers::unknown};

// A read-modify-write is a fence that ThreadSanitizer knows.
std::atomic<int> fence_word{0};
void fence() noexcept { fence_word.fetch_add(0, std::memory_order_seq_cst); }

bool ask_barriers() noexcept {
  Barriers known = barriers.load(std::memory_order_relaxed);
  if (TARN_UNLIKELY(known == Barriers::unknown)) {
    known = os::barrier_in_all_threads() ? Barriers::there : Barriers::missing;
    barriers.store(known, std::memory_order_relaxed);
  }
  return known == Barriers::there;
}

// False where there was none from the start: then all fence.
bool pass_barrier() noexcept {
  if (ask_barriers()) {
    if (os::barrier_in_all_threads()) return true;
    barriers.store(Barriers::refused, std::memory_order_relaxed);  // By a seccomp filter, say.
  }
  if (barriers.load(std::memory_order_relaxed) == Barriers::missing) return false;
  TARN_ASSERT(barriers.load(std::memory_order_relaxed) == Barriers::refused);
  os::wait_for_stores();
  return true;
}

// The visitor's half of the protocol where there is no membarrier.
void fence_as_visitor() noexcept {
  if (TARN_UNLIKELY(!ask_barriers())) fence();
}

}  // namespace

bool barriers_known() noexcept { return ask_barriers(); }

bool barrier_for_reader() noexcept { return pass_barrier(); }

void barrier_for_exclusive() noexcept {
  fence();
  pass_barrier();
}

bool exclusive_to_another(const HeapRecord& record) noexcept {
  if (!record.is_serialised()) fence_as_visitor();
  return record.exclusive.load(std::memory_order_seq_cst) && !record.gate.held_by_this_thread();
}

void wait_at_gate(HeapRecord& record) noexcept {
  TARN_ASSERT(!record.gate.held_by_this_thread() && !record.lock.held_by_this_thread());
  os::Locked wait(record.gate);
}

}  // namespace tarn
