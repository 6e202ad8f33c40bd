// The validation set: small programs of the kinds that the literature on allocators measures, with
// parameters that are drawn from the request's seed. Nothing in tarn is tuned to them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "../workloads/workload.hpp"

namespace tarn {

// threads.cpp
std::uint64_t run_larson(const Request&);
std::uint64_t run_sharing_active(const Request&);
std::uint64_t run_sharing_passive(const Request&);
std::uint64_t run_messages(const Request&);
// numbers.cpp
std::uint64_t run_factoring(const Request&);
std::uint64_t run_bodies(const Request&);
// logic.cpp
std::uint64_t run_covers(const Request&);
std::uint64_t run_proofs(const Request&);
// documents.cpp
std::uint64_t run_json(const Request&);
std::uint64_t run_xml(const Request&);
// translation.cpp
std::uint64_t run_compiler(const Request&);
std::uint64_t run_linker(const Request&);
// data.cpp
std::uint64_t run_sql(const Request&);
std::uint64_t run_key_value(const Request&);
// pictures.cpp
std::uint64_t run_pages(const Request&);
std::uint64_t run_images(const Request&);
// cells.cpp
std::uint64_t run_red_black(const Request&);
std::uint64_t run_scripts(const Request&);
std::uint64_t run_rewriting(const Request&);

}  // namespace tarn
