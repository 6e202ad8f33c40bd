// workloads NAME [SIZE [THREADS]]: runs one workload and prints its checksum, nothing else.
// workloads --list: prints name, default size and what it stresses, separated by tabs.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "workload.hpp"

namespace tarn {
namespace {

constexpr Workload workloads[] = {
    {"lists", 500000, run_lists, "S0.13: five lists of strings grown in turn, searched, dropped"},
    {"slots", 900000, run_slots, "S2.5: random slot freed and refilled with 0..64 KiB"},
    {"slots_realloc", 120000, run_slots_realloc, "S2.5: the same by realloc"},
    {"blocks", 5, run_blocks, "S4.10: 20,000 blocks of 4096 and 2048 bytes, interleaved"},
    {"server", 400, run_server, "threads end and their successors free their blocks"},
    {"handover", 6000, run_handover, "one thread allocates batches, another frees them"},
    {"thread_churn", 30000, run_thread_churn, "threads that live for some dozens of blocks"},
    {"growth", 70, run_growth, "realloc: strings, arrays and one big buffer that grow"},
    {"large", 450, run_large, "blocks of 5..25 MB in turn, each page written"},
    {"drift", 100, run_drift, "fragmentation: sizes drift while the live amount stays"},
    {"holes", 70000000, run_holes, "S1.9: small holes everywhere, then requests of 512 bytes"},
    {"batches", 11000, run_batches, "sh6-like: batches of one size, one thread"},
    {"batches_threads", 8000, run_batches_threads, "sh6-like, a thread per core"},
    {"mixture", 20000000, run_mixture, "sh8-like: mixed population up to 16 KiB, one thread"},
    {"mixture_threads", 6000000, run_mixture_threads, "sh8-like, a thread per core, crossed frees"},
    {"lifetimes", 14000000, run_lifetimes, "random sizes with Zipf lifetimes, one thread"},
    {"lifetimes_pair", 4000000, run_lifetimes_pair, "the same on two threads, crossed frees"},
    {"containers", 35, run_containers, "operator new under maps, strings and vectors"},
    {"startup", 600, run_startup, "a trivial program started over and over"},
};

int usage() {
  std::fputs("usage: workloads NAME [SIZE [THREADS]] | workloads --list\n", stderr);
  return 2;
}

int list() {
  for (const Workload& workload : workloads) {
    std::printf("%s\t%" PRIu64 "\t%s\n", workload.name, workload.size, workload.stress);
  }
  return 0;
}

int run(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    return usage();
  }
  const char* name = argv[1];
  if (std::strcmp(name, "--list") == 0) {
    return list();
  }
  if (std::strcmp(name, "nothing") == 0) {  // What `startup` starts.
    return 0;
  }
  for (const Workload& workload : workloads) {
    if (std::strcmp(name, workload.name) == 0) {
      // Two at least, so that memory crosses threads on a machine of one core too.
      const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 2u, 16u);
      Request request{workload.size, cores};
      if (argc > 2) {
        request.size = std::strtoull(argv[2], nullptr, 10);
      }
      if (argc > 3) {
        request.threads = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
      }
      if (request.size == 0 || request.threads == 0 || request.threads > 1024) {
        return usage();
      }
      std::printf("%016" PRIx64 "\n", workload.body(request));
      return 0;
    }
  }
  std::fprintf(stderr, "workloads: no workload is called %s; see --list\n", name);
  return 2;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
