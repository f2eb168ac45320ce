// SPDX-License-Identifier: Apache-2.0
// The filters behind which streams of small numbers stand in HDF5 files, for who deflates their
// chunks by itself (encode/shuffled_chunk.h): HDF5's own shuffle and deflate, both optional, as a
// chunk that does not get smaller is stored as it is. Sees <hdf5.h>. Local.
#pragma once

#include <hdf5.h>

#include <cstdint>

namespace stratalog {

inline void set_shuffle_and_deflate(hid_t creation_properties, unsigned level) {
  H5Pset_filter(creation_properties, H5Z_FILTER_SHUFFLE, H5Z_FLAG_OPTIONAL, 0, nullptr);
  H5Pset_filter(creation_properties, H5Z_FILTER_DEFLATE, H5Z_FLAG_OPTIONAL, 1, &level);
}

// The mask of a chunk that is stored in so many bytes: which of the two are skipped.
constexpr std::uint32_t filters_skipped(std::uint64_t stored_bytes, std::uint64_t raw_bytes) {
  return stored_bytes == raw_bytes ? 3U : 0U;
}

}  // namespace stratalog
