// SPDX-License-Identifier: Apache-2.0
// Signals as requests: SIGUSR1 asks for a checkpoint, SIGTERM and SIGINT for a checkpoint and the
// end. The handlers only set a flag, which the engine polls at its safe points; a SIGTERM or SIGINT
// a second or more after the first ends the process at once. Until then it is the same request once
// more: a batch system signals all processes, and the launcher passes on its own. Process-wide
// state by nature.
#pragma once

#include "datalog/evaluate/engine.h"

namespace stratalog::cli {

// Installs the handlers. Every rank does, so that a launcher that signals all ranks ends none of
// them early.
void install_stop_signals();

// What was asked since the last call. A request to stop stays.
datalog::StopRequest take_stop_request();

// The signal that asked to stop, or 0.
int stop_signal();

}  // namespace stratalog::cli
