// run_record: see run_record.hpp.
// SPDX-License-Identifier: MIT
#include "run_record.hpp"

#include <algorithm>

namespace tarn {

std::string_view state_of(const RunRecord& record, const tarn_account& account) {
  if (account.state == TARN_ACCOUNT_FINAL) return "final";
  const bool is_alive = std::ranges::find(record.running, account.pid) != record.running.end();
  return is_alive ? "running" : "unfinished";
}

double slack_of(const tarn_account_class& row) noexcept {
  if (row.sampled == 0 || row.block_bytes == 0) return -1;
  const double reserved = static_cast<double>(row.sampled) * static_cast<double>(row.block_bytes);
  return std::clamp(1 - static_cast<double>(row.sampled_bytes) / reserved, 0.0, 1.0);
}

}  // namespace tarn
