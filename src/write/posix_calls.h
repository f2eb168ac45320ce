// SPDX-License-Identifier: Apache-2.0
// PosixCalls: the system calls that move data, as a table, so that tests can make them short,
// interrupted or failing. open_posix_store uses the real ones. Local.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog {

struct PosixCalls {
  ssize_t (*pwrite)(int fd, const void* bytes, std::size_t count, off_t offset);
  ssize_t (*pread)(int fd, void* bytes, std::size_t count, off_t offset);
  int (*fsync)(int fd);
};

// The real calls.
PosixCalls posix_calls();

// As open_posix_store (write/store.h), with the calls replaced.
Result<std::unique_ptr<Store>> open_posix_store_with(const std::string& root, RootMode mode,
                                                     const PosixCalls& calls);

}  // namespace stratalog
