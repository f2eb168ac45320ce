// SPDX-License-Identifier: Apache-2.0
// lay_out_streams: HDF5's own part of a file of streams, made in memory by the HDF5 library itself:
// chunks that ranks have written lie where they lie, everything else goes behind them, but for the
// superblock. Does not include <hdf5.h>. Local; one thread at a time.
#pragma once

#include "write/parallel_files.h"

namespace stratalog {

Result<RowFileImage> lay_out_streams(const std::vector<StreamRelation>& relations,
                                     const FileLabels& labels, std::uint32_t deflate_level,
                                     std::uint64_t data_end);

}  // namespace stratalog
