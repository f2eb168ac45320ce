// SPDX-License-Identifier: Apache-2.0
// The options of run and resume (compact has some of them): their declaration to CLI11, and what
// CLI11 cannot check or fill in by itself. Local; prints nothing.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command_line.h"

namespace stratalog::cli {

// Options that mean more than one word says, as they were typed.
struct RunWords {
  std::vector<std::string> every;
  std::string memory_limit;
  std::string jobs;
  bool has_jobs = false;
  std::string ladder;
  std::string alignment;
  std::string mtbf;
  bool wants_resume = false;
  bool wants_fresh = false;
  bool no_overlap = false;
  std::string overlap;
  bool is_quiet = false;
  bool is_verbose = false;
  std::string progress;  // as given after --progress=
  bool wants_no_progress = false;
  bool no_pivot = false;
  bool no_sets = false;
};

void add_run_options(CLI::App* app, RunArguments& run, RunWords& words);
// One option each, for commands that write checkpoints; `text` is its help.
CLI::Option* add_mode(CLI::App* app, RunArguments& run, const std::string& text);
CLI::Option* add_encoding(CLI::App* app, RunArguments& run, const std::string& text);
CLI::Option* add_durability(CLI::App* app, RunArguments& run, const std::string& text);
void add_layout_options(CLI::App* app, RunArguments& run, RunWords& words);

// -l and -L.
std::vector<CLI::Option*> add_libraries(CLI::App* app, std::vector<std::string>& libraries,
                                        std::vector<std::string>& directories);

// Which options were given (has_...), of the command that was parsed.
void note_given(const CLI::App& app, RunWords& words, RunArguments& run);

// After parsing: what layout options say. InvalidArgument with the option's name.
Status read_layout(const RunWords& words, RunArguments& run);
// After parsing: `run` is filled in from `words`, and what does not go together is refused.
// InvalidArgument with the option's name.
Status complete_run(const RunWords& words, Command command, RunArguments& run);

}  // namespace stratalog::cli
