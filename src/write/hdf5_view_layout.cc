// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_view_layout.h"

#include <array>
#include <mutex>

#include "write/hdf5_objects.h"
#include "write/hdf5_page_driver.h"

namespace stratalog {
namespace {

constexpr const char* kViewInMemory = "the view in memory";

// Rows [first, first + source.rows) of the view are all rows of the source.
Status map_source(const Hdf5Handle& properties, const RowView& view, const RowSource& source,
                  std::uint64_t first) {
  const std::array<hsize_t, 2> whole = {view.about.rows, view.about.columns};
  const std::array<hsize_t, 2> start = {first, 0};
  const std::array<hsize_t, 2> part = {source.rows, view.about.columns};
  const Hdf5Handle shown(H5Screate_simple(2, whole.data(), nullptr), H5Sclose);
  const Hdf5Handle there(H5Screate_simple(2, part.data(), nullptr), H5Sclose);
  if (!shown.is_open() || !there.is_open()) return hdf5_error("H5Screate_simple", kViewInMemory);
  STRATALOG_RETURN_IF_ERROR(hdf5_check(
      H5Sselect_hyperslab(shown.id(), H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr),
      "H5Sselect_hyperslab", kViewInMemory));
  return hdf5_check(H5Pset_virtual(properties.id(), shown.id(), source.file.c_str(),
                                   view.about.name.c_str(), there.id()),
                    "H5Pset_virtual", kViewInMemory);
}

Status add_view(hid_t file, const RowView& view) {
  const std::array<hsize_t, 2> shape = {view.about.rows, view.about.columns};
  const Hdf5Handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  std::uint64_t first = 0;
  for (const RowSource& source : view.sources) {
    STRATALOG_RETURN_IF_ERROR(map_source(properties, view, source, first));
    first += source.rows;
  }
  if (first != view.about.rows)
    return Status::invalid_argument("a view of other rows than its sources have");
  const Hdf5Handle dataset(H5Dcreate2(file, view.about.name.c_str(), H5T_STD_U64LE, space.id(),
                                      H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                           H5Dclose);
  if (!dataset.is_open()) return hdf5_error("H5Dcreate", kViewInMemory);
  return describe_relation(dataset.id(), view.about, kViewInMemory);
}

}  // namespace

Result<RowFileImage> lay_out_views(const std::vector<RowView>& views, const FileLabels& labels) {
  const std::lock_guard guard(laying_out_files());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report errors ourselves
  PageFile content;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  STRATALOG_RETURN_IF_ERROR(use_page_driver(access.id(), content));
  Hdf5Handle file(H5Fcreate("layout", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
  if (!file.is_open()) return hdf5_error("H5Fcreate", kViewInMemory);
  Status status = label_file(file.id(), labels, kViewInMemory);
  for (std::size_t i = 0; i < views.size() && status.is_ok(); ++i)
    status = add_view(file.id(), views[i]);
  const Status closed = hdf5_check(file.close(), "H5Fclose", kViewInMemory);
  STRATALOG_RETURN_IF_ERROR(status);
  STRATALOG_RETURN_IF_ERROR(closed);
  RowFileImage image;
  image.file_bytes = content.allocated_end;
  image.pieces = content.take_pieces(image.file_bytes);
  return image;
}

}  // namespace stratalog
