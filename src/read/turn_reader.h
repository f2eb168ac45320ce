// SPDX-License-Identifier: Apache-2.0
// TurnReader: reads the blocks of several shards that take turns in a file in the order that
// plan_turns gives, front to back, holds what comes before its rest and drops what is of others.
// Local; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "place/turn_order.h"
#include "read/read_ahead.h"
#include "write/store.h"

namespace stratalog {

class TurnReader {
 public:
  // So many bytes may wait for their rest: the beginnings of the blocks of 32 ranks and more.
  static constexpr std::uint64_t kMostHeld = std::uint64_t{32} << 20;

  TurnReader(std::shared_ptr<File> file, std::span<const BlockPieces> blocks);

  // The blocks by their places in what the constructor was given, as they get complete.
  std::span<const std::size_t> order() const { return order_.blocks; }
  // Fills `to` with the block order()[at]. Called with at = 0, 1, ...
  Status read(std::size_t at, std::span<std::byte> to);

 private:
  std::span<std::byte> room_for(const TurnOrder::Read& piece);

  std::shared_ptr<File> file_;
  TurnOrder order_;
  std::vector<std::uint64_t> block_bytes_;
  std::size_t done_ = 0;  // of the reads
  struct Beginning {
    PageBuffer buffer;
    std::uint64_t bytes = 0;
  };
  std::map<std::size_t, Beginning> held_;  // by block
  std::vector<PageBuffer> unused_;
  PageBuffer dropped_;
};

}  // namespace stratalog
