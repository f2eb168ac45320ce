// SPDX-License-Identifier: Apache-2.0
// Space on the disk for a file that many ranks are about to write together. HDF5 does not get out
// of a collective write that fails on some ranks only: those are done, the others wait for them
// (H5FD__mpio_write_selection leaves out the collective reset of the file view). So what can be
// known to fail, a full disk, an exhausted quota or a limit of file sizes, has to fail before.
// Local.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace stratalog {

// Makes sure that `bytes` from the beginning of the existing file `path` can be written. What is
// reserved beyond its end goes back with release_reserved(). On an error nothing stays reserved. OK
// on file systems that cannot reserve (NFS, Lustre).
Status reserve_space(const std::string& path, std::uint64_t bytes);

// Gives back what lies beyond the end of the file.
Status release_reserved(const std::string& path);

}  // namespace stratalog
