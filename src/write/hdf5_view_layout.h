// SPDX-License-Identifier: Apache-2.0
// lay_out_views: an HDF5 file of virtual data sets, made in memory by the HDF5 library itself:
// where ranks have written several files, it shows their rows as if they were in one, and h5py,
// h5dump and all that read HDF5 need open nothing else. Does not include <hdf5.h>. Local; one
// thread at a time.
#pragma once

#include "write/parallel_files.h"

namespace stratalog {

// InvalidArgument if the rows of a view's sources are not its own.
Result<RowFileImage> lay_out_views(const std::vector<RowView>& views, const FileLabels& labels);

}  // namespace stratalog
