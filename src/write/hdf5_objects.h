// SPDX-License-Identifier: Apache-2.0
// What the HDF5 writers share: HDF5's error stack as a Status, and a dataset of rows with its
// attributes. Sees <hdf5.h>; for hdf5_*.cc of this room only. Local or collective as the file
// behind the identifier is.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "write/hdf5_handle.h"
#include "write/parallel_files.h"

namespace stratalog {

// The error stack in words; clears it.
Status hdf5_error(std::string_view call, std::string_view path);
Status hdf5_check(herr_t result, std::string_view call, std::string_view path);

// Creates the dataset `about` as `plan` says, with its attributes. `path` is for messages.
Result<Hdf5Handle> add_row_dataset(hid_t file, const RowDataset& about, const DatasetPlan& plan,
                                   const std::string& path);

// Attributes of an object: a text, a number (a scalar), or numbers (a list, not an empty one).
Status put_text(hid_t object, const char* name, const std::string& text, const std::string& path);
Status put_number(hid_t object, const char* name, std::uint64_t number, const std::string& path);
Status put_numbers(hid_t object, const char* name, const std::vector<std::uint64_t>& numbers,
                   const std::string& path);
// Attributes of the file's root.
Status label_file(hid_t file, const FileLabels& labels, const std::string& path);
// What a relation is: attributes of its data set or group (`About`: RowDataset or StreamRelation).
// "cells" says in words what its cells are.
template <typename About>
Status describe_relation(hid_t object, const About& about, const std::string& path);

// Alignment, caches and buffers of a file access property list. Parallel files know no sieving, but
// what is asked for is set.
void tune_file_access(hid_t access, const RowFileTuning& tuning);

// Where the rows lie. Chunked: in row order; NotSupported if HDF5 left out the filter of a chunk.
Result<RowPlacement> placement_of(hid_t dataset, const RowDataset& about, const DatasetPlan& plan,
                                  const std::string& path);

}  // namespace stratalog
