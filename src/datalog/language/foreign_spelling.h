// SPDX-License-Identifier: Apache-2.0
// What other languages write where this one writes something else: `==`, `&&`, `not`, 'a', `<-`,
// 1e300. A hint for an error about a token that belongs to one of them. Pure. Local.
#pragma once

#include <string>
#include <string_view>

#include "datalog/language/source_span.h"

namespace stratalog::datalog::language {

// `token` is where reading `text` failed. Empty if nothing is known of it.
std::string foreign_spelling_hint(std::string_view text, Span token);

}  // namespace stratalog::datalog::language
