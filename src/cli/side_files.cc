// SPDX-License-Identifier: Apache-2.0
#include "cli/side_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "cli/text_file.h"
#include "datalog/facts/fact_location.h"
#include "datalog/facts/output_clashes.h"

namespace stratalog::cli {

namespace {

// One name for all names of one file, which need not exist; its folder must.
std::string name_of_place(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path at = std::filesystem::absolute(end_of_links(path), unknown);
  const std::filesystem::path folder = std::filesystem::canonical(at.parent_path(), unknown);
  return (unknown ? at : folder / at.filename()).string();
}

// What lies where, in words.
using TakenPlaces = std::map<std::string, std::string>;

void add_outputs(const Job& job, TakenPlaces& taken) {
  if (job.output == nullptr) return;
  for (const datalog::Relation& relation : job.program.relations) {
    for (const datalog::IoDirective& directive : relation.io) {
      if (directive.action != datalog::IoAction::kOutput) continue;
      const auto format = datalog::plan_output(relation, directive);
      if (!format.is_ok() || !datalog::has_file(format.value())) continue;
      const auto located = datalog::locate_output(*job.output, format.value().path);
      if (located.is_ok())
        taken.emplace(datalog::one_name_of(*job.output, located.value()),
                      fmt::format("that of `.output {}`", relation.name));
    }
  }
}

Status check_side_file(std::string_view option, const std::string& path, TakenPlaces& taken) {
  if (path.empty() || path == "-") return Status::ok();
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return Status::io_error(fmt::format("{}: {} is a folder; name a file in it", option, path));
  if (is_written_in_place(path)) return Status::ok();
  const std::string end = end_of_links(path);
  const std::filesystem::path folder = std::filesystem::path(end).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    return Status::io_error(
        fmt::format("{}: {} cannot be written: there is no folder {}; make it first, or name "
                    "another file",
                    option, path, folder.string()));
  const auto [other, is_free] =
      taken.emplace(name_of_place(path), fmt::format("that of {}", option));
  if (is_free) return Status::ok();
  return Status::invalid_argument(
      fmt::format("{}: the file {} is {}, and one would overwrite the other; name another file",
                  option, path, other->second));
}

}  // namespace

Status check_side_files(const Job& job) {
  TakenPlaces taken;
  taken.emplace(name_of_place(job.program_name), "the program");
  add_outputs(job, taken);
  STRATALOG_RETURN_IF_ERROR(check_side_file("--report", job.run.report_file, taken));
  return check_side_file("--profile", job.run.profile_file, taken);
}

}  // namespace stratalog::cli
