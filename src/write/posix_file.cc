// SPDX-License-Identifier: Apache-2.0
#include "write/posix_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "write/errno_status.h"

namespace stratalog {
namespace {

// Linux writes at most 0x7ffff000 bytes at once; stay well below.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

bool fits_in_file(std::uint64_t offset, std::size_t bytes) {
  constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  return offset <= kLimit && bytes <= kLimit - offset;
}

}  // namespace

Status PosixFile::check_usable() const {
  if (!dead_.is_ok()) return dead_;
  if (!fd_.is_open()) return Status::internal(path_ + " is used after close");
  return Status::ok();
}

Status PosixFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  STRATALOG_RETURN_IF_ERROR(check_usable());
  if (!fits_in_file(offset, bytes.size()))
    return Status::invalid_argument(
        fmt::format("{}: offset {} + {} bytes is beyond any file", path_, offset, bytes.size()));
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kPieceBytes);
    const ssize_t done = calls_.pwrite(fd_.get(), bytes.data(), piece, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      return errno_status(errno, fmt::format("write {} bytes at offset {} to", piece, offset),
                          path_);
    if (done == 0)
      return Status::io_error(
          fmt::format("cannot write {} bytes at offset {} to {}: the system wrote none and gave "
                      "no reason",
                      piece, offset, path_));
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return Status::ok();
}

Status PosixFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) {
  STRATALOG_RETURN_IF_ERROR(check_usable());
  if (!fits_in_file(offset, bytes.size()))
    return Status::corruption(
        fmt::format("{}: offset {} + {} bytes is beyond any file", path_, offset, bytes.size()));
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kPieceBytes);
    const ssize_t done = calls_.pread(fd_.get(), bytes.data(), piece, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      return errno_status(errno, fmt::format("read {} bytes at offset {} from", piece, offset),
                          path_);
    if (done == 0)
      return Status::corruption(fmt::format("{}: ends at offset {}, {} more bytes expected", path_,
                                            offset, bytes.size()));
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return Status::ok();
}

Result<std::uint64_t> PosixFile::size_bytes() {
  STRATALOG_RETURN_IF_ERROR(check_usable());
  struct stat about = {};
  if (::fstat(fd_.get(), &about) != 0) return errno_status(errno, "examine", path_);
  return static_cast<std::uint64_t>(about.st_size);
}

void PosixFile::will_read(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0 || !check_usable().is_ok() || !fits_in_file(offset, bytes)) return;
  // Doubles the kernel's window. POSIX_FADV_WILLNEED took twice as long: it fills single pages.
  (void)::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                        POSIX_FADV_SEQUENTIAL);
}

void PosixFile::begin_reading(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0 || !check_usable().is_ok() || !fits_in_file(offset, bytes)) return;
  (void)::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                        POSIX_FADV_WILLNEED);
}

void PosixFile::begin_writeback(std::uint64_t offset, std::uint64_t bytes) {
  // Waits for nothing and promises nothing: an error of the disk comes out of fsync all the same.
  if (bytes == 0 || !check_usable().is_ok() || !fits_in_file(offset, bytes)) return;
  (void)::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                          SYNC_FILE_RANGE_WRITE);
}

Status PosixFile::sync() {
  STRATALOG_RETURN_IF_ERROR(check_usable());
  if (calls_.fsync(fd_.get()) == 0) return Status::ok();
  dead_ = errno_status(errno, "make durable (fsync)", path_);
  return dead_;
}

Status PosixFile::close() {
  if (!fd_.is_open()) return Status::internal(path_ + " is closed twice");
  // On Linux the descriptor is gone even if close(2) reports EINTR or an error: never call it
  // again.
  const int fd = fd_.release();
  if (::close(fd) != 0 && errno != EINTR && dead_.is_ok())
    return errno_status(errno, "close", path_);
  return dead_;
}

}  // namespace stratalog
