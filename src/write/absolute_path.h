// SPDX-License-Identifier: Apache-2.0
// Paths that mean the same in another folder. Local.
#pragma once

#include <string>

namespace stratalog {

// `path` as seen from the current folder, without "." and ".." and a slash at its end; as it is
// where it is empty or there is no current folder.
std::string absolute_path(const std::string& path);

}  // namespace stratalog
