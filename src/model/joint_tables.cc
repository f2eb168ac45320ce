// SPDX-License-Identifier: Apache-2.0
#include "model/joint_tables.h"

#include <utility>

#include "comm/shared_pointers.h"

namespace stratalog {

Status join_tables(Comm& comm, ValueDictionary& shared) {
  if (shared.is_joint()) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const auto all, pointers_of_all(comm, &std::as_const(shared)));
  if (comm.rank() != 0) shared.join(*all[0]);
  STRATALOG_RETURN_IF_ERROR(comm.barrier());
  if (comm.rank() == 0) shared.be_joined();
  return Status::ok();
}

}  // namespace stratalog
