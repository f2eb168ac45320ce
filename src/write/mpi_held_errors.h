// SPDX-License-Identifier: Apache-2.0
// HeldErrors: failed MPI-IO calls that whoever made them must not hear of yet. Parallel HDF5 leaves
// a collective operation at the first error of its own rank, while the ranks whose calls have not
// failed go on to the next collective call and wait there for ever. While a HeldErrors lives, what
// fails on its thread of MPI_File_write_at, _write_at_all, _set_size and _sync is noted and told to
// the caller as done, so that all ranks take the same steps; afterwards the ranks agree on what was
// noted. The calls are caught by MPI's profiling interface: this object file defines them and calls
// their PMPI_ names, and has to come before the MPI library where symbols are looked up, as a
// program or a module that links both does. Without a HeldErrors they change nothing. Does not
// include <mpi.h>. Local.
#pragma once

#include <string>

#include "base/status.h"

namespace stratalog {

class HeldErrors {
 public:
  // `path` is for messages. They nest: the innermost notes.
  explicit HeldErrors(std::string path);
  ~HeldErrors();
  HeldErrors(const HeldErrors&) = delete;
  HeldErrors& operator=(const HeldErrors&) = delete;

  // The first error since the constructor; OK if there was none.
  const Status& status() const { return first_; }

  // For the calls that are caught: `code` as it is, or, where a HeldErrors lives, success.
  static int pass_on(int code, const char* call);

 private:
  std::string path_;
  Status first_;
  HeldErrors* outer_;
};

}  // namespace stratalog
