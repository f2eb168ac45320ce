// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command, and how a command ends that has nothing more
// to say. Results that cannot be written (a full disk, a closed pipe) are an error of the run, so
// standard output reports them.
#pragma once

#include <string_view>

#include "base/status.h"
#include "cli/exit_code.h"

namespace stratalog::cli {

// IoError or NoSpace if not all of it could be written.
Status print_result(std::string_view text);

// "stratalog: MESSAGE" on standard error.
void complain(std::string_view message);
void complain(const Status& status);
// As it stands, on standard error.
void tell(std::string_view text);

// Prints the result with which a command ends: `code`, unless it cannot be written.
ExitCode end_with_result(std::string_view text, ExitCode code = ExitCode::kDone);
// Complains of an error in that part of the work.
ExitCode end_with_error(const Status& status, Part part);

}  // namespace stratalog::cli
