// report: see report.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/report/report.hpp"

#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "tarn/detail/hexadecimal.h"

namespace tarn {

Line& Line::text(const char* words, std::size_t length) noexcept {
  for (std::size_t i = 0; i < length && length_ < capacity_ - 1; ++i) text_[length_++] = words[i];
  return *this;
}

Line& Line::text(const char* words) noexcept {
  std::size_t length = 0;
  while (words[length] != '\0') ++length;
  return text(words, length);
}

Decimal::Decimal(std::uint64_t number) noexcept {
  do {
    TARN_ASSERT(first_ != 0);
    digits_[--first_] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
}

Line& Line::decimal(std::uint64_t number) noexcept {
  const Decimal digits(number);
  return text(digits.text(), digits.length());
}

Line& Line::address(const void* p) noexcept {
  return hexadecimal(reinterpret_cast<std::uintptr_t>(p));
}

Line& Line::site(const void* p) noexcept {
  const void* const call = static_cast<const char*>(p) - 1;
  char module[64];
  std::uintptr_t offset = 0;
  if (!os::find_module(call, module, sizeof module, &offset)) return address(call);
  return text(module).text("+").hexadecimal(offset).text(" (").address(call).text(")");
}

Line& Line::hexadecimal(std::uint64_t value) noexcept {
  char digits[TARN_HEXADECIMAL_MAX];
  const std::size_t first = tarn_hexadecimal(digits, value);
  return text("0x").text(digits + first, sizeof digits - first);
}

std::size_t Line::copy(char* to, std::size_t room) const noexcept {
  if (room == 0) return 0;
  const std::size_t length = length_ < room ? length_ : room - 1;
  for (std::size_t i = 0; i < length; ++i) to[i] = text_[i];
  to[length] = '\0';
  return length;
}

void Line::print() noexcept {
  TARN_ASSERT(length_ < capacity_);
  text_[length_++] = '\n';
  os::write_error(text_, length_);
  length_ = 0;
}

void report_misuse(Misuse kind, const char* function, const void* p) noexcept {
  Line line;
  switch (kind) {
    case Misuse::invalid_free:
      line.text("tarn: invalid free: ")
          .text(function)
          .text("(")
          .address(p)
          .text(
              "): not the start of a block of this allocator (a pointer into a block, to the stack "
              "or "
              "a static object, or from another allocator)");
      break;
    case Misuse::double_free:
      line.text("tarn: double free: ")
          .text(function)
          .text("(")
          .address(p)
          .text("): the memory was freed before");
      break;
    case Misuse::overrun:  // These have a report of their own.
    case Misuse::use_after_free:
    case Misuse::size_mismatch:
    case Misuse::mismatched_free:
    case Misuse::underrun:
    case Misuse::invalid_pointer:
      line.text("tarn: invalid pointer: ")
          .text(function)
          .text("(")
          .address(p)
          .text("): not the start of a block of this allocator");
      break;
  }
  line.print();
  os::process_abort();
}

namespace {

// Names a heap by its name, if it has one, and its number; 0 stands for one that was deleted.
Line& the_heap(Line& line, const char* name, std::uint64_t id) noexcept {
  line.text("the heap ");
  if (name[0] != '\0') line.text("\"").text(name).text("\" ");
  return id == 0 ? line.text("(deleted") : line.text("(number ").decimal(id);
}

}  // namespace

void report_misuse_in(Misuse kind, const char* function, const void* p, const char* heap_name,
                      std::uint64_t heap_id) noexcept {
  const bool is_double = kind == Misuse::double_free;
  Line line;
  line.text(is_double ? "tarn: double free: " : "tarn: invalid free: ").text(function);
  line.text("(").address(p);
  line.text(is_double ? "): the memory was freed before; " : "): not the start of a block; ");
  the_heap(line, heap_name, heap_id).text(")").print();
  os::process_abort();
}

void report_broken_list(std::size_t block_bytes, const void* p) noexcept {
  Line line;
  line.text("tarn: use after free: a freed block of ").decimal(block_bytes);
  line.text(" bytes was written to: its link leads to ").address(p).print();
  os::process_abort();
}

void report_wrong_size(const char* function, const void* p, std::size_t said_bytes,
                       std::size_t bytes) noexcept {
  Line line;
  line.text("tarn: size mismatch: ").text(function).text("(").address(p).text("): freed with ");
  line.decimal(said_bytes).text(" bytes, the block has ").decimal(bytes).print();
  os::process_abort();
}

namespace {

void say_what(Line& line, const BlockReport& report) noexcept {
  const auto* const at = static_cast<const char*>(report.p);
  const auto* const start = static_cast<const char*>(report.start);
  const auto offset = static_cast<std::uint64_t>(at - start);
  switch (report.kind) {
    case Misuse::invalid_free:
    case Misuse::invalid_pointer:
      line.text("tarn: invalid free: ").text(report.function).text("(").address(report.p);
      line.text("): ").decimal(offset).text(" bytes into a block of ").decimal(report.bytes);
      line.text(" bytes");
      break;
    case Misuse::double_free:
      line.text("tarn: double free: ").text(report.function).text("(").address(report.p);
      line.text("): the block of ").decimal(report.bytes).text(" bytes was freed before");
      break;
    case Misuse::overrun:
      line.text("tarn: overrun: ").text(report.function).text(": the block of ");
      line.decimal(report.bytes).text(" bytes at ").address(start);
      line.text(" was written beyond its end, byte ").decimal(offset);
      break;
    case Misuse::use_after_free:
      line.text("tarn: use after free: the block of ").decimal(report.bytes).text(" bytes at ");
      line.address(start).text(" was written after it was freed, byte ").decimal(offset);
      break;
    case Misuse::size_mismatch:
      line.text("tarn: size mismatch: ").text(report.function).text("(").address(report.p);
      line.text("): freed with ").decimal(report.said_bytes).text(" bytes, allocated with ");
      line.decimal(report.bytes);
      break;
    case Misuse::mismatched_free:
      line.text("tarn: mismatched free: ").text(report.function).text("(").address(report.p);
      line.text("): the block of ").decimal(report.bytes).text(" bytes is to be freed by ");
      line.text(report.expected);
      break;
    case Misuse::underrun:
      line.text("tarn: underrun: ").text(report.function).text(": the block of ");
      line.decimal(report.bytes).text(" bytes at ").address(start);
      line.text(" was written before its start, ").decimal(static_cast<std::uint64_t>(start - at));
      line.text(start - at == 1 ? " byte in front of it" : " bytes in front of it");
      break;
  }
}

void say_where(const char* words, const void* site) noexcept {
  if (site != nullptr) Line().text("tarn:   ").text(words).site(site).print();
}

void end_block_report(Line& line, const BlockReport& report) noexcept {
  line.text("; ");
  the_heap(line, report.heap_name, report.heap_id).text(")").print();
  say_where("allocated at ", report.allocated_at);
  say_where("freed at ", report.freed_at);
  say_where("now at ", report.here);
}

}  // namespace

void report_block_misuse(const BlockReport& report) noexcept {
  Line line;
  say_what(line, report);
  end_block_report(line, report);
  os::process_abort();
}

void explain_block_fault(const BlockReport& report) noexcept {
  const bool is_overrun = report.kind == Misuse::overrun;
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(report.p) -
                                                 static_cast<const char*>(report.start));
  Line line;
  line.text(is_overrun ? "tarn: overrun: " : "tarn: use after free: ").text(report.function);
  line.text(" at ").address(report.p).text(": byte ").decimal(offset);
  line.text(is_overrun ? ", beyond the end of the block of " : " of the block of ");
  line.decimal(report.bytes).text(" bytes at ").address(report.start);
  line.text(is_overrun ? "" : ", which was freed before");
  end_block_report(line, report);
}

namespace {

Line& the_owner(Line& line, const OwnerReport& report) noexcept {
  line.text("the ").text(report.owner_kind);
  if (report.owner_name != nullptr) return line.text(" \"").text(report.owner_name).text("\"");
  return line.text(" at ").address(report.owner);
}

void say_block(Line& line, const OwnerReport& report) noexcept {
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(report.p) -
                                                 static_cast<const char*>(report.start));
  line.decimal(offset).text(" bytes into a block of ").decimal(report.bytes);
  the_owner(line.text(" bytes of "), report);
}

void say_sites(const OwnerReport& report) noexcept {
  say_where("allocated at ", report.allocated_at);
  say_where("freed at ", report.freed_at);
  say_where("now at ", report.here);
}

}  // namespace

void print_owner_misuse(const OwnerReport& report) noexcept {
  Line line;
  switch (report.kind) {
    case Misuse::double_free:
      line.text("tarn: double free: ").text(report.function).text("(").address(report.p);
      the_owner(line.text("): the block was freed before; it is of "), report);
      break;
    case Misuse::overrun:
      line.text("tarn: overrun: ").text(report.function).text(": written beyond the end, ");
      say_block(line, report);
      break;
    case Misuse::use_after_free:
      line.text("tarn: use after free: ").text(report.function);
      line.text(": written after it was freed, ");
      say_block(line, report);
      break;
    case Misuse::invalid_free:
    case Misuse::invalid_pointer:
    case Misuse::size_mismatch:
    case Misuse::mismatched_free:
    case Misuse::underrun:
      line.text("tarn: invalid free: ").text(report.function).text("(").address(report.p);
      line.text("): ");
      if (report.bytes != 0) {
        say_block(line, report);
      } else {
        the_owner(line.text("not the start of a block of "), report);
      }
      break;
  }
  line.print();
  say_sites(report);
}

void report_owner_misuse(const OwnerReport& report) noexcept {
  print_owner_misuse(report);
  os::process_abort();
}

void report_invalid_mark(const OwnerReport& report) noexcept {
  Line line;
  line.text("tarn: invalid mark: ").text(report.function).text(": not a mark of ");
  the_owner(line, report).text(", or one that was rewound beyond").print();
  say_sites(report);
  os::process_abort();
}

void report_chunk(const void* data, std::size_t granted_bytes, std::size_t bytes,
                  std::size_t alignment) noexcept {
  Line line;
  line.text("tarn: invalid chunk: a source was asked for ").decimal(bytes);
  line.text(" bytes aligned to ").decimal(alignment).text(" and gave ").decimal(granted_bytes);
  line.text(" at ").address(data).text("; it must give at least so much, aligned, or null").print();
  os::process_abort();
}

void explain_owner_address(const OwnerReport& block, bool live) noexcept {
  Line line;
  line.text("tarn: ").address(block.p).text(live ? " is " : " is, free since, ");
  if (block.start != nullptr) {
    say_block(line, block);
  } else {
    the_owner(line.text("in memory of "), block).text(" that is no block, or not any more");
  }
  line.print();
  say_sites(block);
}

void report_ended_heap(const char* function, const char* name, std::uint64_t id) noexcept {
  Line line;
  line.text("tarn: use after destroy: ").text(function).text(": ");
  the_heap(line, name, id).text(") was destroyed before").print();
  os::process_abort();
}

void report_late_free(const char* function, const void* p, const char* name,
                      std::uint64_t id) noexcept {
  Line line;
  line.text("tarn: double free: ").text(function).text("(").address(p);
  line.text("): the memory was freed when ");
  the_heap(line, name, id).text(") was destroyed").print();
  os::process_abort();
}

void report_frozen_heap(const char* function, const char* name, std::uint64_t id) noexcept {
  Line line;
  line.text("tarn: frozen heap: ").text(function).text(": ");
  the_heap(line, name, id).text(") is read-only; thaw it first").print();
  os::process_abort();
}

void report_confined_heap(const char* function, const char* name, std::uint64_t id,
                          const void* here) noexcept {
  Line line;
  line.text("tarn: wrong thread: ");
  if (function != nullptr) line.text(function).text(": ");
  the_heap(line, name, id)
      .text(") is confined to the thread that made it; make it shared or serialised")
      .print();
  say_where("now at ", here);
  os::process_abort();
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  Line()
      .text("tarn: internal error: ")
      .text(file)
      .text(":")
      .decimal(static_cast<std::uint64_t>(line))
      .text(": ")
      .text(condition)
      .text(" does not hold; the heap is damaged or the library has a defect")
      .print();
  os::process_abort();
}

}  // namespace tarn
