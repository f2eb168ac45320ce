// SPDX-License-Identifier: Apache-2.0
// The settings of a run before it begins: whether they make sense, what of them has to be alike on
// all ranks, and what the folder of checkpoints remembers of them. Local.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/equal_arguments.h"
#include "api/program.h"
#include "base/status.h"

namespace stratalog {

// Ranks of this process; 0 asks for one a core, or one beside the ranks of other processes.
int threads_of(const RunSettings& settings, int ranks);

// InvalidArgument; `threads` is what threads_of() says.
Status check_settings(const RunSettings& settings, int ranks, int threads);

// All but memory limits and threads, which may differ.
void add_settings(const RunSettings& settings, EqualArguments& arguments);

// For commit/options_file.h; `name` is the program's.
nlohmann::json options_to_remember(const std::string& name, const RunSettings& settings);

}  // namespace stratalog
