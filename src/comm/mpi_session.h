// SPDX-License-Identifier: Apache-2.0
// MpiSession: MPI's start and end as an object. Starts MPI only if nobody has, and ends only what
// it started, so that a host program (mpi4py, a simulation) keeps its own MPI. Does not include
// <mpi.h>. start() and the destructor are collective over the world.
#pragma once

#include "base/result.h"

namespace stratalog {

class MpiSession {
 public:
  // Internal if MPI refuses to start or has already been finalized. The thread that calls this is
  // the only one that may use MPI (MPI_THREAD_FUNNELED).
  static Result<MpiSession> start();

  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  MpiSession(MpiSession&& other) noexcept;
  MpiSession& operator=(MpiSession&& other) noexcept;
  // Finalizes MPI if this session started it. All communicators must be gone before.
  ~MpiSession();

 private:
  enum class Ownership : bool { kBorrowed, kStarted };
  explicit MpiSession(Ownership ownership) : ownership_(ownership) {}

  Ownership ownership_;
};

}  // namespace stratalog
