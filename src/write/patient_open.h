// SPDX-License-Identifier: Apache-2.0
// open_patiently: opens a file in a directory that another rank has just made. On network file
// systems this client may still remember that the directory was not there; listing its parent makes
// it look again. Local.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog {

// As store.open(), but after NotFound lists the directories on the way and tries again, four times
// within about a second. Other errors come back at once.
Result<std::unique_ptr<File>> open_patiently(Store& store, const std::string& path, OpenMode mode);

}  // namespace stratalog
