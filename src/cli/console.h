// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command. Results that cannot be written (a full disk, a
// closed pipe) are an error of the run, so standard output reports them.
#pragma once

#include <string_view>

#include "base/status.h"

namespace stratalog::cli {

// IoError or NoSpace if not all of it could be written.
Status print_result(std::string_view text);

// "stratalog: MESSAGE" on standard error.
void complain(std::string_view message);
void complain(const Status& status);
// As it stands, on standard error.
void tell(std::string_view text);

}  // namespace stratalog::cli
