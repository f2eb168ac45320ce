// SPDX-License-Identifier: Apache-2.0
// RowViewFile: where the rows of a save lie in several HDF5 files, rank 0 adds one that shows them
// as if they were in one, under the name that this one would have (kRowFileName). It is written
// before the rows and synced after them: what the disk has to do for it is done by then. Local.
#pragma once

#include <optional>

#include "checkpoint/queued_file.h"
#include "checkpoint/save_plan.h"

namespace stratalog {

class RowViewFile {
 public:
  // Whether there are several files. The same on all ranks.
  static bool is_due(const SaveContext& context);
  // On other ranks, and where none is due, nothing.
  Status begin(const SaveContext& context, LocalOutput& out);
  // After begin(), once the rows are written; adds the manifest's line.
  Status finish(const SaveContext& context, LocalOutput& out);

 private:
  std::optional<QueuedFile> file_;
};

}  // namespace stratalog
