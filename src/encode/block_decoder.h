// SPDX-License-Identifier: Apache-2.0
// BlockDecoder: from the payload of a verified block back to groups, for every encoding of tuples.
// Fixed space. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/block_format.h"
#include "encode/compact_codec.h"
#include "encode/pool_codec.h"
#include "encode/streams_codec.h"

namespace stratalog {

class BlockDecoder {
 public:
  explicit BlockDecoder(std::span<const std::uint32_t> column_order);

  // Corruption if the payload is not what the header says; errors of the visitor come back
  // unchanged.
  Status decode(const BlockHeader& header, std::span<const std::byte> payload,
                const GroupVisitor& visit);

 private:
  std::vector<std::uint32_t> column_order_;
  CompactDecoder compact_;
  StreamsDecoder streams_;
  PoolDecoder pool_;
};

// Rows of little-endian uint64 in declared column order, as in kRowsU64 blocks and in HDF5
// datasets.
Status decode_rows(std::span<const std::byte> rows, std::span<const std::uint32_t> column_order,
                   const GroupVisitor& visit);

}  // namespace stratalog
