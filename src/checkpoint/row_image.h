// SPDX-License-Identifier: Apache-2.0
// RowImageFile: an HDF5 file that one rank creates from a layout made in memory, written through
// the Store, so that it can be crashed and failed like every other file; and how its placements
// reach the ranks that write rows into it. Local; share_placements is collective.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/row_datasets.h"
#include "write/write_behind.h"

namespace stratalog {

class RowImageFile {
 public:
  // Lays out `part`, creates its file and writes everything but the rows.
  static Result<RowImageFile> create(const SaveContext& context, const RowFilePart& part);

  // Makes the file as long as it will be.
  Status extend();
  // Rows of a contiguous dataset, from byte `offset` of its rows on.
  Status write(std::size_t dataset, std::uint64_t offset, std::span<const std::byte> bytes);
  Status finish(SyncFiles sync);
  const std::vector<RowPlacement>& placements() const { return image_.placements; }

 private:
  explicit RowImageFile(SyncFiles sync) : behind_(sync) {}

  RowFileImage image_;
  std::unique_ptr<File> file_;
  WriteBehind behind_;
};

// Every rank learns the placements of its own group's part; leaders bring them. Contiguous datasets
// only. Collective.
Result<std::vector<RowPlacement>> share_placements(const SaveContext& context,
                                                   const RowFilePart& part,
                                                   const std::vector<RowPlacement>& mine);

}  // namespace stratalog
