// workloads NAME [SIZE [THREADS [SEED]]]: runs one workload and prints its checksum, nothing else.
// workloads --list: prints name, group, default size and what it stresses, separated by tabs.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../validation/validation.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

constexpr char workload[] = "workload";      // What tarn was tuned with.
constexpr char validation[] = "validation";  // What it was not: see validation/validation.hpp.

constexpr Workload workloads[] = {
    {"lists", workload, 500000, run_lists,
     "S0.13: five lists of strings grown in turn, searched, dropped"},
    {"slots", workload, 900000, run_slots, "S2.5: random slot freed and refilled with 0..64 KiB"},
    {"slots_realloc", workload, 120000, run_slots_realloc, "S2.5: the same by realloc"},
    {"blocks", workload, 5, run_blocks, "S4.10: 20,000 blocks of 4096 and 2048 bytes, interleaved"},
    {"server", workload, 400, run_server, "threads end and their successors free their blocks"},
    {"handover", workload, 6000, run_handover, "one thread allocates batches, another frees them"},
    {"thread_churn", workload, 30000, run_thread_churn,
     "threads that live for some dozens of blocks"},
    {"growth", workload, 70, run_growth, "realloc: strings, arrays and one big buffer that grow"},
    {"large", workload, 450, run_large, "blocks of 5..25 MB in turn, each page written"},
    {"zeros", workload, 2000, run_zeros, "calloc of 4..24 MB, used wholly or hardly"},
    {"drift", workload, 100, run_drift, "fragmentation: sizes drift while the live amount stays"},
    {"holes", workload, 70000000, run_holes,
     "S1.9: small holes everywhere, then requests of 512 bytes"},
    {"batches", workload, 11000, run_batches, "sh6-like: batches of one size, one thread"},
    {"batches_threads", workload, 8000, run_batches_threads, "sh6-like, a thread per core"},
    {"mixture", workload, 20000000, run_mixture,
     "sh8-like: mixed population up to 16 KiB, one thread"},
    {"mixture_threads", workload, 6000000, run_mixture_threads,
     "sh8-like, a thread per core, crossed frees"},
    {"lifetimes", workload, 14000000, run_lifetimes,
     "random sizes with Zipf lifetimes, one thread"},
    {"lifetimes_pair", workload, 4000000, run_lifetimes_pair,
     "the same on two threads, crossed frees"},
    {"containers", workload, 35, run_containers, "operator new under maps, strings and vectors"},
    {"startup", workload, 600, run_startup, "a trivial program started over and over"},
    {"larson", validation, 7000000, run_larson, "tables of blocks go round among threads that end"},
    {"sharing_active", validation, 300000000, run_sharing_active,
     "threads write to own small objects"},
    {"sharing_passive", validation, 300000000, run_sharing_passive,
     "the same, begun with objects of one thread"},
    {"messages", validation, 6000000, run_messages, "batches of messages, some of them answered"},
    {"factoring", validation, 1200, run_factoring, "Pollard's rho on numbers of allocated digits"},
    {"bodies", validation, 1500000, run_bodies, "n bodies: a tree of cells for each step"},
    {"covers", validation, 4000, run_covers, "two-level minimisation of switching functions"},
    {"proofs", validation, 25000, run_proofs, "a checker of equations between lambda terms"},
    {"json", validation, 50000000, run_json, "JSON read, edited and written; containers"},
    {"xml", validation, 80000000, run_xml, "XML read, edited and written; malloc for each text"},
    {"compiler", validation, 16000000, run_compiler, "sources to trees, instructions, registers"},
    {"linker", validation, 320000, run_linker, "symbols, sections and relocations of objects"},
    {"sql", validation, 400000, run_sql, "rows of any length under two indexes"},
    {"key_value", validation, 900000, run_key_value, "threads serve strings and lists of a table"},
    {"pages", validation, 150, run_pages, "curves and glyphs into pictures of pages"},
    {"images", validation, 400000000, run_images, "planes through a pipeline of threads"},
    {"red_black", validation, 2000000, run_red_black, "counted trees, made by a machine's code"},
    {"scripts", validation, 14000000, run_scripts, "a collector with finalisers"},
    {"rewriting", validation, 200000000, run_rewriting, "expressions rewritten by rules"},
};

int usage() {
  std::fputs("usage: workloads NAME [SIZE [THREADS [SEED]]] | workloads --list\n", stderr);
  return 2;
}

int list() {
  for (const Workload& each : workloads) {
    std::printf("%s\t%s\t%" PRIu64 "\t%s\n", each.name, each.group, each.size, each.stress);
  }
  return 0;
}

int run(int argc, char** argv) {
  if (argc < 2 || argc > 5) {
    return usage();
  }
  const char* name = argv[1];
  if (std::strcmp(name, "--list") == 0) {
    return list();
  }
  if (std::strcmp(name, "nothing") == 0) {  // What `startup` starts.
    return 0;
  }
  for (const Workload& each : workloads) {
    if (std::strcmp(name, each.name) == 0) {
      // Two at least, so that memory crosses threads on a machine of one core too.
      const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 2u, 16u);
      Request request{each.size, cores, 1};
      if (argc > 2) {
        request.size = std::strtoull(argv[2], nullptr, 10);
      }
      if (argc > 3) {
        request.threads = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
      }
      if (argc > 4) {
        request.seed = std::strtoull(argv[4], nullptr, 10);
      }
      if (request.size == 0 || request.threads == 0 || request.threads > 1024) {
        return usage();
      }
      std::printf("%016" PRIx64 "\n", each.body(request));
      return 0;
    }
  }
  std::fprintf(stderr, "workloads: no workload is called %s; see --list\n", name);
  return 2;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
