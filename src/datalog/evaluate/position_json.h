// SPDX-License-Identifier: Apache-2.0
// EnginePosition as the JSON text that travels in a checkpoint's engine_state, and back. Pure;
// local. The fields are described in docs/formats/engine_state.md.
#pragma once

#include <string>

#include "base/result.h"
#include "datalog/evaluate/checkpointing.h"

namespace stratalog::datalog {

std::string position_to_json(const Program& program, const EnginePosition& position);
// Corruption, naming the field, if the text is not what position_to_json writes for this program.
Result<EnginePosition> position_from_json(const Program& program, const std::string& text);

}  // namespace stratalog::datalog
