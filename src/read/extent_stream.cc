// SPDX-License-Identifier: Apache-2.0
#include "read/extent_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stratalog {

Result<ExtentStream> ExtentStream::open(Store& store, std::string path,
                                        std::vector<Extent> extents) {
  STRATALOG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, store.open(path, OpenMode::kRead));
  return ExtentStream(std::move(file), std::move(path), std::move(extents));
}

ExtentStream::ExtentStream(std::shared_ptr<File> file, std::string path,
                           std::vector<Extent> extents)
    : file_(std::move(file)), path_(std::move(path)), extents_(std::move(extents)) {
  begins_.reserve(extents_.size() + 1);
  std::uint64_t at = 0;
  for (const Extent& extent : extents_) {
    begins_.push_back(at);
    at += extent.bytes;
  }
  begins_.push_back(at);
}

std::size_t ExtentStream::extent_at(std::uint64_t offset) const {
  if (offset >= begins_.back()) return extents_.size();
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  return static_cast<std::size_t>(after - begins_.begin()) - 1;
}

std::vector<ShardPlace::Piece> ExtentStream::pieces(std::uint64_t offset,
                                                    std::uint64_t bytes) const {
  std::vector<ShardPlace::Piece> found;
  for (std::size_t e = extent_at(offset); e < extents_.size() && bytes > 0; ++e) {
    const std::uint64_t within = offset - begins_[e];
    const std::uint64_t piece = std::min(bytes, extents_[e].bytes - within);
    found.push_back({.offset = extents_[e].offset + within, .bytes = piece});
    bytes -= piece;
    offset += piece;
  }
  return found;
}

Status ExtentStream::read(std::uint64_t offset, std::span<std::byte> bytes) {
  for (const ShardPlace::Piece& piece : pieces(offset, bytes.size())) {
    STRATALOG_RETURN_IF_ERROR(file_->read_at(piece.offset, bytes.first(piece.bytes)));
    bytes = bytes.subspan(piece.bytes);
  }
  if (bytes.empty()) return Status::ok();
  return Status::corruption(
      fmt::format("{}: the shard ends, {} more bytes expected", path_, bytes.size()));
}

void ExtentStream::will_read() {
  if (!extents_.empty()) file_->will_read(extents_.front().offset, begins_.back());
}

void ExtentStream::begin_reading(std::uint64_t offset, std::uint64_t bytes) {
  for (const ShardPlace::Piece& piece : pieces(offset, bytes))
    file_->begin_reading(piece.offset, piece.bytes);
}

std::string ExtentStream::place(std::uint64_t offset) const {
  const std::size_t e = extent_at(offset);
  if (e == extents_.size()) return fmt::format("{}, its end", path_);
  return fmt::format("{}, offset {}", path_, extents_[e].offset + (offset - begins_[e]));
}

}  // namespace stratalog
