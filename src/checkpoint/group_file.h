// SPDX-License-Identifier: Apache-2.0
// A file that the ranks of a group write together through the Store: without MPI-IO.
#pragma once

#include <string>

#include "write/parallel_files.h"

namespace stratalog {

// Rank `leader` creates the file, which must not exist, the others of its group open it. A rank
// with an empty `path` takes part and gets a file that does nothing. Collective; one verdict for
// all. The file's own calls are local.
Result<SharedFile> create_group_file(Comm& comm, Store& store, const std::string& path, int leader);

}  // namespace stratalog
