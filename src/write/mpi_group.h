// SPDX-License-Identifier: Apache-2.0
// MpiGroup: the communicator of the ranks that share one of several files, and MpiHints: an
// MPI_Info from a plan. Sees <mpi.h>; for mpi_*.cc and hdf5_*.cc of this room only. MpiGroup::of is
// collective over the Comm.
#pragma once

#include <mpi.h>

#include <string_view>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "write/parallel_files.h"

namespace stratalog {

class MpiGroup {
 public:
  // The Comm's own communicator where there is one group only. InvalidArgument if `comm` is not
  // MPI's; `user` is for that message.
  static Result<MpiGroup> of(Comm& comm, const FileGroup& group, std::string_view user);

  MpiGroup() = default;
  MpiGroup(MpiGroup&& other) noexcept { *this = std::move(other); }
  MpiGroup& operator=(MpiGroup&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;
  // Frees a communicator of its own; local in practice, as all ranks of the group end their files
  // together.
  ~MpiGroup() {
    if (owned_ != MPI_COMM_NULL) MPI_Comm_free(&owned_);
  }

  MPI_Comm comm() const { return comm_; }
  bool takes_part() const { return comm_ != MPI_COMM_NULL; }
  int rank() const {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm owned_ = MPI_COMM_NULL;
};

class MpiHints {
 public:
  MpiHints(const StripingPlan& striping, const std::vector<FileHint>& hints);
  MpiHints(const MpiHints&) = delete;
  MpiHints& operator=(const MpiHints&) = delete;
  ~MpiHints() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  MPI_Info info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace stratalog
