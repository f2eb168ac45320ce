// SPDX-License-Identifier: Apache-2.0
// Goals and tuples as text: in a program a branch without fields is `$Zero()`, in output files it
// is
// `$Zero`. Goals may have either, tuples are shown as in programs. Pure; local.
#pragma once

#include <string>
#include <string_view>

namespace stratalog::datalog {

// Puts `()` behind every `$Name` that has no `(`, outside of strings.
std::string with_written_out_branches(std::string_view text);

}  // namespace stratalog::datalog
