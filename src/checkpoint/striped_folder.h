// SPDX-License-Identifier: Apache-2.0
// The striping of a plan for files that are created through the Store: the folder of the generation
// has it while they are created, and not any more when sections and manifest, which are small, are
// written. A folder is set rather than each file, so that files are created as ever: exclusively,
// with their mode. What a crash leaves is an attribute of a folder that the next job removes.
// Collective.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/save_plan.h"

namespace stratalog {

struct StripedFolder {
  std::string name;
  StripingPlan striping;
  bool is_mine = false;  // this rank sets it
};

// This save's; where stages lie on several nodes, each has a folder to set.
StripedFolder striped_folder(const SaveContext& context);

// Calls `write`, which all ranks leave together, and returns its Status. Where stripes cannot be
// set, files have what the file system gives them, and rank 0 a note.
Status write_striped(Comm& comm, Store& store, const StripedFolder& folder,
                     std::vector<std::string>& notes, const std::function<Status()>& write);

}  // namespace stratalog
