// run_text: the account on stderr: five to eight lines, and with --stats the table of classes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "quantity.hpp"
#include "run_report.hpp"

namespace tarn {

namespace {

constexpr std::size_t processes_shown_max = 8;
constexpr std::size_t classes_shown_max = 20;  // All of them are in the JSON.

double as_real(std::uint64_t count) { return static_cast<double>(count); }

std::string ending_of(const Outcome& outcome) {
  if (outcome.signal() != 0) {
    const char* const name = ::sigabbrev_np(outcome.signal());
    return fmt::format("died by SIG{}{}", name == nullptr ? "?" : name,
                       WCOREDUMP(outcome.wait_status) ? " (core dumped)" : "");
  }
  if (outcome.exit_status() != 0) return fmt::format("exited with {}", outcome.exit_status());
  return "done";
}

std::string headline(const RunRecord& record, const Terminal& terminal) {
  const auto* const account = record.main_account();
  const std::string name = account != nullptr && account->program[0] != '\0'
                               ? account->program
                               : std::filesystem::path(record.words.front()).filename().string();
  return fmt::format("tarn: {} (pid {}) {} in {}",
                     terminal.paint(Style::strong, text_of_name(name)), record.outcome.pid,
                     ending_of(record.outcome), text_of_seconds(record.outcome.wall_seconds));
}

std::string resource_lines(const Outcome& outcome) {
  const rusage& usage = outcome.usage;
  return fmt::format(
      "\n  memory   peak RSS {}; page faults {} minor, {} major"
      "\n  time     {} user, {} in the kernel, {} wall",
      text_of_bytes(outcome.peak_rss_bytes()),
      text_of_count(static_cast<std::uint64_t>(usage.ru_minflt)),
      text_of_count(static_cast<std::uint64_t>(usage.ru_majflt)),
      text_of_seconds(outcome.user_seconds()), text_of_seconds(outcome.system_seconds()),
      text_of_seconds(outcome.wall_seconds));
}

std::string heap_lines(const RunRecord& record, const tarn_account& account,
                       const Terminal& terminal) {
  std::string text = fmt::format("\n  heap     peak ~{} live, {} at the end; {} committed at most",
                                 text_of_bytes(as_real(account.live_bytes_peak)),
                                 text_of_bytes(as_real(account.live_bytes)),
                                 text_of_bytes(as_real(account.committed_bytes_peak)));
  const std::string_view state = state_of(record, account);
  if (state != "final") {
    const std::string_view reason = state == "running"
                                        ? "still running: as of now"
                                        : "as last written: it ended by _exit or a signal";
    text += fmt::format(" {}", terminal.paint(Style::warning, fmt::format("({})", reason)));
  }
  return text;
}

// Beside D. E. Knuth's fifty-percent rule for heaps that join what is free.
std::string ratio_line(const tarn_account& account) {
  if (account.live_blocks == 0) return "";
  return fmt::format(
      "\n  blocks   {} live and {} free at the end, {:.2f} for each (a heap that joins: 0.5)",
      text_of_count(account.live_blocks), text_of_count(account.free_blocks),
      as_real(account.free_blocks) / as_real(account.live_blocks));
}

std::string detail_lines(const tarn_account& account) {
  return ratio_line(account) + fmt::format(
                                   "\n  large    {}, peak {}; {} ({}) live at the end"
                                   "\n  threads  {} allocated, at most {} at a time"
                                   "\n  system   {}; {} gave back {}",
                                   text_of_many(account.large_allocations, "block"),
                                   text_of_bytes(as_real(account.large_live_bytes_peak)),
                                   text_of_count(account.large_live_blocks),
                                   text_of_bytes(as_real(account.large_live_bytes)),
                                   text_of_count(account.threads_started),
                                   text_of_count(account.threads_peak),
                                   text_of_many(account.os_map_calls, "map call"),
                                   text_of_many(account.os_purge_calls, "purge"),
                                   text_of_bytes(as_real(account.os_purged_bytes)));
}

// One line of the table: a class, or the sum of several.
struct ClassLine {
  std::uint64_t allocations = 0;
  std::uint64_t live_blocks = 0;
  double live_bytes = 0;
  double sampled_reserved = 0;  // Each class's sample stands for all its blocks.
  double sampled_unasked = 0;

  void add(const tarn_account_class& row) {
    const double handed_out = as_real(row.allocations) * as_real(row.block_bytes);
    const double slack = slack_of(row);
    allocations += row.allocations;
    live_blocks += row.live_blocks;
    live_bytes += as_real(row.live_blocks) * as_real(row.block_bytes);
    sampled_reserved += slack < 0 ? 0 : handed_out;
    sampled_unasked += slack < 0 ? 0 : handed_out * slack;
  }

  std::string text(std::string_view name) const {
    const std::string slack =
        sampled_reserved > 0
            ? fmt::format("~{}", text_of_percent(sampled_unasked / sampled_reserved))
            : "-";
    return fmt::format("\n  {:>12} {:>15} {:>13} {:>12} {:>8}", name, text_of_count(allocations),
                       text_of_count(live_blocks), text_of_bytes(live_bytes), slack);
  }
};

// The classes in use, by size. If there are many, only those that handed out most bytes; `rest` is
// the sum of the others.
std::vector<tarn_account_class> classes_shown(const tarn_account& account,
                                              std::vector<tarn_account_class>& rest) {
  std::vector<tarn_account_class> rows(account.classes, account.classes + account.class_count);
  std::erase_if(rows, [](const auto& row) { return row.block_bytes == 0 || row.allocations == 0; });
  if (rows.size() <= classes_shown_max) return rows;
  std::ranges::sort(rows, std::greater<>(), [](const auto& row) {
    return as_real(row.allocations) * as_real(row.block_bytes);
  });
  rest.assign(rows.begin() + classes_shown_max, rows.end());
  rows.resize(classes_shown_max);
  std::ranges::sort(rows, {}, &tarn_account_class::block_bytes);
  return rows;
}

std::string class_table(const tarn_account& account, const Terminal& terminal) {
  const std::string heads = fmt::format("  {:>12} {:>15} {:>13} {:>12} {:>8}", "size class",
                                        "allocations", "live blocks", "live bytes", "slack");
  std::string text = fmt::format("\n{}", terminal.paint(Style::strong, heads));
  std::vector<tarn_account_class> rest;
  ClassLine all;
  for (const tarn_account_class& row : classes_shown(account, rest)) {
    ClassLine line;
    line.add(row);
    all.add(row);
    text += line.text(fmt::format("{} B", text_of_count(row.block_bytes)));
  }
  ClassLine others;
  for (const tarn_account_class& row : rest) {
    others.add(row);
    all.add(row);
  }
  if (!rest.empty()) text += others.text(fmt::format("{} others", rest.size()));
  const ClassLine large = {account.large_allocations, account.large_live_blocks,
                           as_real(account.large_live_bytes), 0, 0};
  if (large.allocations > 0) text += large.text("large");
  all.allocations += large.allocations;
  all.live_blocks += large.live_blocks;
  all.live_bytes += large.live_bytes;
  text += all.text("all");
  return text + "\n  slack: the part of a block not asked for; ~ from a sample of requests";
}

std::string process_table(const RunRecord& record, const Terminal& terminal) {
  const auto& processes = record.accounts.processes;
  std::string text = fmt::format(
      "\n  {} {} on tarn; by peak:\n{}", text_of_count(processes.size()),
      processes.size() == 1 ? "process was" : "processes were",
      terminal.paint(Style::strong, fmt::format("  {:>10} {:>12}  {}", "pid", "peak", "program")));
  std::size_t shown = 0;
  for (const tarn_account& account : processes) {
    if (shown == processes_shown_max) {
      text += fmt::format("\n  and {} more", processes.size() - shown);
      break;
    }
    const std::string_view state = state_of(record, account);
    text += fmt::format("\n  {:>10} {:>12}  {}{}", account.pid,
                        fmt::format("~{}", text_of_bytes(as_real(account.live_bytes_peak))),
                        text_of_name(account.program),
                        state == "final" ? "" : fmt::format(" ({})", state));
    ++shown;
  }
  return text;
}

}  // namespace

std::string run_text(const RunRecord& record, const Terminal& terminal, bool has_class_table) {
  std::string text = headline(record, terminal);
  const tarn_account* const account = record.main_account();
  if (account != nullptr) text += heap_lines(record, *account, terminal);
  text += resource_lines(record.outcome);
  if (account != nullptr) {
    text += detail_lines(*account);
    if (has_class_table) text += class_table(*account, terminal);
  }
  const bool has_others = record.accounts.processes.size() > (account != nullptr ? 1u : 0u);
  if (has_others) text += process_table(record, terminal);
  return text;
}

}  // namespace tarn
