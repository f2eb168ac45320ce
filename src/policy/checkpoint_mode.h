// SPDX-License-Identifier: Apache-2.0
// CheckpointMode: the layouts that a checkpoint can be written in, each a way for many ranks to
// fill files, and what follows from a choice. Names are those of the command line and the manifest.
// Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stratalog {

enum class CheckpointMode : std::uint8_t {
  kFilePerProcess,  // "fpp": one file per rank, relation and version; empty shards make none
  kShared,  // "shared": shared files, all ranks write disjoint extents (MPI-IO, default hints)
  kHdf5,  // "hdf5": one dataset (rows, columns) of uint64 per relation and version, collective
  kSharedOpt,  // "shared-opt": shared with tuned ROMIO hints, alignment and striping
  kHdf5Opt,  // "hdf5-opt": hdf5 with the tuning ladder O1..O7 (policy/ladder.h)
  kHdf5Direct,  // "hdf5-direct": rank 0 lays out the HDF5 file, all ranks write at its offsets
  kHdf5Streams,  // "hdf5-streams": sorted streams of numbers in an HDF5 file, small and readable
  kHdf5Auto,  // "hdf5-auto": kHdf5Direct or kHdf5Opt, chosen from checkpoint to checkpoint
  kAuto,  // "auto": kFilePerProcess or kSharedOpt, chosen from checkpoint to checkpoint
};

std::string_view mode_name(CheckpointMode mode);
std::optional<CheckpointMode> parse_mode(std::string_view name);
// All modes, kAuto last.
std::span<const CheckpointMode> all_modes();

// Whether the writer chooses for each save what is cheapest (policy/learning.h): only ever a wish,
// never in a manifest.
constexpr bool is_learned(CheckpointMode mode) {
  return mode == CheckpointMode::kAuto || mode == CheckpointMode::kHdf5Auto;
}

// What the files look like to a reader: kFilePerProcess, kShared, kHdf5 or kHdf5Streams. Requires
// not kAuto.
CheckpointMode format_of(CheckpointMode mode);
// Rows of uint64 in HDF5 datasets instead of encoded blocks.
inline bool stores_rows(CheckpointMode mode) { return format_of(mode) == CheckpointMode::kHdf5; }
// Streams of numbers in HDF5 datasets.
inline bool stores_streams(CheckpointMode mode) {
  return format_of(mode) == CheckpointMode::kHdf5Streams;
}
// Encoded blocks, in files of our own.
inline bool stores_blocks(CheckpointMode mode) {
  return !stores_rows(mode) && !stores_streams(mode);
}

}  // namespace stratalog
