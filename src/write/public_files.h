// SPDX-License-Identifier: Apache-2.0
// Stores of files that the user asked for and may share: outputs. New files and the root get the
// mode that the umask leaves (files 0666, directory 0777), where other stores keep what they make
// to the user alone. Everything else is as in open_posix_store. Local.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog {

// Whether `path` leads, through links of /proc as /dev/stdout has them, to what a process has open:
// a file that others write to may be behind it, and must not be replaced by another one.
bool leads_to_open_file(const std::string& path);

Result<std::unique_ptr<Store>> open_public_store(const std::string& root, RootMode mode);

}  // namespace stratalog
