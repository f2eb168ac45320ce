// SPDX-License-Identifier: Apache-2.0
// profile: turns the file that --profile wrote into a page with charts. Local.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/text_file.h"
#include "profile/profile_json.h"
#include "profile/profile_page.h"

namespace stratalog::cli {

namespace {

ExitCode fail(const Status& status, ExitCode code) {
  complain(status);
  return code;
}

Result<std::string> read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()) || file.bad())
    return Status::io_error(
        fmt::format("cannot read the profile {}; stratalog run --profile {} PROGRAM.dl writes one",
                    path, path));
  return text.str();
}

}  // namespace

ExitCode profile_command(const ProfileArguments& arguments) {
  const auto text = read_all(arguments.file);
  if (!text.is_ok()) return fail(text.status(), ExitCode::kInputOutput);
  const auto profile = profile_from_json(text.value());
  if (!profile.is_ok())
    return fail(profile.status().with_context(arguments.file), ExitCode::kInputOutput);
  const std::string page = profile_page(profile.value());
  const Status written = arguments.page == "-" ? print_result(page)
                                               : write_text_file("--output", arguments.page, page);
  return written.is_ok() ? ExitCode::kDone : fail(written, ExitCode::kInputOutput);
}

}  // namespace stratalog::cli
