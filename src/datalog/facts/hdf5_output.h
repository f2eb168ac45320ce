// SPDX-License-Identifier: Apache-2.0
// write_hdf5: a sorted relation as a self-describing HDF5 file, readable by h5py and h5dump without
// knowing Stratalog: one dataset per column, symbols as positions in a dataset of strings
// (docs/formats/facts.md). Rank 0 lays the file out, then all ranks write their ranges
// collectively. Does not include <hdf5.h>; built only where HDF5 is.
#pragma once

#include <string>

#include "base/status.h"
#include "comm/comm.h"
#include "datalog/facts/fact_writer.h"

namespace stratalog::datalog {

// Collective, an Hdf5Writer (fact_writer.h). `comm` must be a group of one or an MpiComm.
// NotSupported for a symbol with a NUL byte, which HDF5 strings cannot hold; IoError with HDF5's
// own reason.
Status write_hdf5(Comm& comm, const std::string& path, const SortedRelation& sorted);

}  // namespace stratalog::datalog
