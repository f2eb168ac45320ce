// SPDX-License-Identifier: Apache-2.0
// ModelSpec: what `stratalog bench model` is to forecast, from the JSON that the Python front
// writes: a machine, and cases. docs/bench.md names the fields. Pure; local.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "forecast/save_steps.h"

namespace stratalog::cli {

struct ModelCase {
  std::string name;
  std::optional<BareFiles> bare;  // no checkpoint: bare writes
  SaveQuestion question;
  std::optional<ReadParts> restart;  // instead of the save: a restart from it
  int readers = 1;
};

struct ModelSpec {
  Machine machine;
  std::vector<ModelCase> cases;
};

// InvalidArgument names the case, the field and what it may be.
Result<ModelSpec> parse_model_spec(std::string_view text);

}  // namespace stratalog::cli
