// SPDX-License-Identifier: Apache-2.0
// Which numbers of each stream of a file are whose (mode hdf5-streams): every rank counts what its
// tuples will be before it writes any, so that all know which chunks they fill. Collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/row_datasets.h"
#include "place/chunk_owners.h"

namespace stratalog {

// How relations are cut, from the size of blocks that is asked for (1 MiB: 2^17 tuples a block,
// 2^16 numbers a chunk, which is the most).
std::uint64_t tuples_a_block(const WriterOptions& options);
std::uint64_t numbers_a_chunk(const WriterOptions& options);

// One relation of one file.
struct StreamPlan {
  std::vector<ChunkOwners> streams;  // in the order of the format
  Cell key_before = 0;  // the last key of the ranks before this one
};

// "key", "count", "first", "gap", "count2", ...
std::string stream_name(std::size_t stream);

// Of each relation of `part`. One verdict for all ranks.
Result<std::vector<StreamPlan>> plan_streams(const SaveContext& context, const RowFilePart& part,
                                             LocalOutput& out);

}  // namespace stratalog
