// SPDX-License-Identifier: Apache-2.0
// Options of Soufflé's command that ours does not have, and what to do instead. Pure. Local.
#pragma once

#include <string>
#include <vector>

namespace stratalog::cli {

// One line for each such option among the arguments of a command line that was refused; empty if
// there is none. Each line ends with a line break.
std::string advice_on_souffle_options(const std::vector<std::string>& arguments);

}  // namespace stratalog::cli
