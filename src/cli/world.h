// SPDX-License-Identifier: Apache-2.0
// World: the group of ranks that this process belongs to. Under an MPI launcher that is the world
// of MPI; else a group of one, or of threads of this process, and MPI is started only where a
// checkpoint mode needs it. Making and destroying one is collective.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "checkpoint/backends.h"
#include "cli/exit_code.h"
#include "comm/comm.h"
#include "policy/checkpoint_mode.h"

namespace stratalog::cli {

// Whether an MPI launcher (mpiexec, srun) started this process, by the environment that launchers
// set.
bool is_under_launcher();
// The rank that the launcher's environment gives, or 0: who speaks before MPI runs, or without it.
int rank_by_environment();

enum class MpiNeed : std::uint8_t { kOnlyIfLaunched, kAlways };

class World {
 public:
  // Internal if MPI does not start, or if the launcher is that of another MPI (each process would
  // be alone).
  static Result<World> enter(MpiNeed need, int ranks_per_node = 0);
  // `comm` outlives the world.
  static World of_threads(Comm& comm) { return World(nullptr, nullptr, &comm); }

  Comm& comm() { return *comm_; }
  // The MPI-IO and HDF5 writers of checkpoints that `mode` may need; without MPI at most what lays
  // out the files of hdf5-direct and hdf5-auto. Local.
  ParallelBackends backends(CheckpointMode mode) const;
  bool is_first() const { return comm_->rank() == 0; }

 private:
  World(std::shared_ptr<void> session, std::unique_ptr<Comm> owned, Comm* comm)
      : session_(std::move(session)), owned_(std::move(owned)), comm_(comm) {}

  std::shared_ptr<void> session_;  // outlives owned_
  std::unique_ptr<Comm> owned_;
  Comm* comm_;
};

// Collective. Enters the world, lets all ranks do `body`, and gives rank 0's exit code to all, so
// that the launcher sees one code. Kinds of failure to enter are kInternal; rank 0 tells them.
// `ranks_per_node`: nodes as declared, 0: as MPI says.
ExitCode in_world(MpiNeed need, const std::function<ExitCode(World&)>& body,
                  int ranks_per_node = 0);

// The same on `threads` ranks that are threads of this process, without MPI. `body` runs on all of
// them at once.
ExitCode in_threads(int threads, const std::function<ExitCode(World&)>& body,
                    int ranks_per_node = 0);

}  // namespace stratalog::cli
