// SPDX-License-Identifier: Apache-2.0
// RowFiles on parallel HDF5: contiguous datasets of shape (rows, columns) of little-endian uint64,
// hyperslabs, collective transfer: the baseline of the papers. Does not include <hdf5.h>. The
// functions are collective over the Comm they get, which must be an MpiComm; each rank's Status is
// its own, so callers agree afterwards.
#pragma once

#include "write/parallel_files.h"

namespace stratalog {

RowFiles hdf5_row_files();

}  // namespace stratalog
