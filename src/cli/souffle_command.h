// SPDX-License-Identifier: Apache-2.0
// arguments_from_souffle: the command line of Soufflé as arguments of `stratalog run`, for tools
// that call a program named `souffle` (a link of that name to this command). Options that change
// how Soufflé computes, and not what, are left out; those that ask for something else stay, and are
// refused with advice (souffle_options.h). Pure; local.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stratalog::cli {

// `program`: as the process was called, with or without folders.
bool is_named_souffle(std::string_view program);

std::vector<std::string> arguments_from_souffle(const std::vector<std::string>& arguments);

}  // namespace stratalog::cli
