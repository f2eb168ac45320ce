// SPDX-License-Identifier: Apache-2.0
// EnginePosition as the JSON text that travels in a checkpoint's engine_state, and back. Pure;
// local. The fields are described in docs/formats/engine_state.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/checkpointing.h"

namespace stratalog::datalog {

std::string position_to_json(const Program& program, const EnginePosition& position);
// Corruption, naming the field, if the text is not what position_to_json writes for this program.
// `rounds` is the section of that name.
Result<EnginePosition> position_from_json(const Program& program, const std::string& text,
                                          std::span<const std::byte> rounds);
Result<EnginePosition> stored_position(const Program& program, const StoredState& stored);
// What the section `rounds` holds: the counts of rounds of each report, then of the running
// stratum; and as bytes, seven bits in each, the lowest first, with the eighth set where more
// follow.
std::vector<std::uint64_t> rounds_of(const EnginePosition& position);
Bytes encode_rounds(std::span<const std::uint64_t> rounds);

}  // namespace stratalog::datalog
