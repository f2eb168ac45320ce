// SPDX-License-Identifier: Apache-2.0
// Side files: what --report and --profile name, looked at before the run: a file that could not be
// written after it, or would overwrite the program or another result, is refused. Local, for rank
// 0.
#pragma once

#include "base/status.h"
#include "cli/job.h"

namespace stratalog::cli {

// IoError (the file cannot be written) or InvalidArgument (it is another one) names the option, the
// file and what is wrong with it. `job` has its folders.
Status check_side_files(const Job& job);

}  // namespace stratalog::cli
