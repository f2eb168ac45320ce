// SPDX-License-Identifier: Apache-2.0
// StreamReader: blocks of a shard whose tuples are streams of numbers in chunks of HDF5 data sets
// (mode hdf5-streams): reads, verifies and inflates the chunks that hold a block's numbers, each
// once if blocks that follow each other are wanted. Memory: four chunks as stored, one chunk a
// stream, and the numbers of a block. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "encode/block_decoder.h"
#include "model/tuple_group.h"
#include "read/read_ahead.h"
#include "write/store.h"

namespace stratalog {

class StreamReader {
 public:
  // Will read `blocks` (ascending numbers) of `shard`. Both manifest and shard must outlive it.
  // `ahead` is not for those that are read side by side.
  static Result<StreamReader> open(Store& store, const Manifest& manifest,
                                   const ManifestShard& shard, std::vector<std::uint64_t> blocks,
                                   CheckBlocks check, Ahead ahead = Ahead::kByThread);
  StreamReader(StreamReader&&) noexcept;
  StreamReader& operator=(StreamReader&&) noexcept;
  ~StreamReader();

  bool is_at_end() const;
  // The block that load() loads; afterwards the next one. Requires !is_at_end().
  std::uint64_t block() const;
  // Corruption with file and offset.
  Status load();
  // Hands out the groups of the block that was loaded last. Errors of the visitor come back
  // unchanged.
  Status decode(const GroupVisitor& visit);
  // Where the block that was loaded last begins, for messages.
  std::string place() const;

 private:
  struct Parts;
  explicit StreamReader(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace stratalog
