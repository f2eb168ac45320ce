// SPDX-License-Identifier: Apache-2.0
#include "cli/world.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "base/memory_end.h"
#include "cli/console.h"
#include "cli/parallel_module.h"
#include "cli/rank_memory.h"
#include "cli/shared_cores.h"
#include "comm/sim_nodes.h"

namespace stratalog::cli {

namespace {

// The launcher's variables: MPICH's Hydra, PMIx (srun, prterun), Open MPI, Cray PALS.
constexpr const char* kRankVariables[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                          "PALS_RANKID"};
constexpr const char* kSizeVariables[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};

template <std::size_t kCount>
std::optional<int> first_number(const char* const (&names)[kCount]) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0')
      return static_cast<int>(std::strtol(value, nullptr, 10));
  }
  return std::nullopt;
}

}  // namespace

bool is_under_launcher() { return first_number(kRankVariables).has_value(); }

int rank_by_environment() { return first_number(kRankVariables).value_or(0); }

Result<World> World::enter(MpiNeed need, int ranks_per_node) {
  if (!is_under_launcher() && need == MpiNeed::kOnlyIfLaunched) {
    std::unique_ptr<Comm> alone = make_self_comm();
    Comm* const comm = alone.get();
    return World(nullptr, std::move(alone), comm);
  }
  give_way_on_shared_cores(ranks_here_by_environment());
  STRATALOG_ASSIGN_OR_RETURN(const ParallelModule* module, parallel_module());
  STRATALOG_ASSIGN_OR_RETURN(MpiWorld world, module->enter_world(ranks_per_node));
  const int told = first_number(kSizeVariables).value_or(world.comm->size());
  if (told != world.comm->size()) {
    return Status::internal(
        fmt::format("the launcher started {} ranks, but this program's MPI sees {}; use the "
                    "mpiexec of the MPI that "
                    "Stratalog was built with",
                    told, world.comm->size()));
  }
  Comm* const comm = world.comm.get();
  return World(std::move(world.session), std::move(world.comm), comm);
}

ParallelBackends World::backends(CheckpointMode mode) const {
  const bool lays_out_alone = mode == CheckpointMode::kHdf5Direct ||
                              mode == CheckpointMode::kHdf5Auto || stores_streams(mode);
  if (session_ == nullptr && !lays_out_alone) return {};
  const auto module = parallel_module();
  return module.is_ok() ? module.value()->backends(*comm_) : ParallelBackends{};
}

namespace {

// Want of memory that nobody has made a verdict of ends all ranks: the others may wait for this
// one.
ExitCode do_body(World& world, const std::function<ExitCode(World&)>& body) {
  ExitCode code = ExitCode::kMemoryLimit;
  const Status ended = or_no_space(
      fmt::format("rank {}: the machine has no memory left; use more ranks on more nodes. "
                  "Checkpoints that were committed are intact",
                  world.comm().rank()),
      [&] {
        code = body(world);
        return Status::ok();
      });
  if (ended.is_ok()) return code;
  complain(ended);
  if (world.comm().can_give_up())
    world.comm().give_up(ended);
  else if (const auto module = parallel_module(); module.is_ok())
    module.value()->end_all(static_cast<int>(code));
  return code;
}

// Rank 0's code, on all ranks.
ExitCode agree_on_code(World& world, const std::function<ExitCode(World&)>& body) {
  const ExitCode mine = do_body(world, body);
  Bytes code = {static_cast<std::byte>(mine)};
  const Status shared = world.comm().broadcast(code, 0);
  if (!shared.is_ok() || code.size() != 1)
    return mine == ExitCode::kDone ? ExitCode::kInternal : mine;
  return static_cast<ExitCode>(code[0]);
}

}  // namespace

ExitCode in_world(MpiNeed need, const std::function<ExitCode(World&)>& body, int ranks_per_node) {
  auto world = World::enter(need, ranks_per_node);
  if (!world.is_ok()) {
    if (rank_by_environment() == 0) complain(world.status());
    return ExitCode::kInternal;
  }
  prepare_rank_memory();
  return agree_on_code(world.value(), body);
}

ExitCode in_threads(int threads, const std::function<ExitCode(World&)>& body, int ranks_per_node) {
  ExitCode code = ExitCode::kInternal;
  const int on_node = ranks_per_node == 0 ? threads : ranks_per_node;
  const auto run_rank = [&](Comm& comm) {
    World world = World::of_threads(comm);
    prepare_rank_memory();
    const ExitCode shared = agree_on_code(world, body);
    if (world.is_first()) code = shared;
    return Status::ok();
  };
  const Status ran = sim_run_on_nodes(threads, on_node, run_rank, AddressSpace::kShared);
  if (!ran.is_ok()) complain(ran);
  return ran.is_ok() ? code : ExitCode::kInternal;
}

}  // namespace stratalog::cli
