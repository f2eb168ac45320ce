// SPDX-License-Identifier: Apache-2.0
// Goals and tuples as text: what is `$Zero` and `1e22` in output files is `$Zero()` and `1.0e22` in
// a program. Goals may have either, tuples are shown as in programs. Pure; local.
#pragma once

#include <string>
#include <string_view>

namespace stratalog::datalog {

// Puts `()` behind every `$Name` that has no `(`, and `.0` into whole numbers that have an
// exponent, outside of strings.
std::string as_in_programs(std::string_view text);

}  // namespace stratalog::datalog
