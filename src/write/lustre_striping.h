// SPDX-License-Identifier: Apache-2.0
// How new files of a folder are spread over the servers of Lustre. MPI-IO sets that for files that
// it creates; those that a Store creates have what their folder says, which Lustre's own program
// `lfs` changes: started with an argument list, never through a shell. Local.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "policy/layout_plan.h"

namespace stratalog {

// The command that gives new files in `folder` this striping; without stripes, none of its own any
// more. Pure.
std::vector<std::string> setstripe_arguments(const std::string& folder,
                                             const StripingPlan& striping);

// Carries it out and waits. NotSupported where there is no `lfs` on the PATH; IoError with its
// words where it fails.
Status set_new_file_striping(const std::string& folder, const StripingPlan& striping);

}  // namespace stratalog
