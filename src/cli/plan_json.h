// SPDX-License-Identifier: Apache-2.0
// A program's plan as JSON, for tools: what `explain` says in words. Pure; local.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "datalog/plan/program_plan.h"

namespace stratalog::cli {

nlohmann::json plan_json(const datalog::Program& program, const datalog::ProgramPlan& plan);

}  // namespace stratalog::cli
