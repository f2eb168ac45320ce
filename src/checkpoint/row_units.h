// SPDX-License-Identifier: Apache-2.0
// RowUnits: one rank's groups of one dataset turned into rows of uint64, in units that are hashed
// while they are in cache: the pieces of the manifest. Every few units the rows go to a sink. What
// the sink does with them (collective write, raw write, gather) is not its business. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "checkpoint/phase_times.h"
#include "encode/checksum.h"
#include "model/tuple_group.h"
#include "model/zone_builder.h"

namespace stratalog {

struct RowUnitShape {
  std::uint64_t unit_rows = 0;
  // Rows of the first unit; the others have unit_rows, the last one what is left.
  std::uint64_t first_unit_rows = 0;
  std::uint64_t units_per_stage = 1;

  // Of a shard of `rows` rows.
  std::uint64_t units(std::uint64_t rows) const;
  std::uint64_t stages(std::uint64_t rows) const;
};

// Units of about 1 MiB, a stage of at least one unit and about `stage_bytes`. `chunk_rows` != 0:
// the units are the parts of the dataset's chunks that fall into a shard that begins at
// `first_row`.
RowUnitShape plan_row_units(std::uint32_t columns, std::uint64_t stage_bytes,
                            std::uint64_t chunk_rows, std::uint64_t first_row);

class RowUnits {
 public:
  // Receives consecutive rows of the shard: those from row `first` on. They stay where they are
  // until the sink has been called `buffers` - 1 times more.
  using Sink = std::function<Status(std::uint64_t first, std::span<const std::uint64_t> rows)>;

  RowUnits(const RelationImage& image, const RowUnitShape& shape, const Nonce& nonce,
           std::uint64_t file_id, Sink sink, std::uint32_t buffers = 1);

  // Walks the whole image and hands its rows out. Hashing counts as encoding; time that the sink
  // adds to times.write_ns and route_ns is not counted as packing. Internal if the image does not
  // hold the rows that it announced.
  Status run(PhaseTimes& times);

  std::uint64_t groups() const { return groups_; }
  std::uint64_t staging_bytes() const { return stages_.size() * stages_.front().size() * 8; }
  std::vector<std::uint64_t> take_checksums() { return std::move(checksums_); }
  // Of units, as blocks have them.
  std::vector<Cell> take_zones() { return zones_.take(); }

 private:
  Status add(const TupleGroup& group);
  void put(std::span<const Cell> prefix, const SetView& set);
  Status add_split(std::span<const Cell> prefix, const SetView& set);
  Status end_unit();
  Status flush();
  std::vector<std::uint64_t>& stage() { return stages_[filling_]; }

  const RelationImage& image_;
  RowUnitShape shape_;
  Nonce nonce_;
  std::uint64_t file_id_;
  Sink sink_;
  std::vector<std::vector<std::uint64_t>> stages_;
  std::size_t filling_ = 0;
  std::vector<std::uint64_t> checksums_;
  ZoneBuilder zones_;
  std::uint64_t unit_begin_ = 0;  // in the stage
  std::uint64_t staged_ = 0;  // rows in the stage
  std::uint64_t unit_end_ = 0;  // in the stage
  std::uint64_t handed_out_ = 0;
  std::uint64_t walked_ = 0;
  std::uint64_t groups_ = 0;
  PhaseTimes* times_ = nullptr;  // while run() runs
};

}  // namespace stratalog
