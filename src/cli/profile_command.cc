// SPDX-License-Identifier: Apache-2.0
// profile: turns the file that --profile wrote into a page with charts. Local.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/text_file.h"
#include "profile/profile_json.h"
#include "profile/profile_page.h"

namespace stratalog::cli {

namespace {

Result<std::string> read_profile(const std::string& path) {
  auto text = read_text_file(path);
  if (!text)
    return Status::io_error(
        fmt::format("cannot read the profile {}; stratalog run --profile {} PROGRAM.dl writes one",
                    path, path));
  return *std::move(text);
}

// Whatever is wrong with it, it is wrong with a file.
ExitCode end_with_file_error(const Status& status) {
  complain(status);
  return ExitCode::kInputOutput;
}

}  // namespace

ExitCode profile_command(const ProfileArguments& arguments) {
  const auto text = read_profile(arguments.file);
  if (!text.is_ok()) return end_with_file_error(text.status());
  const auto profile = profile_from_json(text.value());
  if (!profile.is_ok()) return end_with_file_error(profile.status().with_context(arguments.file));
  const std::string page = profile_page(profile.value());
  const Status written = arguments.page == "-" ? print_result(page)
                                               : write_text_file("--output", arguments.page, page);
  return written.is_ok() ? ExitCode::kDone : end_with_file_error(written);
}

}  // namespace stratalog::cli
