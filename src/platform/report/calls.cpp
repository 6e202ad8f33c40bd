// calls: see calls.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/report/calls.hpp"

#include "platform/base/bits.hpp"
#include "platform/os/code.hpp"
#include "platform/report/report.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

// Of the report that is being written: the stack may be a signal's, and small.
constinit struct {
  char site[128];
  char name[256];
} scratch{};

const void* call_before(const void* return_address) noexcept {
  return static_cast<const char*>(return_address) - 1;
}

}  // namespace

void write_calls(ReportText& out, const char* words, const void* at) noexcept {
  const CallStack stack(at);
  for (std::size_t i = 0; i != stack.size(); ++i) {
    out.text("tarn:   ");
    if (i == 0) {
      out.text(words);
    } else {
      for (const char* letter = words + 2; *letter != '\0'; ++letter) out.text(" ");
      out.text("by");
    }
    Line().site(stack[i]).copy(scratch.site, sizeof scratch.site);
    out.text(" ").visible(scratch.site);
    if (os::find_function(call_before(stack[i]), scratch.name, sizeof scratch.name)) {
      out.text(" ").visible(scratch.name);
    }
    out.text("\n");
  }
}

void write_json_calls(ReportText& out, const void* at) noexcept {
  const CallStack stack(at);
  out.text("[");
  for (std::size_t i = 0; i != stack.size(); ++i) {
    const void* const call = call_before(stack[i]);
    out.text(i == 0 ? "{" : ",{").text("\"address\":\"0x").hexadecimal(address_of(call));
    out.text("\"");
    std::uintptr_t offset = 0;
    if (os::find_module(call, scratch.name, sizeof scratch.name, &offset)) {
      out.text(",\"module\":").json_string(scratch.name);
      out.text(",\"offset\":\"0x").hexadecimal(offset).text("\"");
    }
    if (os::find_function(call, scratch.name, sizeof scratch.name)) {
      out.text(",\"function\":").json_string(scratch.name);
    }
    out.text("}");
  }
  out.text("]");
}

}  // namespace tarn
