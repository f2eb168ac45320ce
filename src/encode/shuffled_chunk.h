// SPDX-License-Identifier: Apache-2.0
// Chunks of 32-bit numbers as HDF5 stores them behind its own filters shuffle and deflate: first
// the lowest bytes of all numbers, then the next ones, as one zlib stream. A chunk that would not
// get smaller stays as it is (HDF5: filters skipped), and is known by its size. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encode/zlib_buffer.h"

namespace stratalog {

class ChunkDeflater {
 public:
  // `level` 0 to 9; 0: chunks stay as they are, as they do where there is no memory for it.
  explicit ChunkDeflater(int level);

  // Appends the stored form of `chunk` to `to`, and tells its bytes: fewer than 4 a number, or
  // exactly those.
  std::size_t append(std::span<const std::uint32_t> chunk, std::vector<std::byte>& to);

 private:
  std::optional<ZlibDeflater> deflater_;
  std::vector<std::byte> shuffled_;
};

// The way back: fills `chunk`, whose size tells how the bytes are to be read. Corruption if they
// are not such a chunk; NoSpace.
class ChunkInflater {
 public:
  Status inflate(std::span<const std::byte> stored, std::span<std::uint32_t> chunk);

 private:
  ZlibInflater inflater_;
  std::vector<std::byte> shuffled_;
};

}  // namespace stratalog
