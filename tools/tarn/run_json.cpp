// run_json: a finished run as JSON; docs/design/command.md lists the keys.
// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "run_report.hpp"

namespace tarn {

namespace {

using Json = nlohmann::ordered_json;

Json class_json(const tarn_account_class& row) {
  const double slack = slack_of(row);
  return {{"block_bytes", row.block_bytes},     {"allocations", row.allocations},
          {"live_blocks", row.live_blocks},     {"sampled", row.sampled},
          {"sampled_bytes", row.sampled_bytes}, {"slack", slack < 0 ? Json(nullptr) : Json(slack)}};
}

Json process_json(const RunRecord& record, const tarn_account& account) {
  Json json = {{"pid", account.pid},
               {"parent_pid", account.parent_pid},
               {"program", account.program},
               {"state", state_of(record, account)},
               {"live_bytes", account.live_bytes},
               {"live_bytes_peak", account.live_bytes_peak},
               {"reserved_bytes", account.reserved_bytes},
               {"committed_bytes", account.committed_bytes},
               {"committed_bytes_peak", account.committed_bytes_peak},
               {"large_allocations", account.large_allocations},
               {"large_live_blocks", account.large_live_blocks},
               {"large_live_bytes", account.large_live_bytes},
               {"large_live_bytes_peak", account.large_live_bytes_peak},
               {"threads_started", account.threads_started},
               {"threads_peak", account.threads_peak},
               {"os_map_calls", account.os_map_calls},
               {"os_purge_calls", account.os_purge_calls},
               {"os_purged_bytes", account.os_purged_bytes},
               {"live_blocks", account.live_blocks},
               {"free_blocks", account.free_blocks},
               {"classes", Json::array()}};
  for (std::uint64_t i = 0; i < account.class_count; ++i) {
    const tarn_account_class& row = account.classes[i];
    if (row.block_bytes != 0) json["classes"].push_back(class_json(row));
  }
  return json;
}

}  // namespace

Json resources_json(const Outcome& outcome) {
  const rusage& usage = outcome.usage;
  return {{"wall_seconds", outcome.wall_seconds},
          {"user_seconds", outcome.user_seconds()},
          {"system_seconds", outcome.system_seconds()},
          {"peak_rss_bytes", static_cast<std::uint64_t>(outcome.peak_rss_bytes())},
          {"minor_faults", usage.ru_minflt},
          {"major_faults", usage.ru_majflt},
          {"voluntary_switches", usage.ru_nvcsw},
          {"involuntary_switches", usage.ru_nivcsw}};
}

Json run_json(const RunRecord& record) {
  const int signal = record.outcome.signal();
  Json json = {{"format", "tarn-run"},
               {"format_version", 1},
               {"tarn_version", TARN_COMMAND_VERSION},
               {"command", record.words},
               {"library", record.library},
               {"pid", record.outcome.pid},
               {"exit_status", signal != 0 ? Json(nullptr) : Json(record.outcome.exit_status())},
               {"signal", signal == 0 ? Json(nullptr) : Json(signal)},
               {"is_active", record.main_account() != nullptr},
               {"resources", resources_json(record.outcome)},
               {"notes", Json::array()},
               {"processes", Json::array()}};
  for (const Note& note : record.notes) {
    json["notes"].push_back({{"kind", note.kind}, {"text", note.text}});
  }
  for (const tarn_account& account : record.accounts.processes) {
    json["processes"].push_back(process_json(record, account));
  }
  return json;
}

}  // namespace tarn
