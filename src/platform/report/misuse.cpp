// misuse: see misuse.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/report/misuse.hpp"

#include <atomic>

#include "platform/base/bits.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/report/calls.hpp"
#include "platform/report/output.hpp"
#include "platform/report/report.hpp"
#include "platform/report/report_text.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

// A misuse that is about to be told. Its first line: `tarn: KIND: TEXT`.
struct Told {
  tarn_misuse known{};
  Line text;
  const void* allocated_at = nullptr;  // Null: not known, as for the next two.
  const void* freed_at = nullptr;
  const void* now_at = nullptr;

  Told(const char* kind, const char* function, const void* address) noexcept {
    known.bytes = sizeof known;
    known.kind = kind;
    known.function = function;
    known.address = address;
  }
  void block(const void* start, std::size_t bytes) noexcept {
    known.block = start;
    known.block_bytes = bytes;
  }
  void owner(const char* kind, const char* name, std::uint64_t id) noexcept {
    known.owner_kind = kind;
    known.owner_name = name != nullptr && name[0] != '\0' ? name : nullptr;
    known.owner_id = id;
  }
};

// The program's function. The context first, so that who sees the function sees its context.
std::atomic<void*> told_context{nullptr};
std::atomic<tarn_misuse_function> told_function{nullptr};

// Of the report that is being written: the stack may be a signal's, and small.
constinit char scratch_text[Line::bytes_max]{};

void write_json(ReportText& out, const Told& told) noexcept {
  const tarn_misuse& known = told.known;
  const auto address = [&](const char* key, const void* p) noexcept {
    out.text(",\"").text(key).text("\":\"0x").hexadecimal(address_of(p)).text("\"");
  };
  out.text("{\"tarn\":\"misuse\",\"kind\":").json_string(known.kind);
  out.text(",\"text\":").json_string(known.text).text(",\"process\":");
  out.decimal(os::process_id());
  if (known.function != nullptr) out.text(",\"function\":").json_string(known.function);
  if (known.address != nullptr) address("address", known.address);
  if (known.block != nullptr) {
    address("block", known.block);
    out.text(",\"block_bytes\":").decimal(known.block_bytes);
  }
  if (known.owner_kind != nullptr) {
    out.text(",\"owner\":{\"kind\":").json_string(known.owner_kind);
    if (known.owner_name != nullptr) out.text(",\"name\":").json_string(known.owner_name);
    if (known.owner_id != 0) out.text(",\"number\":").decimal(known.owner_id);
    out.text("}");
  }
  write_json_calls(out.text(",\"allocated_at\":"), told.allocated_at);
  write_json_calls(out.text(",\"freed_at\":"), told.freed_at);
  write_json_calls(out.text(",\"now_at\":"), told.now_at);
  out.text("}\n");
}

// An address of a pool or an arena that a tool has found has no kind.
void write_text(ReportText& out, const Told& told) noexcept {
  out.text("tarn: ").text(told.known.kind).text(told.known.kind[0] != '\0' ? ": " : "");
  out.text(told.known.text).text("\n");
  write_calls(out, "allocated at", told.allocated_at);
  write_calls(out, "freed at", told.freed_at);
  write_calls(out, "now at", told.now_at);
}

void write_all(ReportOutput& output, const Told& told) noexcept {
  ReportText out(write_to_output, &output);
  if (report_options.json) {
    write_json(out, told);
  } else {
    write_text(out, told);
  }
  out.flush();
}

tarn_calls calls_of(const CallStack& stack) noexcept { return {stack.calls(), stack.size()}; }

void call_the_program(const Told& told) noexcept {
  const tarn_misuse_function function = told_function.load(std::memory_order_acquire);
  if (function == nullptr) return;
  const CallStack allocated(told.allocated_at);
  const CallStack freed(told.freed_at);
  const CallStack now(told.now_at);
  tarn_misuse known = told.known;
  known.allocated_at = calls_of(allocated);
  known.freed_at = calls_of(freed);
  known.now_at = calls_of(now);
  function(&known, told_context.load(std::memory_order_relaxed));
}

void tell(Told& told, bool ends) noexcept {
  told.now_at = told.now_at == nullptr ? stacks.here() : stacks.at(told.now_at);
  ReportOutput output;
  if (ends) output.keep();
  told.text.copy(scratch_text, sizeof scratch_text);
  told.known.text = scratch_text;
  write_all(output, told);
  if (output.finish() != 0) write_all(output, told);  // The symbolizer has failed: as it is.
  if (!output.is_nested()) call_the_program(told);
}

[[noreturn]] TARN_COLD void tell_and_end(Told& told) noexcept {
  tell(told, true);
  if (report_options.status != 0) os::process_exit(report_options.status);
  os::process_abort();
}

}  // namespace

}  // namespace tarn

extern "C" void tarn_on_misuse(tarn_misuse_function function, void* context) {
  tarn::told_function.store(nullptr, std::memory_order_release);
  tarn::told_context.store(context, std::memory_order_relaxed);
  tarn::told_function.store(function, std::memory_order_release);
}

namespace tarn {

namespace {

constexpr const char* kind_name(Misuse kind) noexcept {
  switch (kind) {
    case Misuse::invalid_free: return "invalid free";
    case Misuse::double_free: return "double free";
    case Misuse::invalid_pointer: return "invalid pointer";
    case Misuse::overrun: return "overrun";
    case Misuse::use_after_free: return "use after free";
    case Misuse::size_mismatch: return "size mismatch";
    case Misuse::mismatched_free: return "mismatched free";
    case Misuse::alignment_mismatch: return "alignment mismatch";
    case Misuse::underrun: return "underrun";
  }
  return "misuse";
}

// free(0x1234)
Line& the_call(Told& told) noexcept {
  return told.text.text(told.known.function).text("(").address(told.known.address).text(")");
}

// Names a heap by its name, if it has one, and its number; 0 stands for one that was deleted.
Line& the_heap(Told& told, const char* name, std::uint64_t id) noexcept {
  told.owner("heap", name, id);
  told.text.text("the heap ");
  if (name[0] != '\0') told.text.text("\"").text(name).text("\" ");
  return id == 0 ? told.text.text("(deleted") : told.text.text("(number ").decimal(id);
}

std::uint64_t offset_in(const void* p, const void* start) noexcept {
  return static_cast<std::uint64_t>(static_cast<const char*>(p) - static_cast<const char*>(start));
}

}  // namespace

void report_misuse(Misuse kind, const char* function, const void* p) noexcept {
  const bool is_double = kind == Misuse::double_free;
  const bool is_free = kind == Misuse::invalid_free;
  Told told(kind_name(is_double || is_free ? kind : Misuse::invalid_pointer), function, p);
  the_call(told).text(is_double ? ": the memory was freed before"
                                : ": not the start of a block of this allocator");
  if (is_free) {
    told.text.text(
        " (a pointer into a block, to the stack or a static object, or from another "
        "allocator)");
  }
  tell_and_end(told);
}

void report_other_misuse(const char* kind, const char* function, const void* p,
                         const Line& text) noexcept {
  Told told(kind, function, p);
  told.text = text;
  tell_and_end(told);
}

void report_misuse_in(Misuse kind, const char* function, const void* p, const char* heap_name,
                      std::uint64_t heap_id) noexcept {
  const bool is_double = kind == Misuse::double_free;
  Told told(is_double ? "double free" : "invalid free", function, p);
  the_call(told).text(is_double ? ": the memory was freed before; "
                                : ": not the start of a block; ");
  the_heap(told, heap_name, heap_id).text(")");
  tell_and_end(told);
}

void report_broken_list(std::size_t block_bytes, const void* p) noexcept {
  Told told("use after free", nullptr, p);
  told.text.text("a freed block of ").decimal(block_bytes);
  told.text.text(" bytes was written to: its link leads to ").address(p);
  tell_and_end(told);
}

void report_wrong_size(const char* function, const void* p, std::size_t said_bytes,
                       std::size_t bytes) noexcept {
  Told told("size mismatch", function, p);
  told.block(p, bytes);
  the_call(told).text(": freed with ").decimal(said_bytes).text(" bytes, the block has ");
  told.text.decimal(bytes);
  tell_and_end(told);
}

namespace {

void say_what(Told& told, const BlockReport& report) noexcept {
  const std::uint64_t offset = offset_in(report.p, report.start);
  switch (report.kind) {
    case Misuse::invalid_free:
    case Misuse::invalid_pointer:
      the_call(told).text(": ").decimal(offset).text(" bytes into a block of ");
      told.text.decimal(report.bytes).text(" bytes");
      break;
    case Misuse::double_free:
      the_call(told).text(": the block of ").decimal(report.bytes);
      told.text.text(" bytes was freed before");
      break;
    case Misuse::overrun:
      told.text.text(report.function).text(": the block of ").decimal(report.bytes);
      told.text.text(" bytes at ").address(report.start);
      told.text.text(" was written beyond its end, byte ").decimal(offset);
      break;
    case Misuse::use_after_free:
      told.text.text("the block of ").decimal(report.bytes).text(" bytes at ");
      told.text.address(report.start).text(" was written after it was freed, byte ");
      told.text.decimal(offset);
      break;
    case Misuse::size_mismatch:
      the_call(told).text(": freed with ").decimal(report.said_bytes);
      told.text.text(" bytes, allocated with ").decimal(report.bytes);
      break;
    case Misuse::mismatched_free:
      the_call(told).text(": the block of ").decimal(report.bytes);
      told.text.text(" bytes is to be freed by ").text(report.expected);
      break;
    case Misuse::alignment_mismatch:
      the_call(told).text(": freed with an alignment of ").decimal(report.said_alignment);
      told.text.text(", allocated with ").decimal(report.alignment);
      break;
    case Misuse::underrun: {
      const std::uint64_t before = offset_in(report.start, report.p);
      told.text.text(report.function).text(": the block of ").decimal(report.bytes);
      told.text.text(" bytes at ").address(report.start).text(" was written before its start, ");
      told.text.decimal(before).text(before == 1 ? " byte" : " bytes").text(" in front of it");
      break;
    }
  }
}

// What both reports of a block have; its text goes on with the heap.
void say_block_of_heap(Told& told, const BlockReport& report) noexcept {
  told.block(report.start, report.bytes);
  told.text.text("; ");
  the_heap(told, report.heap_name, report.heap_id).text(")");
  told.allocated_at = report.allocated_at;
  told.freed_at = report.freed_at;
  told.now_at = report.here;
}

}  // namespace

void report_block_misuse(const BlockReport& report) noexcept {
  const bool is_inside = report.kind == Misuse::invalid_pointer;
  Told told(kind_name(is_inside ? Misuse::invalid_free : report.kind), report.function, report.p);
  say_what(told, report);
  say_block_of_heap(told, report);
  tell_and_end(told);
}

void explain_block_fault(const BlockReport& report) noexcept {
  const bool is_overrun = report.kind == Misuse::overrun;
  Told told(kind_name(report.kind), report.function, report.p);
  told.text.text(report.function).text(" at ").address(report.p).text(": byte ");
  told.text.decimal(offset_in(report.p, report.start));
  told.text.text(is_overrun ? ", beyond the end of the block of " : " of the block of ");
  told.text.decimal(report.bytes).text(" bytes at ").address(report.start);
  told.text.text(is_overrun ? "" : ", which was freed before");
  say_block_of_heap(told, report);
  tell(told, false);
}

namespace {

Told begin_owner(const char* kind, const OwnerReport& report) noexcept {
  Told told(kind, report.function, report.p);
  if (report.start != nullptr) told.block(report.start, report.bytes);
  told.owner(report.owner_kind, report.owner_name, 0);
  told.allocated_at = report.allocated_at;
  told.freed_at = report.freed_at;
  told.now_at = report.here;
  return told;
}

Line& the_owner(Told& told, const OwnerReport& report) noexcept {
  told.text.text("the ").text(report.owner_kind);
  if (report.owner_name == nullptr) return told.text.text(" at ").address(report.owner);
  return told.text.text(" \"").text(report.owner_name).text("\"");
}

void say_block(Told& told, const OwnerReport& report) noexcept {
  told.text.decimal(offset_in(report.p, report.start)).text(" bytes into a block of ");
  told.text.decimal(report.bytes).text(" bytes of ");
  the_owner(told, report);
}

Told owner_misuse(const OwnerReport& report) noexcept {
  const bool is_of_block = report.kind == Misuse::double_free || report.kind == Misuse::overrun ||
                           report.kind == Misuse::use_after_free;
  Told told = begin_owner(kind_name(is_of_block ? report.kind : Misuse::invalid_free), report);
  switch (report.kind) {
    case Misuse::double_free:
      the_call(told).text(": the block was freed before; it is of ");
      the_owner(told, report);
      break;
    case Misuse::overrun:
      told.text.text(report.function).text(": written beyond the end, ");
      say_block(told, report);
      break;
    case Misuse::use_after_free:
      told.text.text(report.function).text(": written after it was freed, ");
      say_block(told, report);
      break;
    case Misuse::invalid_free:
    case Misuse::invalid_pointer:
    case Misuse::size_mismatch:
    case Misuse::mismatched_free:
    case Misuse::alignment_mismatch:
    case Misuse::underrun:
      the_call(told).text(": ");
      if (report.bytes != 0) {
        say_block(told, report);
      } else {
        told.text.text("not the start of a block of ");
        the_owner(told, report);
      }
      break;
  }
  return told;
}

}  // namespace

void print_owner_misuse(const OwnerReport& report) noexcept {
  Told told = owner_misuse(report);
  tell(told, false);
}

void report_owner_misuse(const OwnerReport& report) noexcept {
  Told told = owner_misuse(report);
  tell_and_end(told);
}

void report_invalid_mark(const OwnerReport& report) noexcept {
  Told told = begin_owner("invalid mark", report);
  told.text.text(report.function).text(": not a mark of ");
  the_owner(told, report).text(", or one that was rewound beyond");
  tell_and_end(told);
}

void report_chunk(const void* data, std::size_t granted_bytes, std::size_t bytes,
                  std::size_t alignment) noexcept {
  Told told("invalid chunk", nullptr, data);
  told.text.text("a source was asked for ").decimal(bytes).text(" bytes aligned to ");
  told.text.decimal(alignment).text(" and gave ").decimal(granted_bytes).text(" at ");
  told.text.address(data).text("; it must give at least so much, aligned, or null");
  tell_and_end(told);
}

void explain_owner_address(const OwnerReport& block, bool live) noexcept {
  Told told = begin_owner("", block);
  told.text.address(block.p).text(live ? " is " : " is, free since, ");
  if (block.start != nullptr) {
    say_block(told, block);
  } else {
    told.text.text("in memory of ");
    the_owner(told, block).text(" that is no block, or not any more");
  }
  tell(told, false);
}

void report_ended_heap(const char* function, const char* name, std::uint64_t id) noexcept {
  Told told("use after destroy", function, nullptr);
  told.text.text(function).text(": ");
  the_heap(told, name, id).text(") was destroyed before");
  tell_and_end(told);
}

void report_late_free(const char* function, const void* p, const char* name,
                      std::uint64_t id) noexcept {
  Told told("double free", function, p);
  the_call(told).text(": the memory was freed when ");
  the_heap(told, name, id).text(") was destroyed");
  tell_and_end(told);
}

void report_frozen_heap(const char* function, const char* name, std::uint64_t id) noexcept {
  Told told("frozen heap", function, nullptr);
  told.text.text(function).text(": ");
  the_heap(told, name, id).text(") is read-only; thaw it first");
  tell_and_end(told);
}

void report_confined_heap(const char* function, const char* name, std::uint64_t id,
                          const void* here) noexcept {
  Told told("wrong thread", function, nullptr);
  if (function != nullptr) told.text.text(function).text(": ");
  the_heap(told, name, id);
  told.text.text(") is confined to the thread that made it; make it shared or serialised");
  told.now_at = here;
  tell_and_end(told);
}

}  // namespace tarn
