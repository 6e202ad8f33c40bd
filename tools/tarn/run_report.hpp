// run_report: a finished run as text for people and as JSON for programs.
//
// docs/design/command.md describes the keys of the JSON. Keys are only ever added.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "run_record.hpp"
#include "terminal.hpp"

namespace tarn {

std::string run_text(const RunRecord& record, const Terminal& terminal, bool has_class_table);
nlohmann::ordered_json run_json(const RunRecord& record);
// The part on the resources of one run, which is the same in both kinds of JSON.
nlohmann::ordered_json resources_json(const Outcome& outcome);

}  // namespace tarn
