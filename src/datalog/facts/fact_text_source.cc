// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_text_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "datalog/facts/gzip_members.h"
#include "datalog/facts/gzip_window.h"

namespace stratalog::datalog {
namespace {

constexpr std::size_t kScanBytes = std::size_t{1} << 12;
constexpr std::size_t kCountBytes = std::size_t{1} << 20;
constexpr std::size_t kCompressedBytes = std::size_t{1} << 17;

// Where the first line at or after `at` begins; size_bytes if there is none.
Result<std::uint64_t> line_start_from(File& file, std::uint64_t size_bytes, std::uint64_t at) {
  if (at == 0 || at >= size_bytes) return std::min(at, size_bytes);
  std::vector<char> piece(kScanBytes);
  for (std::uint64_t from = at - 1; from < size_bytes;) {
    const std::size_t bytes = std::min<std::uint64_t>(piece.size(), size_bytes - from);
    const std::span<char> read(piece.data(), bytes);
    STRATALOG_RETURN_IF_ERROR(file.read_at(from, std::as_writable_bytes(read)));
    const auto newline = std::find(read.begin(), read.end(), '\n');
    if (newline != read.end()) return from + static_cast<std::uint64_t>(newline - read.begin()) + 1;
    from += bytes;
  }
  return size_bytes;
}

std::uint64_t share_start(std::uint64_t size_bytes, int rank, int ranks) {
  const auto r = static_cast<std::uint64_t>(rank);
  const auto p = static_cast<std::uint64_t>(ranks);
  return (size_bytes / p * r) + (size_bytes % p * r / p);  // size * r / p without overflow
}

// From piece to piece, from `at` on, where a member begins.
class GzipReader {
 public:
  GzipReader(File& file, std::uint64_t at, std::uint64_t size_bytes, std::string name)
      : file_(file),
        at_(at),
        end_(size_bytes),
        name_(std::move(name)),
        compressed_(kCompressedBytes) {}
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() { inflateEnd(&stream_); }

  Status start() {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK)
      return Status::internal("zlib does not start; is memory short?");
    return Status::ok();
  }

  Result<std::size_t> read(std::span<char> buffer) {
    const std::size_t room = std::min<std::size_t>(buffer.size(), std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) STRATALOG_RETURN_IF_ERROR(refill());
      if (stream_.avail_in == 0) {
        if (is_between_members_) return std::size_t{0};
        return damaged("it ends in the middle; is it cut off?");
      }
      if (is_between_members_) {
        if (inflateReset(&stream_) != Z_OK) return damaged("zlib cannot go on");
        is_between_members_ = false;
      }
      const int outcome = inflate(&stream_, Z_NO_FLUSH);
      if (outcome == Z_STREAM_END)
        is_between_members_ = true;
      else if (outcome != Z_OK)
        return damaged(stream_.msg != nullptr ? stream_.msg : "zlib cannot read it");
    }
    return room - stream_.avail_out;
  }

 private:
  Status refill() {
    const std::size_t bytes = std::min<std::uint64_t>(compressed_.size(), end_ - at_);
    if (bytes == 0) return Status::ok();
    STRATALOG_RETURN_IF_ERROR(file_.read_at(at_, std::span(compressed_).first(bytes)));
    at_ += bytes;
    stream_.next_in = reinterpret_cast<Bytef*>(compressed_.data());
    stream_.avail_in = static_cast<uInt>(bytes);
    return Status::ok();
  }

  Status damaged(std::string_view why) const {
    return Status::corruption(
        fmt::format("{}, offset {}: expected gzip data: {}", name_, at_ - stream_.avail_in, why));
  }

  File& file_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::string name_;
  std::vector<std::byte> compressed_;
  z_stream stream_ = {};
  bool is_between_members_ = false;
};

// Member by member as long as these can be taken whole.
class GzipText {
 public:
  GzipText(File& file, std::uint64_t size_bytes, std::string name)
      : file_(file), size_bytes_(size_bytes), name_(std::move(name)) {}

  Status start() {
    STRATALOG_ASSIGN_OR_RETURN(members_, GzipMembers::open(file_, size_bytes_));
    return members_ ? Status::ok() : read_on_from(0);
  }

  Result<std::size_t> read(std::span<char> buffer) {
    while (text_.empty()) {
      if (!members_) return pieces_->read(buffer);
      if (members_->offset() == size_bytes_) return std::size_t{0};
      if (!members_->next(text_)) STRATALOG_RETURN_IF_ERROR(read_on_from(members_->offset()));
    }
    const std::size_t bytes = std::min(buffer.size(), text_.size());
    std::copy_n(text_.begin(), bytes, buffer.begin());
    text_ = text_.subspan(bytes);
    return bytes;
  }

 private:
  Status read_on_from(std::uint64_t at) {
    members_.reset();
    pieces_ = std::make_unique<GzipReader>(file_, at, size_bytes_, name_);
    return pieces_->start();
  }

  File& file_;
  std::uint64_t size_bytes_;
  std::string name_;
  std::unique_ptr<GzipMembers> members_;
  std::span<const char> text_;  // of a member, what is left
  std::unique_ptr<GzipReader> pieces_;
};

}  // namespace

Result<FileRange> lines_of_rank(File& file, std::uint64_t size_bytes, int rank, int ranks) {
  FileRange range;
  STRATALOG_ASSIGN_OR_RETURN(
      range.from, line_start_from(file, size_bytes, share_start(size_bytes, rank, ranks)));
  STRATALOG_ASSIGN_OR_RETURN(
      range.to, line_start_from(file, size_bytes, share_start(size_bytes, rank + 1, ranks)));
  return range;
}

Result<std::uint64_t> count_lines_before(File& file, std::uint64_t end) {
  std::vector<char> piece(std::min<std::uint64_t>(kCountBytes, end));
  std::uint64_t lines = 0;
  for (std::uint64_t at = 0; at < end; at += piece.size()) {
    if (end - at < piece.size()) piece.resize(end - at);
    STRATALOG_RETURN_IF_ERROR(file.read_at(at, std::as_writable_bytes(std::span(piece))));
    lines += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
  }
  return lines;
}

FactTextSource make_range_source(File& file, FileRange range) {
  return [&file, at = range.from,
          end = range.to](std::span<char> buffer) mutable -> Result<std::size_t> {
    const std::size_t bytes = std::min<std::uint64_t>(buffer.size(), end - at);
    if (bytes != 0)
      STRATALOG_RETURN_IF_ERROR(file.read_at(at, std::as_writable_bytes(buffer.first(bytes))));
    at += bytes;
    return bytes;
  };
}

Result<FactTextSource> make_gzip_source(File& file, std::uint64_t size_bytes, std::string name) {
  auto text = std::make_shared<GzipText>(file, size_bytes, std::move(name));
  STRATALOG_RETURN_IF_ERROR(text->start());
  return FactTextSource([text](std::span<char> buffer) { return text->read(buffer); });
}

}  // namespace stratalog::datalog
