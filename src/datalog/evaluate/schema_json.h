// SPDX-License-Identifier: Apache-2.0
// What the columns of a program's relations mean (names, types, records, algebraic types), as the
// JSON that travels in a checkpoint's engine_state, so that readers need not understand programs.
// Nothing in the engine reads it back. Fields: docs/formats/engine_state.md. Pure; local.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "datalog/program.h"

namespace stratalog::datalog {

nlohmann::json schema_to_json(const Program& program);

}  // namespace stratalog::datalog
