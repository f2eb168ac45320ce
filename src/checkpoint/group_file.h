// SPDX-License-Identifier: Apache-2.0
// A file that the ranks of a group write together through the Store: without MPI-IO.
#pragma once

#include <span>
#include <string>

#include "checkpoint/save_plan.h"
#include "write/parallel_files.h"

namespace stratalog {

// Rank `leader` creates the file, which must not exist, the others of its group open it. A rank
// with an empty `path` takes part and gets a file that does nothing. Collective; one verdict for
// all. The file's own calls are local.
Result<SharedFile> create_group_file(Comm& comm, Store& store, const std::string& path, int leader);

// Of a shared file: of a batch of relations and a group of ranks.
std::string group_file_name(const SaveContext& context, const SaveLayout::Batch& batch,
                            std::size_t number, std::uint32_t group);

// For saves whose writing goes on beside the caller, before anything waits in the queue: from then
// on the store is that thread's. The leader of each group creates the files `names`, empty, with
// the stripes of the plan. Collective; one verdict for all.
Status create_empty_files(const SaveContext& context, std::span<const std::string> names,
                          LocalOutput& out);
// Such a file, whose bytes go through the queue of the save; an empty `name` is a file that does
// nothing. Local.
SharedFile queued_group_file(const SaveContext& context, const std::string& name);

}  // namespace stratalog
