// SPDX-License-Identifier: Apache-2.0
// compact_generation: writes a stored generation anew as one that stands by itself: chains of
// growth become one part, links to older generations end, and the layout may be another. The
// tuples go from file to file; no engine is involved, and a rank holds one block at a time.
// Collective.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace stratalog {

struct CompactRequest {
  std::string generation;  // the same on every rank
  CheckpointMode mode = CheckpointMode::kFilePerProcess;  // of the new one
  ShardEncoding encoding = ShardEncoding::kCompact;  // ignored by modes that store plain rows
  // Of the declared columns of each stored relation, for readers of HDF5 files; empty, or one list
  // for each.
  std::vector<ColumnLabels> labels;
};

// Collective. On as many ranks as wrote the generation, every rank writes what it wrote before, so
// that a restart on that number still needs no exchange. AlreadyExists while a job writes into the
// store; Corruption, naming file and offset, if the generation is damaged: then nothing is changed.
Result<SaveReport> compact_generation(Comm& comm, Store& store, const CompactRequest& request,
                                      const WriterOptions& options);

}  // namespace stratalog
