// SPDX-License-Identifier: Apache-2.0
// What `stratalog bench model` prints of a case: one line of JSON with modelled seconds by phase,
// what was counted on the way, and the reasons of the plan that was priced. Pure; local.
#pragma once

#include <string>

#include "cli/model_spec.h"

namespace stratalog::cli {

Result<std::string> model_line(const ModelCase& one, const Machine& machine);

}  // namespace stratalog::cli
