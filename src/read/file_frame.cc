// SPDX-License-Identifier: Apache-2.0
#include "read/file_frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace stratalog {
namespace {

constexpr std::uint64_t kBufferBytes = std::uint64_t{1} << 20;

}  // namespace

Result<Hash128> hash_frame(Store& store, const std::string& path, std::vector<Extent> data) {
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, store.open(path, OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t size, file->size_bytes());
  std::sort(data.begin(), data.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  data.erase(std::unique(data.begin(), data.end()), data.end());  // chunks that neighbours share
  data.push_back({.offset = size, .bytes = 0});
  StreamHash128 frame;
  std::vector<std::byte> buffer;
  std::uint64_t at = 0;
  for (const Extent& extent : data) {
    if (extent.offset < at || extent.offset > size)
      return Status::corruption(
          fmt::format("{}: rows at offset {} overlap or lie outside", path, extent.offset));
    while (at < extent.offset) {
      buffer.resize(std::min(kBufferBytes, extent.offset - at));
      STRATALOG_RETURN_IF_ERROR(file->read_at(at, buffer));
      frame.add(buffer);
      at += buffer.size();
    }
    at = extent.offset + extent.bytes;
  }
  return frame.digest();
}

Status check_row_file_frames(Store& store, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) {
    if (file.frame == Hash128{}) continue;
    std::vector<Extent> data = file.others;
    for (const ManifestShard& shard : manifest.shards)
      if (shard.link == file.link && shard.file == file.name)
        data.insert(data.end(), shard.extents.begin(), shard.extents.end());
    const std::string path = manifest.path(file.link, file.name);
    STRATALOG_ASSIGN_OR_RETURN(const Hash128 found, hash_frame(store, path, data));
    if (!(found == file.frame))
      return Status::corruption(fmt::format("{}: hash {} expected for all but its rows, {} found",
                                            path, to_hex(file.frame), to_hex(found)));
  }
  return Status::ok();
}

}  // namespace stratalog
