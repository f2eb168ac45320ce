// SPDX-License-Identifier: Apache-2.0
#include "write/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "write/errno_status.h"
#include "write/file_descriptor.h"

namespace stratalog {

Status make_private(const std::string& path) {
  constexpr mode_t kPermissionBits = 0777;
  constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return errno_status(errno, "open", path);
  struct stat about = {};
  if (::fstat(fd.get(), &about) != 0) return errno_status(errno, "examine", path);
  // Some file systems have one mode for all, and refuse others.
  if ((about.st_mode & kPermissionBits) == kPrivate || ::fchmod(fd.get(), kPrivate) == 0)
    return Status::ok();
  return errno_status(errno, "give mode 0600 to", path);
}

}  // namespace stratalog
