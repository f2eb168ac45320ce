// SPDX-License-Identifier: Apache-2.0
// pointers_of_all: how ranks that are threads of one process show each other what they hold.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"

namespace stratalog {

// Every rank's `mine` on every rank, in rank order. Requires comm.shares_memory(). What the
// pointers name must live until all ranks have met again. Collective.
template <class T>
Result<std::vector<T*>> pointers_of_all(Comm& comm, T* mine) {
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             comm.allgather(std::as_bytes(std::span(&mine, 1))));
  std::vector<T*> pointers(static_cast<std::size_t>(comm.size()));
  std::memcpy(static_cast<void*>(pointers.data()), all.data.data(), all.data.size());
  return pointers;
}

}  // namespace stratalog
