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

// Names may be shortened and letters grouped, as getopt_long has it.
std::vector<std::string> arguments_from_souffle(const std::vector<std::string>& arguments);

// The option of `run` by which it tells that it was called so, and whether fact files may be
// missing (-w). In no help: `run` has no such wish of its own.
inline constexpr std::string_view kSouffleFacts = "--souffle-facts";

// What --version prints, with the line by which tools choose a library of functors.
std::string version_like_souffle(const std::string& version);

}  // namespace stratalog::cli
