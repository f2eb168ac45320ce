// SPDX-License-Identifier: Apache-2.0
// lay_out_rows: an HDF5 file with its datasets, laid out in memory by the HDF5 library itself, on a
// file driver that keeps pages instead of calling a file system. The rows are not part of it: they
// are allocated without being written, so that ranks can put them at their offsets later
// (hdf5-direct, HDF5-OPT O1 and O2). Does not include <hdf5.h>. Local; one thread at a time.
#pragma once

#include "write/parallel_files.h"

namespace stratalog {

Result<RowFileImage> lay_out_rows(const std::vector<RowDataset>& datasets,
                                  const RowFileSettings& settings);

// A RowFiles that only lays files out: what a build with HDF5 can do without MPI processes.
RowFiles hdf5_serial_files();

}  // namespace stratalog
