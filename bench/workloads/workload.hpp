// What a workload is: a name, a default size, and a function from size to checksum.
//
// Every workload allocates with plain malloc, free, realloc, new and delete, so that the preloaded
// library decides whose they are. Its checksum depends on the size, the number of threads and the
// seed only, never on addresses or on timing: bench/run compares it between allocators, and a
// library that loses or mixes up data shows.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn {

struct Request {
  std::uint64_t size;  // How much work; the unit is the workload's own.
  unsigned threads;    // For the workloads that use as many as the machine has.
  std::uint64_t seed;  // For those of the validation set.
};

using WorkloadBody = std::uint64_t (*)(const Request&);

struct Workload {
  const char* name;
  const char* group;
  std::uint64_t size;  // Half a second to a second and a half on glibc, on the project's machines.
  WorkloadBody body;
  const char* stress;  // What it stresses, for --list.
};

std::uint64_t run_lists(const Request&);
std::uint64_t run_slots(const Request&);
std::uint64_t run_slots_realloc(const Request&);
std::uint64_t run_blocks(const Request&);
std::uint64_t run_server(const Request&);
std::uint64_t run_handover(const Request&);
std::uint64_t run_thread_churn(const Request&);
std::uint64_t run_growth(const Request&);
std::uint64_t run_large(const Request&);
std::uint64_t run_zeros(const Request&);
std::uint64_t run_drift(const Request&);
std::uint64_t run_holes(const Request&);
std::uint64_t run_batches(const Request&);
std::uint64_t run_batches_threads(const Request&);
std::uint64_t run_mixture(const Request&);
std::uint64_t run_mixture_threads(const Request&);
std::uint64_t run_lifetimes(const Request&);
std::uint64_t run_lifetimes_pair(const Request&);
std::uint64_t run_containers(const Request&);
std::uint64_t run_startup(const Request&);

}  // namespace tarn
