// SPDX-License-Identifier: Apache-2.0
// make_private: the mode that a Store's files have, for one that a library has created (MPI-IO,
// HDF5), whose mode is what the umask leaves. Local; for the rank that creates it, before anything
// is written.
#pragma once

#include <string>

#include "base/status.h"

namespace stratalog {

// 0600. The error of errno_status.h where the system refuses it.
Status make_private(const std::string& path);

}  // namespace stratalog
