// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_cores.h"

#include <cstdlib>

#include "base/allowed_cores.h"

namespace stratalog::cli {

void give_way_on_shared_cores(int ranks_here) {
  if (ranks_here < 2 || static_cast<unsigned>(ranks_here) < allowed_core_count()) return;
  setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1", 0);
  setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "10", 0);
}

int ranks_here_by_environment() {
  const char* told = std::getenv("MPI_LOCALNRANKS");  // Hydra, MPICH's launcher
  return told == nullptr ? 0 : static_cast<int>(std::strtol(told, nullptr, 10));
}

}  // namespace stratalog::cli
