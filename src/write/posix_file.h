// SPDX-License-Identifier: Apache-2.0
// PosixFile: one open regular file. Splits long transfers, goes on after EINTR and short transfers,
// and refuses all further use after a failed fsync, because the kernel may have dropped the pages
// and would report success next time. Local; thread-compatible.
#pragma once

#include <memory>
#include <string>

#include "write/file_descriptor.h"
#include "write/posix_calls.h"
#include "write/store.h"

namespace stratalog {

class PosixFile final : public File {
 public:
  PosixFile(FileDescriptor fd, std::string path, const PosixCalls& calls)
      : fd_(std::move(fd)), path_(std::move(path)), calls_(calls) {}

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override;
  Result<std::uint64_t> size_bytes() override;
  void will_read(std::uint64_t offset, std::uint64_t bytes) override;
  void begin_reading(std::uint64_t offset, std::uint64_t bytes) override;
  void begin_writeback(std::uint64_t offset, std::uint64_t bytes) override;
  Status sync() override;
  Status close() override;

 private:
  Status check_usable() const;

  FileDescriptor fd_;
  std::string path_;  // absolute, for messages
  PosixCalls calls_;
  Status dead_;  // why the file must not be used any more
};

}  // namespace stratalog
