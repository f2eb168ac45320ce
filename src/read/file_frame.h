// SPDX-License-Identifier: Apache-2.0
// The frame of a file whose layout is not ours (HDF5): everything outside the datasets' rows. Its
// hash in the manifest lets readers trust the placement of rows without parsing the file. Local.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "write/store.h"

namespace stratalog {

// Hash of all bytes of the file outside `data`, whose parts are disjoint or equal. Memory: 1 MiB.
Result<Hash128> hash_frame(Store& store, const std::string& path, std::vector<Extent> data);

// Checks the frame of every file that has one in the manifest.
Status check_row_file_frames(Store& store, const Manifest& manifest);

}  // namespace stratalog
