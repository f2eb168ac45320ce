// SPDX-License-Identifier: Apache-2.0
// From a program's file to the same checked program on every rank. Rank 0 reads and preprocesses
// (so every file is read once, and no rank sees a file that changed in between) and reports errors;
// the others compile the text that it sends, without touching files. Collective unless marked
// Local.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command_line.h"
#include "comm/comm.h"
#include "datalog/language/compile.h"
#include "datalog/program.h"

namespace stratalog::cli {

// Local. Reads the file (or standard input for "-") and compiles it. NotFound or IoError if it
// cannot be read; errors of the program are in the outcome.
Result<datalog::CompileOutcome> compile_file(const ProgramArguments& arguments);

// Where all output is printed, its files do not matter.
enum class CheckedFormats : std::uint8_t { kInputs, kAll };

// Local. What can be told of inputs and outputs before anything runs, as errors of the program.
void add_format_problems(datalog::CompileOutcome& outcome, const ProgramArguments& arguments,
                         CheckedFormats which);

// Local. A program whose preprocessed text is at hand: out of a checkpoint, or from another rank.
datalog::CompileOutcome compile_text(std::string name, std::string text);

// agree(), save that a rank with an error of its own returns that, without "rank 0:" in front: rank
// 0 is the one that speaks, and where only it can fail, which rank it was is no news.
Status agree_in_own_words(Comm& comm, const Status& mine);

// Gives rank 0's program to all. `name` (of its file, for errors) and `mine` count on rank 0 only.
// InvalidArgument on every rank if it has errors.
Result<datalog::Program> share_program(Comm& comm, const std::string& name,
                                       Result<datalog::CompileOutcome> mine);

}  // namespace stratalog::cli
