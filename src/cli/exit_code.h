// SPDX-License-Identifier: Apache-2.0
// ExitCode: what the process tells the shell and the batch system. The numbers are documented in
// README.md and never change their meaning. Pure; local.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace stratalog::cli {

enum class ExitCode : std::uint8_t {
  kDone = 0,
  kProgram = 1,  // a wrong command line, or errors in the program
  kFacts = 2,  // fact files that are missing, unreadable or malformed
  kCheckpointDamaged = 3,  // there are checkpoints, but none is valid (or the chosen one is not)
  kInputOutput = 4,  // reading or writing failed, or the disk is full
  kMemoryLimit = 5,  // --memory-limit or the end of memory reached; the last checkpoint is intact
  kStopped = 6,  // stopped on a signal after writing a checkpoint; resume it
  kCheckpointState =
      7,  // nothing to resume, checkpoints in the way of a fresh start, or another job holds them
  kInternal = 8,  // a defect of Stratalog, or ranks that disagree
};

// Which part of the work an error came from; the same StatusCode means different things in
// different parts.
enum class Part : std::uint8_t { kProgram, kFacts, kCheckpoint, kRun, kOutput };

ExitCode exit_code_of(const Status& status, Part part);

}  // namespace stratalog::cli
