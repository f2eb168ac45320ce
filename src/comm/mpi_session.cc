// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_session.h"

#include <mpi.h>

#include <utility>

#include "comm/mpi_status.h"

namespace stratalog {

Result<MpiSession> MpiSession::start() {
  int flag = 0;
  STRATALOG_RETURN_IF_ERROR(mpi_status(MPI_Finalized(&flag), "MPI_Finalized"));
  if (flag != 0)
    return Status::internal("MPI has already been finalized; start a new process to use it again");
  STRATALOG_RETURN_IF_ERROR(mpi_status(MPI_Initialized(&flag), "MPI_Initialized"));
  if (flag != 0) return MpiSession(Ownership::kBorrowed);
  int provided = 0;
  STRATALOG_RETURN_IF_ERROR(mpi_status(
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread"));
  return MpiSession(Ownership::kStarted);
}

MpiSession::MpiSession(MpiSession&& other) noexcept
    : ownership_(std::exchange(other.ownership_, Ownership::kBorrowed)) {}

MpiSession& MpiSession::operator=(MpiSession&& other) noexcept {
  std::swap(ownership_, other.ownership_);
  return *this;
}

MpiSession::~MpiSession() {
  if (ownership_ == Ownership::kStarted) MPI_Finalize();
}

}  // namespace stratalog
