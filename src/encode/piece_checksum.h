// SPDX-License-Identifier: Apache-2.0
// The checksum of a piece of rows in a file whose layout is not ours (HDF5): over the rows followed
// by zero bytes up to the next multiple of 256, seeded like a block. Local; pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/checksum.h"

namespace stratalog {

inline constexpr std::size_t kPiecePadding = 256;

// `bytes` has room for the padding behind its first `used` bytes, which are the rows.
std::uint64_t piece_checksum(std::span<std::byte> bytes, std::size_t used, const Nonce& nonce,
                             std::uint64_t file_id, std::uint64_t number);

constexpr std::size_t padded_piece_bytes(std::size_t used) {
  return (used + kPiecePadding - 1) / kPiecePadding * kPiecePadding;
}

}  // namespace stratalog
