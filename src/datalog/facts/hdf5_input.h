// SPDX-License-Identifier: Apache-2.0
// read_hdf5: the facts of a relation from an HDF5 file as write_hdf5 makes them: a group with one
// dataset per attribute, found by name, symbols as positions in a dataset of strings
// (docs/formats/facts.md). Does not include <hdf5.h>; built only where HDF5 is.
#pragma once

#include "base/result.h"
#include "datalog/facts/fact_reader.h"

namespace stratalog::datalog {

// Local, an Hdf5Reader (fact_reader.h); threads may call it at the same time. InvalidArgument for a
// file that does not fit the relation; IoError with HDF5's own reason.
Result<ParsedFacts> read_hdf5(const Hdf5Input& input, NewValues& values);

}  // namespace stratalog::datalog
