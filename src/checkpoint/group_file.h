// SPDX-License-Identifier: Apache-2.0
// A file that the ranks of a group write together through the Store: without MPI-IO.
#pragma once

#include <string>

#include "checkpoint/save_plan.h"
#include "write/parallel_files.h"

namespace stratalog {

// Rank `leader` creates the file, which must not exist, the others of its group open it. A rank
// with an empty `path` takes part and gets a file that does nothing. Collective; one verdict for
// all. The file's own calls are local.
Result<SharedFile> create_group_file(Comm& comm, Store& store, const std::string& path, int leader);

Status create_empty_file(Store& store, const std::string& path);

// Of a shared file: of a batch of relations and a group of ranks.
std::string group_file_name(const SaveContext& context, const SaveLayout::Batch& batch,
                            std::size_t number, std::uint32_t group);

// The same for saves whose writing goes on beside the caller: file `name` of the generation is
// created at once, and what is written to it goes through the queue of the save.
Result<SharedFile> create_queued_group_file(const SaveContext& context, const std::string& name,
                                            int leader);

}  // namespace stratalog
