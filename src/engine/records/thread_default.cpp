// thread_default: see thread_default.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread_default.hpp"

#include "platform/base/random.hpp"
#include "platform/os/process.hpp"

namespace tarn {

__thread tarn_heap default_heap{};
constinit std::atomic<HeapRecord*> process_heap{nullptr};
constinit std::uint32_t process_heap_every = 0;

__thread std::uint32_t requests_to_sample = 0;

namespace {

TARN_INITIAL_EXEC __thread Random random_of_thread{};

std::atomic<std::uint64_t> threads_that_drew{0};

// So many in the mean, and never the same, so that no program keeps step with it.
std::uint32_t draw_requests() noexcept {
  if (!random_of_thread.is_seeded()) {
    const std::uint64_t number = threads_that_drew.fetch_add(1, std::memory_order_relaxed);
    random_of_thread.seed(os::process_random() + mixed_bits(number + 1));
  }
  const std::uint64_t most = std::uint64_t{process_heap_every} * 2 - 1;
  return static_cast<std::uint32_t>(random_of_thread.below(most)) + 1;
}

}  // namespace

bool draw_sample() noexcept {
  if (requests_to_sample == 0) requests_to_sample = draw_requests();
  const bool is_due = requests_to_sample == 1;
  requests_to_sample = is_due ? draw_requests() : requests_to_sample - 1;
  return is_due;
}

}  // namespace tarn
