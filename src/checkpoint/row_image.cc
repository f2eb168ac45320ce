// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/row_image.h"

#include <cstring>

#include "write/patient_open.h"

namespace stratalog {

Result<RowImageFile> RowImageFile::create(const SaveContext& context, const RowFilePart& part) {
  RowImageFile made(context.sync_files());
  STRATALOG_ASSIGN_OR_RETURN(made.image_, context.options.backends.rows.lay_out(
                                              part.datasets, part.settings(context.layout.plan)));
  STRATALOG_ASSIGN_OR_RETURN(made.file_, open_patiently(context.store, context.path(part.name),
                                                        OpenMode::kCreateExclusive));
  for (const RowFileImage::Piece& piece : made.image_.pieces)
    STRATALOG_RETURN_IF_ERROR(made.file_->write_at(piece.offset, piece.bytes));
  return made;
}

Status RowImageFile::extend() {
  const std::uint64_t end =
      image_.pieces.empty() ? 0 : image_.pieces.back().offset + image_.pieces.back().bytes.size();
  if (end >= image_.file_bytes) return Status::ok();
  const std::byte zero{0};
  return file_->write_at(image_.file_bytes - 1, std::span(&zero, 1));
}

Status RowImageFile::write(std::size_t dataset, std::uint64_t offset,
                           std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status::ok();
  const std::uint64_t at = image_.placements[dataset].file_offset + offset;
  STRATALOG_RETURN_IF_ERROR(file_->write_at(at, bytes));
  behind_.wrote(*file_, at, bytes.size());
  return Status::ok();
}

Status RowImageFile::finish(SyncFiles sync) { return close_file(*file_, sync); }

Result<std::vector<RowPlacement>> share_placements(const SaveContext& context,
                                                   const RowFilePart& part,
                                                   const std::vector<RowPlacement>& mine) {
  std::vector<std::uint64_t> offsets;
  if (context.comm.rank() == part.leader)
    for (const RowPlacement& placement : mine) offsets.push_back(placement.file_offset);
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             context.comm.allgather(std::as_bytes(std::span(offsets))));
  const std::span<const std::byte> bytes = all.from(part.leader);
  if (bytes.size() != part.datasets.size() * 8) return Status::internal("placements of odd length");
  std::vector<RowPlacement> placements(part.datasets.size());
  for (std::size_t i = 0; i < placements.size(); ++i) {
    std::memcpy(&placements[i].file_offset, bytes.data() + (i * 8), 8);
    placements[i].bytes = part.datasets[i].rows * part.datasets[i].columns * 8;
  }
  return placements;
}

}  // namespace stratalog
