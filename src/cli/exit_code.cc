// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

namespace stratalog::cli {

namespace {

ExitCode checkpoint_code(StatusCode code) {
  switch (code) {
    case StatusCode::kCorruption:
      return ExitCode::kCheckpointDamaged;
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists:
      return ExitCode::kCheckpointState;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotSupported:
      return ExitCode::kProgram;
    default:
      return ExitCode::kInputOutput;
  }
}

}  // namespace

ExitCode exit_code_of(const Status& status, Part part) {
  switch (status.code()) {
    case StatusCode::kOk:
      return ExitCode::kDone;
    case StatusCode::kCancelled:
      return ExitCode::kStopped;
    case StatusCode::kRanksDisagree:
    case StatusCode::kInternal:
      return ExitCode::kInternal;
    default:
      break;
  }
  switch (part) {
    case Part::kProgram:
      return ExitCode::kProgram;
    case Part::kFacts:
      return status.code() == StatusCode::kNoSpace ? ExitCode::kMemoryLimit : ExitCode::kFacts;
    case Part::kCheckpoint:
      return checkpoint_code(status.code());
    case Part::kRun:
      // While rules are evaluated nothing is written but checkpoints, and a checkpoint that fails
      // does not end a run.
      return status.code() == StatusCode::kNoSpace ? ExitCode::kMemoryLimit : ExitCode::kProgram;
    case Part::kOutput:
      return ExitCode::kInputOutput;
  }
  return ExitCode::kInternal;
}

}  // namespace stratalog::cli
