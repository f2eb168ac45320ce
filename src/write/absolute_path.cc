// SPDX-License-Identifier: Apache-2.0
#include "write/absolute_path.h"

#include <filesystem>
#include <system_error>

namespace stratalog {

std::string absolute_path(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error).lexically_normal();
  if (error) return path;
  return whole.has_filename() ? whole.string() : whole.parent_path().string();  // of "folder/."
}

}  // namespace stratalog
