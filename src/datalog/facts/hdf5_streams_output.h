// SPDX-License-Identifier: Apache-2.0
// write_hdf5_streams: a sorted relation as an HDF5 file of key streams (key_streams.h), each a
// dataset of uint32 behind a registered filter, so that h5py and numpy alone read it
// (docs/formats/facts.md). One rank writes. Does not include <hdf5.h>; built only where HDF5 is.
#pragma once

#include <string>

#include "base/status.h"
#include "comm/comm.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/facts/key_streams.h"

namespace stratalog::datalog {

// An Hdf5Writer (fact_writer.h) for a group of one. NotSupported by several ranks, where the filter
// is not available, for a symbol with a NUL byte; IoError with HDF5's own reason.
Status write_hdf5_streams(Comm& comm, const std::string& path, const SortedRelation& sorted,
                          StreamFilter filter);

}  // namespace stratalog::datalog
