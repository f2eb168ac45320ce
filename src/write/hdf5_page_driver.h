// SPDX-License-Identifier: Apache-2.0
// A file driver for HDF5 that keeps pages in memory instead of calling a file system, so that HDF5
// itself lays out files whose data others write. Sees <hdf5.h>; for hdf5_*.cc of this room only.
// Local; one thread at a time (laying_out_files()).
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "write/parallel_files.h"

namespace stratalog {

inline constexpr std::uint64_t kPageBytes = 4096;

// What HDF5 wrote; what it did not write is zero.
struct PageFile {
  std::map<std::uint64_t, Bytes> pages;
  std::uint64_t end = 0;  // of what was written
  std::uint64_t allocated_end = 0;  // what HDF5 takes the file to need

  // Only where data lie at given places, and everything of HDF5's own from `own_end` on:
  bool has_given_places = false;
  std::uint64_t own_end = 0;
  std::optional<std::uint64_t> place;  // of the data written next, which are not kept

  // Neighbouring pages in one piece; nothing beyond the file's end.
  std::vector<RowFileImage::Piece> take_pieces(std::uint64_t file_bytes);
};

// Virtual ranks are threads, and HDF5 is not built for those.
std::mutex& laying_out_files();

// Makes `access` (of a file's access properties) keep the file in `content`, which must outlive it.
Status use_page_driver(hid_t access, PageFile& content);

}  // namespace stratalog
