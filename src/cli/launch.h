// SPDX-License-Identifier: Apache-2.0
// --ranks N: the process becomes `mpiexec -n N stratalog ...`. Signals then reach the ranks through
// the launcher. Does not return when it succeeds.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stratalog::cli {

// Where this program lies; its bare name if the system does not say. Local.
std::string own_path();

// The command line without --ranks and its value. Pure.
std::vector<std::string> without_ranks(const std::vector<std::string>& arguments);

// The launcher: $MPIEXEC, the one that Stratalog was built with, the one beside this program, the
// first on the PATH. NotFound with what to do.
Result<std::string> find_launcher();

// Replaces this process by `ranks` ranks of itself with `arguments`. Returns only on failure.
Status become_ranks(int ranks, const std::vector<std::string>& arguments);

}  // namespace stratalog::cli
