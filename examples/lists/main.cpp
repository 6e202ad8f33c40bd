// main: one run of the exerciser, or the parent of a run whose memory is limited.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>

#include "bump_memory.hpp"
#include "exerciser.hpp"
#include "heap_memory.hpp"
#include "limited_run.hpp"
#include "malloc_memory.hpp"
#include "options.hpp"
#include "process_usage.hpp"
#include "report.hpp"
#include "smartheap_memory.hpp"

namespace {

lists::Outcome exercise(const lists::Options& options) {
  switch (options.variant) {
    case lists::Variant::heap: return lists::exercise<lists::HeapMemory>(options.plan);
    case lists::Variant::smartheap: return lists::exercise<lists::SmartHeapMemory>(options.plan);
    case lists::Variant::bump: return lists::exercise<lists::BumpMemory>(options.plan);
    default: return lists::exercise<lists::MallocMemory>(options.plan);
  }
}

int run_here(const lists::Options& options) {
  const lists::Outcome outcome = exercise(options);
  const lists::ProcessUsage usage = lists::process_usage();
  if (outcome.found) {
    std::fputs("lists: found a string that was never stored: the memory is corrupt\n", stderr);
    return 1;
  }
  lists::print_report(options, outcome, usage);
  if (!options.json_file.empty() && !lists::write_json(options, outcome, usage)) return 1;
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const lists::Options options = lists::read_options(count, words);
  try {
    return options.limited() ? lists::run_limited(options) : run_here(options);
  } catch (const lists::Lacking& lacking) {
    std::fprintf(stderr, "lists: --memory-limit: %s\n", lacking.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lists: %s\n", error.what());
    return 1;
  }
}
