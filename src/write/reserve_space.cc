// SPDX-License-Identifier: Apache-2.0
#include "write/reserve_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

#include "write/errno_status.h"
#include "write/file_descriptor.h"

namespace stratalog {
namespace {

// Cutting a file to its own length gives back what is allocated behind it.
Status cut_to_length(const FileDescriptor& file, const std::string& path) {
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0 || ::ftruncate(file.get(), about.st_size) != 0)
    return errno_status(errno, "give back the reserved space of", path);
  return Status::ok();
}

}  // namespace

Status reserve_space(const std::string& path, std::uint64_t bytes) {
  if (bytes == 0) return Status::ok();
  const std::string action = fmt::format("reserve {} bytes for", bytes);
  // Space beyond the end does not count for this limit, writing there does.
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur)
    return errno_status(EFBIG, action, path);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno_status(errno, "open", path);
  int result = 0;
  do {
    result = ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return Status::ok();
  const Status failed = errno_status(errno, action, path);
  (void)cut_to_length(file, path);
  return failed;
}

Status release_reserved(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno_status(errno, "open", path);
  return cut_to_length(file, path);
}

}  // namespace stratalog
