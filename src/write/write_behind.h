// SPDX-License-Identifier: Apache-2.0
// WriteBehind: sends what was written to a file on its way to the disk while more is being made, in
// pieces of a few MiB, so that fsync finds little left to do. Hints only: nothing here makes
// anything durable. Local; one for each open file and writer.
#pragma once

#include <cstdint>

#include "write/parallel_files.h"
#include "write/store.h"

namespace stratalog {

class WriteBehind {
 public:
  // SyncFiles::kNo: the file will not be fsynced, and nothing is sent.
  explicit WriteBehind(SyncFiles sync) : sync_(sync) {}

  // `bytes` bytes at `offset` of `file` have been written and will not change.
  void wrote(File& file, std::uint64_t offset, std::uint64_t bytes) {
    if (sync_ == SyncFiles::kNo || bytes == 0) return;
    if (offset != end_) {
      send(file, end_);
      begin_ = offset;
    }
    end_ = offset + bytes;
    // The last page may be written again by what follows.
    if (end_ - begin_ >= kPiece) send(file, end_ / kPage * kPage);
  }

  // Nothing more will be written for a while: a small file need not wait for fsync.
  void pause(File& file) { send(file, end_); }

 private:
  static constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kPage = 4096;

  void send(File& file, std::uint64_t end) {
    if (end <= begin_) return;
    file.begin_writeback(begin_, end - begin_);
    begin_ = end;
  }

  SyncFiles sync_;
  std::uint64_t begin_ = 0;  // of what was written and not yet sent
  std::uint64_t end_ = 0;
};

}  // namespace stratalog
