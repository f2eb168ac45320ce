// SPDX-License-Identifier: Apache-2.0
// Job: what run and resume have ready before the engine starts: the program, the folders, the
// options, the same on every rank. Preparing is collective; rank 0 alone reads the program and
// judges the checkpoint folder, and speaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "comm/comm.h"
#include "commit/staged_store.h"
#include "datalog/external_function.h"
#include "datalog/program.h"
#include "write/store.h"

namespace stratalog::cli {

struct Job {
  RunArguments run;  // complete: what the command line left open is filled in
  std::string program_name;
  datalog::Program program;
  std::vector<datalog::ExternalFunction> externals;  // behind the program's .functor
  std::unique_ptr<Store>
      facts;  // null if the program reads no files (or, resuming, the folder is gone)
  std::unique_ptr<Store> added_facts;  // null without --add-facts
  std::unique_ptr<Store> output;  // null if the program writes no files
  std::unique_ptr<Store> checkpoints;  // null without --checkpoint
  StagedStore* stage = nullptr;  // which `checkpoints` is with --stage
};

// What went wrong, and in which part of the work; OK status: nothing.
struct Failure {
  Status status;
  Part part = Part::kRun;
};

// Fills in `job`. The same Failure code on every rank.
Failure prepare_run(Comm& comm, const Invocation& invocation, Job& job);
Failure prepare_resume(Comm& comm, const Invocation& invocation, Job& job);

}  // namespace stratalog::cli
