// SPDX-License-Identifier: Apache-2.0
#include "cli/world.h"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>

#include "comm/mpi_comm.h"

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

Result<World> World::enter(MpiNeed need) {
  if (!is_under_launcher() && need == MpiNeed::kOnlyIfLaunched) {
    return World(std::nullopt, make_self_comm());
  }
  STRATALOG_ASSIGN_OR_RETURN(MpiSession session, MpiSession::start());
  const MPI_Comm world = MPI_COMM_WORLD;
  STRATALOG_ASSIGN_OR_RETURN(std::unique_ptr<Comm> comm, duplicate_mpi_comm(&world));
  const int told = first_number(kSizeVariables).value_or(comm->size());
  if (told != comm->size()) {
    return Status::internal(
        fmt::format("the launcher started {} ranks, but this program's MPI sees {}; use the "
                    "mpiexec of the MPI that "
                    "Stratalog was built with",
                    told, comm->size()));
  }
  return World(std::move(session), std::move(comm));
}

}  // namespace stratalog::cli
