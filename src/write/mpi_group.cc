// SPDX-License-Identifier: Apache-2.0
#include "write/mpi_group.h"

#include <fmt/format.h>

#include "comm/mpi_comm.h"
#include "write/mpi_file_status.h"

namespace stratalog {

Result<MpiGroup> MpiGroup::of(Comm& comm, const FileGroup& group, std::string_view user) {
  const auto* native = static_cast<const MPI_Comm*>(native_mpi_comm(comm));
  if (native == nullptr)
    return Status::invalid_argument(fmt::format("{} needs ranks that are MPI processes", user));
  MpiGroup result;
  if (group.groups > 1) {
    const int color = group.mine == kNoGroup ? MPI_UNDEFINED : static_cast<int>(group.mine);
    STRATALOG_RETURN_IF_ERROR(mpi_file_status(
        MPI_Comm_split(*native, color, comm.rank(), &result.owned_), "MPI_Comm_split", user));
    if (result.owned_ != MPI_COMM_NULL) MPI_Comm_set_errhandler(result.owned_, MPI_ERRORS_RETURN);
  }
  result.comm_ = group.groups > 1 ? result.owned_ : *native;
  return result;
}

MpiHints::MpiHints(const StripingPlan& striping, const std::vector<FileHint>& hints) {
  if (striping.stripe_count == 0 && hints.empty()) return;
  MPI_Info_create(&info_);
  if (striping.stripe_count != 0) {
    MPI_Info_set(info_, "striping_factor", std::to_string(striping.stripe_count).c_str());
    MPI_Info_set(info_, "striping_unit", std::to_string(striping.stripe_bytes).c_str());
  }
  for (const FileHint& hint : hints) MPI_Info_set(info_, hint.name.c_str(), hint.value.c_str());
}

}  // namespace stratalog
