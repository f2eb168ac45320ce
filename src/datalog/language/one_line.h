// SPDX-License-Identifier: Apache-2.0
// A piece of a program as people read it in the middle of other text: without comments and line
// markers, on one line. Pure. Local.
#pragma once

#include <string>
#include <string_view>

namespace stratalog::datalog::language {

std::string on_one_line(std::string_view source);

}  // namespace stratalog::datalog::language
