// SPDX-License-Identifier: Apache-2.0
// What why and why-not print: a proof as a tree with the rules named beside it and listed below,
// and the failures of rules; as text or JSON. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "datalog/prove/prove.h"

namespace stratalog::cli {

// Levels below `depth` are left out; 0 shows all.
std::string proof_text(const datalog::Proof& proof, std::uint32_t depth);
std::string why_not_text(const datalog::WhyNot& answer);

nlohmann::json proof_json(const datalog::Proof& proof, const std::string& generation);
nlohmann::json why_not_json(const datalog::WhyNot& answer, const std::string& generation);

}  // namespace stratalog::cli
