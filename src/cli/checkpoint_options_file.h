// SPDX-License-Identifier: Apache-2.0
// options.json in a checkpoint folder: the options of the run that writes there, so that `stratalog
// resume` goes on as the run began. Advice only: resuming works without it. Local; for rank 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/command_line.h"
#include "write/store.h"

namespace stratalog::cli {

// The wishes about the layout as a JSON object, and back; what is missing or odd stays as it is.
std::string layout_text(const LayoutWishes& wishes);
void take_layout_text(std::string_view text, LayoutWishes& wishes);

// The options with which a run can be gone on with, by name.
nlohmann::json options_object(const std::string& program_name, const RunArguments& run);

inline constexpr const char* kOptionsFile = "options.json";

// Replaces the file. Folders of facts, outputs and libraries are stored as absolute paths.
Status write_options_file(Store& store, const std::string& program_name, const RunArguments& run);

// Fills in what the command line of `resume` left open, and returns the program's name, if known. A
// file that is missing or unreadable changes nothing.
std::string complete_from_options_file(Store& store, RunArguments& run);

// The staging directory that the file names; empty: none.
std::string stage_in_options_file(Store& store);

}  // namespace stratalog::cli
