// SPDX-License-Identifier: Apache-2.0
// The command's options in options.json of a checkpoint folder (commit/options_file.h). Local; for
// rank 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "write/store.h"

namespace stratalog::cli {

// The wishes about the layout as a JSON object, and back; what is missing or odd stays as it is.
std::string layout_text(const LayoutWishes& wishes);
void take_layout_text(std::string_view text, LayoutWishes& wishes);

// The options with which a run can be gone on with, by name.
nlohmann::json options_object(const std::string& program_name, const RunArguments& run);

// A path, or some, of such an object; `otherwise` and none where there is none.
std::string path_member(const nlohmann::json& options, const char* name,
                        const std::string& otherwise);
std::vector<std::string> paths_member(const nlohmann::json& options, const char* name);

// -D -: outputs are printed.
inline constexpr const char* kConsoleName = "-";

// Replaces the file. Folders of facts, outputs and libraries are stored as absolute paths.
Status write_options_file(Store& store, const std::string& program_name, const RunArguments& run);

// Fills in what the command line of `resume` left open, and returns the program's name, if known. A
// file that is missing changes nothing; one that is damaged is Corruption.
Result<std::string> complete_from_options_file(Store& store, RunArguments& run);

// The staging directory that the file names; empty: none.
std::string stage_in_options_file(Store& store);

}  // namespace stratalog::cli
