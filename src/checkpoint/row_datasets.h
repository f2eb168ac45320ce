// SPDX-License-Identifier: Apache-2.0
// What the ways of writing row files share: the datasets of one file, the settings that the plan
// gives it, and the manifest's lines about it. Local unless marked; for checkpoint/row_file.cc and
// direct_rows.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/row_units.h"
#include "checkpoint/save_plan.h"

namespace stratalog {

// One HDF5 file: some datasets of one group of ranks.
struct RowFilePart {
  std::string name;
  FileLabels labels;
  SaveLayout::Batch batch;
  FileGroup group;
  int leader = 0;  // the group's lowest rank
  std::vector<std::size_t> indices;  // of the datasets in the layout; those that are empty in this
                                     // group are left out
  std::vector<RowDataset> datasets;
  std::vector<DatasetPlan> plans;
  std::vector<std::vector<std::uint64_t>> first_rows;  // per dataset: SaveLayout::first_rows

  RowFileSettings settings(const LayoutPlan& plan) const;
};

// Dataset `dataset` of the layout, of so many rows.
RowDataset row_dataset(const SaveContext& context, std::size_t dataset, std::uint64_t rows);

// The parts that this rank's group writes, one for each batch of datasets; a part without datasets
// is not written, but all groups have the same number of parts.
std::vector<RowFilePart> row_file_parts(const SaveContext& context);

// One rank's rows of one dataset, written; where is known once the file is closed.
struct WrittenShard {
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  RowUnitShape shape;
  std::vector<std::uint64_t> checksums;
  std::vector<Cell> zones;
};

// Adds the line about a finished file, whose tuples lie in `data`; what is around them is read back
// for its hash, where writing goes on beside the caller when all have written. For the leader.
Status describe_file(const SaveContext& context, const std::string& file, std::vector<Extent> data,
                     LocalOutput& out);

// Adds the shard lines of this rank, and the leader's line about the file, which it reads back for
// the frame around the rows.
Status describe_row_file(const SaveContext& context, const RowFilePart& part,
                         const std::vector<WrittenShard>& shards,
                         const std::vector<RowPlacement>& placements, LocalOutput& out);

// For sinks that read what they were given after they have returned.
struct SinkReads {
  std::uint32_t buffers = 1;  // rows stay until the sink has been called so often less one
  // Returns when nothing is read any more; then the buffers go. Empty: nothing is read later.
  std::function<Status()> finish = {};
};

// Packs this rank's rows of a dataset into `sink`.
Status pack_rows(const SaveContext& context, std::size_t image, const RowUnitShape& shape,
                 RowUnits::Sink sink, WrittenShard& shard, LocalOutput& out,
                 const SinkReads& reads = {});

}  // namespace stratalog
