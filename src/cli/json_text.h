// SPDX-License-Identifier: Apache-2.0
// JSON as the command writes it: indented, one final newline. Names that are no UTF-8 (file names
// may be anything) are written with replacement characters; they are no reason to fail. Pure;
// local.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace stratalog::cli {

inline std::string json_text(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stratalog::cli
