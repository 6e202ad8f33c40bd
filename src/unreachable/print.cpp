// print: see print.hpp.
//
// SPDX-License-Identifier: MIT
#include "unreachable/print.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/process.hpp"
#include "report/report.hpp"

namespace tarn {

namespace {

// Text on its way to a file.
class Output {
 public:
  explicit Output(int file) noexcept : file_(file) {}

  Output& text(const char* words) noexcept { return text(words, strlen(words)); }
  Output& text(const char* words, std::size_t length) noexcept {
    for (std::size_t i = 0; i < length; ++i) {
      if (length_ == sizeof buffer_) flush();
      buffer_[length_++] = words[i];
    }
    return *this;
  }
  Output& decimal(std::uint64_t number) noexcept {
    const Decimal digits(number);
    return text(digits.text(), digits.length());
  }
  // To the right of so many columns, in groups of three digits.
  Output& column(std::uint64_t number, std::size_t columns) noexcept {
    const Decimal digits(number);
    const std::size_t length = digits.length() + (digits.length() - 1) / 3;
    for (std::size_t i = length; i < columns; ++i) text(" ", 1);
    return grouped(digits);
  }
  Output& grouped(std::uint64_t number) noexcept { return grouped(Decimal(number)); }

  Output& quoted(const char* words) noexcept {
    text("\"");
    for (; *words != '\0'; ++words) {
      const auto c = static_cast<unsigned char>(*words);
      constexpr char digits[] = "0123456789abcdef";
      if (c < 0x20 || c == 0x7f) {
        text("\\u00").text(&digits[c >> 4], 1).text(&digits[c & 15], 1);
      } else {
        if (c == '"' || c == '\\') text("\\");
        text(words, 1);
      }
    }
    return text("\"");
  }

  // module+0x1f
  Output& site(const void* p) noexcept {
    char module[64];
    std::uintptr_t offset = 0;
    if (!os::find_module(p, module, sizeof module, &offset)) {
      offset = reinterpret_cast<std::uintptr_t>(p);
      module[0] = '\0';
    }
    text(module).text(module[0] == '\0' ? "0x" : "+0x");
    bool begun = false;
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = offset >> shift & 15;
      begun = begun || digit != 0 || shift == 0;
      if (begun) text(&"0123456789abcdef"[digit], 1);
    }
    return *this;
  }

  // False with errno set when anything could not be written.
  bool flush() noexcept {
    if (!failed_ && length_ != 0) failed_ = !os::write_all(file_, buffer_, length_);
    length_ = 0;
    return !failed_;
  }

 private:
  Output& grouped(const Decimal& digits) noexcept {
    for (std::size_t i = 0; i < digits.length(); ++i) {
      if (i != 0 && (digits.length() - i) % 3 == 0) text(",", 1);
      text(digits.text() + i, 1);
    }
    return *this;
  }

  int file_;
  bool failed_ = false;
  std::size_t length_ = 0;
  char buffer_[4096];
};

// Blocks of one size, heap and call site.
struct Group {
  Lost first;
  std::uint64_t blocks;
  std::uint64_t direct_blocks;

  std::uint64_t bytes() const noexcept { return blocks * first.bytes; }
};

bool is_like(const Lost& a, const Lost& b) noexcept {
  return a.heap == b.heap && a.site == b.site && a.bytes == b.bytes;
}

bool comes_before(const Lost& a, const Lost& b) noexcept {
  if (a.heap != b.heap) return a.heap < b.heap;
  if (a.site != b.site) return a.site < b.site;
  if (a.bytes != b.bytes) return a.bytes < b.bytes;
  return a.start < b.start;
}

// Returns how many there are.
std::size_t make_groups(Search& search, Group* groups) noexcept {
  std::sort(search.begin(), search.end(), comes_before);
  std::size_t count = 0;
  for (const Lost& lost : search) {
    if (count == 0 || !is_like(groups[count - 1].first, lost)) groups[count++] = {lost, 0, 0};
    ++groups[count - 1].blocks;
    groups[count - 1].direct_blocks += lost.is_direct ? 1 : 0;
  }
  std::sort(groups, groups + count, [](const Group& a, const Group& b) noexcept {
    return a.bytes() != b.bytes() ? a.bytes() > b.bytes() : a.first.start < b.first.start;
  });
  return count;
}

constexpr std::size_t width = 14;
constexpr std::size_t narrow = 10;

void print_text(Output& out, const Search& search, const Group* groups,
                std::size_t count) noexcept {
  const tarn_unreachable_result& all = search.result();
  out.text("tarn: no pointer reaches ").grouped(all.blocks).text(" blocks of ");
  out.grouped(all.block_bytes).text(" bytes, ").grouped(all.direct_blocks).text(" of ");
  out.grouped(all.direct_bytes).text(" directly (of ").grouped(all.live_blocks);
  out.text(" live ones of ").grouped(all.live_bytes).text(")\n");
  if (all.threads_missed != 0) {
    out.text("tarn: ").grouped(all.threads_missed).text(" threads were not stopped\n");
  }
  if (count == 0) return;
  out.text("         bytes    blocks    direct    of bytes  heap, allocated at\n");
  for (const Group* g = groups; g < groups + count; ++g) {
    const SeenHeap& heap = search.heap_of(g->first);
    out.column(g->bytes(), width).column(g->blocks, narrow).column(g->direct_blocks, narrow);
    out.column(g->first.bytes, narrow + 2).text("  ");
    out.text(heap.name[0] == '\0' ? "heap" : heap.name);
    if (heap.id != main_heap_id) out.text(" #").decimal(heap.id);
    if (g->first.site != nullptr) out.text(", ").site(g->first.site);
    out.text("\n");
  }
}

void print_json(Output& out, const Search& search, const Group* groups,
                std::size_t count) noexcept {
  const tarn_unreachable_result& all = search.result();
  const auto member = [&](const char* name, std::uint64_t number) noexcept {
    out.quoted(name).text(":").decimal(number).text(",");
  };
  out.text("{");
  member("blocks", all.blocks);
  member("bytes", all.block_bytes);
  member("direct_blocks", all.direct_blocks);
  member("direct_bytes", all.direct_bytes);
  member("live_blocks", all.live_blocks);
  member("live_bytes", all.live_bytes);
  member("root_bytes", all.root_bytes);
  member("skipped_bytes", all.skipped_bytes);
  member("threads_stopped", all.threads_stopped);
  member("threads_missed", all.threads_missed);
  member("pause_ns", all.pause_ns);
  out.text("\"groups\":[");
  for (std::size_t i = 0; i < count; ++i) {
    const Group& group = groups[i];
    const SeenHeap& heap = search.heap_of(group.first);
    out.text(i == 0 ? "\n{" : ",\n{");
    member("heap_id", heap.id);
    out.quoted("heap").text(":").quoted(heap.name).text(",");
    member("block_bytes", group.first.bytes);
    member("blocks", group.blocks);
    member("direct_blocks", group.direct_blocks);
    out.quoted("allocated_at").text(":");
    if (group.first.site == nullptr) {
      out.text("null}");
    } else {
      out.text("\"").site(group.first.site).text("\"}");
    }
  }
  out.text("]}\n");
}

}  // namespace

bool print(int file, Search& search, unsigned flags) noexcept {
  const auto lost = static_cast<std::size_t>(search.end() - search.begin());
  auto* const groups = search.scratch().take_array<Group>(lost);
  if (groups == nullptr) {
    errno = ENOMEM;
    return false;
  }
  const std::size_t count = make_groups(search, groups);
  Output out(file);
  if ((flags & TARN_UNREACHABLE_JSON) != 0) {
    print_json(out, search, groups, count);
  } else {
    print_text(out, search, groups, count);
  }
  return out.flush();
}

}  // namespace tarn
