// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stratalog::cli {

Status print_result(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return Status::ok();
  const std::string message =
      fmt::format("cannot write to standard output: {}", std::strerror(errno));
  return errno == ENOSPC ? Status::no_space(message) : Status::io_error(message);
}

void complain(std::string_view message) { tell(fmt::format("stratalog: {}\n", message)); }

void complain(const Status& status) { complain(status.message()); }

// Whether anybody reads it does not change what the command does: the log of a job may be full.
void tell(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

ExitCode end_with_result(std::string_view text, ExitCode code) {
  const Status printed = print_result(text);
  return printed.is_ok() ? code : end_with_error(printed, Part::kOutput);
}

ExitCode end_with_error(const Status& status, Part part) {
  complain(status);
  return exit_code_of(status, part);
}

}  // namespace stratalog::cli
