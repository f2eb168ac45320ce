// SPDX-License-Identifier: Apache-2.0
// A restart, timed: the newest generation is read into memory, dealt to the ranks that own its
// tuples where they do not lie there already, and compared with what the manifest promises.
// RA-checkpoint, figures 5 and 6. Collective.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bench/held_relation.h"
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"
#include "write/store.h"

namespace stratalog {

struct RestartMeasure {
  double read_seconds = 0;  // reading, verifying and decoding blocks, tuples into memory
  double shuffle_seconds = 0;  // tuples to their owners; 0 where each rank read its own
  double total_seconds = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // of blocks or rows, read
  std::uint64_t moved_bytes = 0;  // between ranks
};

// Times are the maximum over ranks; sums are over all ranks. The comparison with the manifest's row
// counts and hashes is not part of the times; Corruption if it fails.
Result<RestartMeasure> measure_restart(Comm& comm, Store& store, ReadParts parts);

// Every relation with columns of a generation (empty: the newest), each rank's part as it was read,
// in ascending order: data for a benchmark.
Result<std::vector<HeldRelation>> take_from_checkpoint(Comm& comm, Store& store,
                                                       const std::string& generation);

}  // namespace stratalog
