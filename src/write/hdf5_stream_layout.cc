// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_stream_layout.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "write/hdf5_objects.h"
#include "write/hdf5_page_driver.h"
#include "write/hdf5_stream_filters.h"

namespace stratalog {
namespace {

constexpr const char* kPath = "the layout in memory";

class StreamLayout {
 public:
  StreamLayout(PageFile& content, std::uint32_t deflate_level)
      : content_(content), deflate_level_(deflate_level) {}

  Status add(hid_t file, const StreamRelation& about) {
    const Hdf5Handle group(
        H5Gcreate2(file, about.name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    if (!group.is_open()) return hdf5_error("H5Gcreate", kPath);
    STRATALOG_RETURN_IF_ERROR(describe_relation(group.id(), about, kPath));
    STRATALOG_RETURN_IF_ERROR(put_number(group.id(), "rows", about.rows, kPath));
    const std::vector<std::uint64_t> order(about.column_order.begin(), about.column_order.end());
    STRATALOG_RETURN_IF_ERROR(put_numbers(group.id(), "column_order", order, kPath));
    for (const StreamDataset& stream : about.streams)
      STRATALOG_RETURN_IF_ERROR(add_stream(group.id(), stream));
    return add_blocks(group.id(), about);
  }

 private:
  Hdf5Handle stream_properties(const StreamDataset& about) const {
    Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t chunk = about.chunk;
    H5Pset_chunk(properties.id(), 1, &chunk);
    H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(properties.id(), false);
    set_shuffle_and_deflate(properties.id(), deflate_level_);
    return properties;
  }

  Status add_stream(hid_t group, const StreamDataset& about) {
    const hsize_t numbers = about.numbers;
    const Hdf5Handle space(H5Screate_simple(1, &numbers, nullptr), H5Sclose);
    const Hdf5Handle properties = stream_properties(about);
    const Hdf5Handle dataset(H5Dcreate2(group, about.name.c_str(), H5T_STD_U32LE, space.id(),
                                        H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                             H5Dclose);
    if (!dataset.is_open()) return hdf5_error("H5Dcreate", kPath);
    const std::uint64_t raw = about.chunk * 4;
    // The driver does not look at what it is told to write to a given place.
    nothing_.resize(std::max<std::size_t>(nothing_.size(), raw));
    for (std::size_t c = 0; c < about.chunks.size(); ++c) {
      const StoredChunk& chunk = about.chunks[c];
      const hsize_t first = c * about.chunk;
      content_.place = chunk.file_offset;
      const herr_t written =
          H5Dwrite_chunk(dataset.id(), H5P_DEFAULT, filters_skipped(chunk.bytes, raw), &first,
                         chunk.bytes, nothing_.data());
      content_.place.reset();
      STRATALOG_RETURN_IF_ERROR(hdf5_check(written, "H5Dwrite_chunk", kPath));
    }
    return Status::ok();
  }

  static Status add_blocks(hid_t group, const StreamRelation& about) {
    const std::size_t each = about.streams.size() + 1;
    const std::array<hsize_t, 2> shape = {about.blocks.size() / each, each};
    const Hdf5Handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
    const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(properties.id(), false);
    const Hdf5Handle dataset(H5Dcreate2(group, "blocks", H5T_STD_U64LE, space.id(), H5P_DEFAULT,
                                        properties.id(), H5P_DEFAULT),
                             H5Dclose);
    if (!dataset.is_open()) return hdf5_error("H5Dcreate", kPath);
    return hdf5_check(H5Dwrite(dataset.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                               about.blocks.data()),
                      "H5Dwrite", kPath);
  }

  PageFile& content_;
  std::uint32_t deflate_level_;
  std::vector<std::byte> nothing_;
};

}  // namespace

Result<RowFileImage> lay_out_streams(const std::vector<StreamRelation>& relations,
                                     const FileLabels& labels, std::uint32_t deflate_level,
                                     std::uint64_t data_end) {
  const std::lock_guard guard(laying_out_files());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report errors ourselves
  PageFile content;
  content.has_given_places = true;
  // Whole pages are written.
  content.own_end = (std::max(data_end, kStreamsBegin) + kPageBytes - 1) / kPageBytes * kPageBytes;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  STRATALOG_RETURN_IF_ERROR(use_page_driver(access.id(), content));
  // Compact headers, and one word for a data set of one chunk. Read by all versions since 2016.
  STRATALOG_RETURN_IF_ERROR(
      hdf5_check(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110),
                 "H5Pset_libver_bounds", kPath));
  Hdf5Handle file(H5Fcreate("layout", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
  if (!file.is_open()) return hdf5_error("H5Fcreate", kPath);
  StreamLayout layout(content, deflate_level);
  Status status = put_text(file.id(), "format", "stratalog checkpoint streams", kPath);
  if (status.is_ok()) status = put_number(file.id(), "format_version", 1, kPath);
  if (status.is_ok()) status = label_file(file.id(), labels, kPath);
  for (std::size_t i = 0; i < relations.size() && status.is_ok(); ++i)
    status = layout.add(file.id(), relations[i]);
  const Status closed = hdf5_check(file.close(), "H5Fclose", kPath);
  STRATALOG_RETURN_IF_ERROR(status);
  STRATALOG_RETURN_IF_ERROR(closed);
  RowFileImage image;
  image.file_bytes = content.allocated_end;
  image.pieces = content.take_pieces(image.file_bytes);
  return image;
}

}  // namespace stratalog
