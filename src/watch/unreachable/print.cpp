// print: see print.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/print.hpp"

#include <algorithm>
#include <cerrno>

#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/report/calls.hpp"

namespace tarn {

namespace {

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

// Whether each block is in one group.
[[maybe_unused]] bool are_complete(const Search& search, const Group* groups,
                                   std::size_t count) noexcept {
  std::uint64_t blocks = 0;
  std::uint64_t direct = 0;
  for (const Group* g = groups; g < groups + count; ++g) {
    blocks += g->blocks;
    direct += g->direct_blocks;
  }
  return blocks == search.result().blocks && direct == search.result().direct_blocks;
}

// Sorts the blocks into groups, those with most bytes first. Returns how many groups there are.
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
  TARN_ASSERT(are_complete(search, groups, count));
  return count;
}

// The heap "names" (number 2)
void print_heap(ReportText& out, const SeenHeap& heap) noexcept {
  out.text("heap ");
  if (heap.name[0] != '\0') out.text("\"").visible(heap.name).text("\" ");
  out.text("(number ").decimal(heap.id).text(")");
}

void print_text(ReportText& out, const Search& search, const Group* groups,
                std::size_t count) noexcept {
  const tarn_unreachable_result& all = search.result();
  out.text("tarn: no pointer reaches ").grouped(all.blocks);
  out.text(all.blocks == 1 ? " block of " : " blocks of ");
  out.grouped(all.block_bytes).text(" bytes, ").grouped(all.direct_blocks).text(" of ");
  out.grouped(all.direct_bytes).text(" directly (of ").grouped(all.live_blocks);
  out.text(" live ones of ").grouped(all.live_bytes).text(")\n");
  if (all.threads_missed != 0) {
    out.text("tarn: ").grouped(all.threads_missed).text(" threads were not stopped\n");
  }
  for (const Group* g = groups; g < groups + count; ++g) {
    out.text("tarn: leak: ").grouped(g->bytes()).text(" bytes, ").grouped(g->blocks);
    out.text(g->blocks == 1 ? " block of " : " blocks of ").grouped(g->first.bytes).text(", ");
    out.grouped(g->direct_blocks).text(" directly, of the ");
    print_heap(out, search.heap_of(g->first));
    out.text("\n");
    write_calls(out, "allocated at", g->first.site);
  }
}

// One line.
void print_json(ReportText& out, const Search& search, const Group* groups, std::size_t count,
                const LeakReport* leaks) noexcept {
  const tarn_unreachable_result& all = search.result();
  const auto member = [&](const char* name, std::uint64_t number) noexcept {
    out.json_string(name).text(":").decimal(number).text(",");
  };
  out.text("{");
  if (leaks != nullptr) {
    out.text("\"tarn\":\"leaks\",");
    member("process", os::process_id());
  }
  if (leaks != nullptr && leaks->is_for_command) {
    out.text("\"show\":").text(leaks->is_json ? "\"json\"," : "\"text\",");
    out.text("\"suppressions\":").json_string(leaks->suppressions).text(",");
  }
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
    out.text(i == 0 ? "{" : ",{");
    member("heap_id", heap.id);
    out.text("\"heap\":").json_string(heap.name).text(",");
    member("block_bytes", group.first.bytes);
    member("blocks", group.blocks);
    member("direct_blocks", group.direct_blocks);
    write_json_calls(out.text("\"allocated_at\":"), group.first.site);
    out.text("}");
  }
  out.text("]}\n");
}

}  // namespace

bool print(ReportText& out, Search& search, unsigned flags, const LeakReport* leaks) noexcept {
  const auto lost = static_cast<std::size_t>(search.end() - search.begin());
  auto* const groups = search.scratch().take_array<Group>(lost);
  if (groups == nullptr) {
    errno = ENOMEM;
    return false;
  }
  const std::size_t count = make_groups(search, groups);
  if ((flags & TARN_UNREACHABLE_JSON) != 0) {
    print_json(out, search, groups, count, leaks);
  } else {
    print_text(out, search, groups, count);
  }
  return out.flush();
}

}  // namespace tarn
