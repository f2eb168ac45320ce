// SPDX-License-Identifier: Apache-2.0
// QueuedFile: a file whose bytes go through the queue of the save, so that they may be written
// while the caller does something else. It is opened when its first bytes are due: however many
// files wait, one is open. What the queue carries out shares the file with its owner, and may
// outlive it. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "checkpoint/save_plan.h"

namespace stratalog {

class QueuedFile {
 public:
  // `mode`: how it is opened. `sync`: whether what is written will be fsynced.
  QueuedFile(const SaveContext& context, const std::string& name, OpenMode mode, SyncFiles sync);

  // The error of this write or of an earlier one of the queue, once it is known.
  Status write(std::uint64_t at, std::span<const std::byte> bytes);
  // Nothing more comes for a while: what was written may go to the disk (WriteBehind).
  Status pause();
  // Also opens a file to which nothing was written.
  Status open();
  // Sync if asked, then close; nothing for a file that was never opened.
  Status finish(SyncFiles sync);

 private:
  struct Opened;
  WriteQueue* queue_;
  std::shared_ptr<Opened> opened_;
};

}  // namespace stratalog
