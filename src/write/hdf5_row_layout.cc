// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_row_layout.h"

#include <bit>
#include <mutex>

#include "write/hdf5_objects.h"
#include "write/hdf5_page_driver.h"
#include "write/hdf5_stream_layout.h"
#include "write/hdf5_view_layout.h"

namespace stratalog {
namespace {

Status create_datasets(hid_t file, const std::vector<RowDataset>& datasets,
                       const RowFileSettings& settings, RowFileImage& image) {
  const std::string path = "the layout in memory";
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    STRATALOG_ASSIGN_OR_RETURN(const Hdf5Handle dataset,
                               add_row_dataset(file, datasets[i], settings.plans[i], path));
    RowPlacement placement;
    if (settings.plans[i].layout == DataLayout::kContiguous &&
        settings.plans[i].space == SpaceTime::kEarly) {
      STRATALOG_ASSIGN_OR_RETURN(placement,
                                 placement_of(dataset.id(), datasets[i], settings.plans[i], path));
    }
    image.placements.push_back(std::move(placement));
  }
  return Status::ok();
}

}  // namespace

Result<RowFileImage> lay_out_rows(const std::vector<RowDataset>& datasets,
                                  const RowFileSettings& settings) {
  const std::lock_guard guard(laying_out_files());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report errors ourselves
  PageFile content;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  STRATALOG_RETURN_IF_ERROR(use_page_driver(access.id(), content));
  tune_file_access(access.id(), settings.tuning);
  // All headers and attributes in front, the rows behind them.
  H5Pset_meta_block_size(access.id(), std::bit_ceil(4096 + (datasets.size() * 2048)));
  Hdf5Handle file(H5Fcreate("layout", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
  if (!file.is_open()) return hdf5_error("H5Fcreate", "the layout in memory");
  RowFileImage image;
  Status created = label_file(file.id(), settings.labels, "the layout in memory");
  if (created.is_ok()) created = create_datasets(file.id(), datasets, settings, image);
  const Status closed = hdf5_check(file.close(), "H5Fclose", "the layout in memory");
  STRATALOG_RETURN_IF_ERROR(created);
  STRATALOG_RETURN_IF_ERROR(closed);
  image.file_bytes = content.allocated_end;
  image.pieces = content.take_pieces(image.file_bytes);
  return image;
}

RowFiles hdf5_serial_files() {
  return {.create = {},
          .lay_out = lay_out_rows,
          .lay_out_streams = lay_out_streams,
          .lay_out_views = lay_out_views,
          .open = {}};
}

}  // namespace stratalog
