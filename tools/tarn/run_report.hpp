// run_report: a finished run as text for people and as JSON for programs.
//
// The keys of the JSON are described in docs/design/command.md and only ever added to.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "run_record.hpp"
#include "terminal.hpp"

namespace tarn {

std::string run_text(const RunRecord& record, const Terminal& terminal, bool has_class_table);
nlohmann::ordered_json run_json(const RunRecord& record);
// What both kinds of JSON say of the resources of one run.
nlohmann::ordered_json resources_json(const Outcome& outcome);

}  // namespace tarn
