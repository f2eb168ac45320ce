// SPDX-License-Identifier: Apache-2.0
#include "encode/piece_checksum.h"

#include <algorithm>

namespace stratalog {

std::uint64_t piece_checksum(std::span<std::byte> bytes, std::size_t used, const Nonce& nonce,
                             std::uint64_t file_id, std::uint64_t number) {
  const std::size_t padded = padded_piece_bytes(used);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(used),
            bytes.begin() + static_cast<std::ptrdiff_t>(padded), std::byte{0});
  return seeded_hash64(bytes.first(padded), block_seed(nonce, file_id, number));
}

}  // namespace stratalog
