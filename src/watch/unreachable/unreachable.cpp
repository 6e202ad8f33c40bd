// unreachable: the functions of tarn/diagnose/unreachable.h.
//
// SPDX-License-Identifier: MIT
#include "tarn/diagnose/unreachable.h"

#include <cerrno>

#include "malloc/process/process.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/report/options.hpp"
#include "platform/report/output.hpp"
#include "platform/stack/stacks.hpp"
#include "watch/unreachable/print.hpp"
#include "watch/unreachable/roots.hpp"
#include "watch/unreachable/search.hpp"

namespace {

using tarn::Search;
using tarn::os::Standing;

// The arguments of a call, and its outcome, for a function that knows the registers of the caller.
struct Call {
  const char* function;
  const tarn_unreachable_options* options;
  tarn_unreachable_visit visit;
  void* context;
  tarn_unreachable_result* result;
  int file;
  bool prints;
  int outcome;
};

// Calls visit for each block that was found.
int show_all(const Search& search, const Call& call) noexcept {
  for (const tarn::Lost& lost : search) {
    const tarn::SeenHeap& heap = search.heap_of(lost);
    TARN_ASSERT(lost.start != nullptr);
    const tarn_unreachable_block block{
        lost.start,
        lost.bytes,
        {heap.record, heap.id},
        lost.is_direct ? 1 : 0,
        lost.site == nullptr ? nullptr : tarn::CallStack(lost.site)[0]};
    if (const int stop = call.visit(&block, call.context)) return stop;
  }
  return 0;
}

// Makes the search of a call.
void run(void* context, const Standing& self) noexcept {
  auto& call = *static_cast<Call*>(context);
  call.outcome = -1;
  tarn::process.start();
  tarn_unreachable_options options{};
  if (!tarn::complete_options(call.options, call.function, &options)) return;
  if (call.result != nullptr &&
      !tarn::is_sized(*call.result, call.function, "TARN_UNREACHABLE_RESULT")) {
    errno = EINVAL;
    return;
  }
  Search search;
  if (!search.run(options, self)) return;
  if (call.result != nullptr) {
    *call.result = search.result();
    call.result->bytes = sizeof *call.result;
  }
  TARN_ASSERT(!call.prints || call.visit == nullptr);
  if (call.prints) {
    const tarn::ReportTurn turn;
    tarn::ReportText out(tarn::write_to_descriptor, &call.file);
    call.outcome = tarn::print(out, search, options.flags, nullptr) ? 0 : -1;
  } else {
    call.outcome = call.visit == nullptr ? 0 : show_all(search, call);
  }
}

}  // namespace

extern "C" {

int tarn_find_unreachable(const tarn_unreachable_options* options, tarn_unreachable_visit visit,
                          void* context, tarn_unreachable_result* result) {
  Call call{"tarn_find_unreachable", options, visit, context, result, -1, false, 0};
  tarn::os::with_registers(run, &call);
  return call.outcome;
}

int tarn_print_unreachable(int file, const tarn_unreachable_options* options,
                           tarn_unreachable_result* result) {
  Call call{"tarn_print_unreachable", options, nullptr, nullptr, result, file, true, 0};
  tarn::os::with_registers(run, &call);
  return call.outcome;
}

int tarn_add_root(const void* start, std::size_t bytes) {
  if (start == nullptr || bytes == 0 || bytes > SIZE_MAX - tarn::address_of(start)) {
    errno = EINVAL;
    return -1;
  }
  if (tarn::registered_roots.add(static_cast<const std::byte*>(start), bytes)) return 0;
  errno = ENOMEM;
  return -1;
}

int tarn_remove_root(const void* start) {
  if (start != nullptr && tarn::registered_roots.remove(static_cast<const std::byte*>(start))) {
    return 0;
  }
  errno = EINVAL;
  return -1;
}

}  // extern "C"
