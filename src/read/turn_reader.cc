// SPDX-License-Identifier: Apache-2.0
#include "read/turn_reader.h"

#include <algorithm>
#include <utility>

namespace stratalog {

TurnReader::TurnReader(std::shared_ptr<File> file, std::span<const BlockPieces> blocks)
    : file_(std::move(file)), order_(plan_turns(blocks, kMostHeld)) {
  block_bytes_.resize(blocks.size());
  for (const TurnOrder::Read& read : order_.reads) block_bytes_[read.block] += read.piece.bytes;
}

std::span<std::byte> TurnReader::room_for(const TurnOrder::Read& piece) {
  Beginning& beginning = held_[piece.block];
  if (beginning.bytes == 0 && !unused_.empty()) {
    beginning.buffer = std::move(unused_.back());
    unused_.pop_back();
  }
  beginning.bytes = std::max(beginning.bytes, piece.within + piece.piece.bytes);
  return beginning.buffer.of(block_bytes_[piece.block]).subspan(piece.within, piece.piece.bytes);
}

Status TurnReader::read(std::size_t at, std::span<std::byte> to) {
  const std::size_t block = order_.blocks[at];
  for (; done_ < order_.reads_until[at]; ++done_) {
    const TurnOrder::Read& next = order_.reads[done_];
    const std::span<std::byte> into =
        next.block == block ? to.subspan(next.within, next.piece.bytes) : room_for(next);
    if (next.read_over > 0)
      STRATALOG_RETURN_IF_ERROR(file_->read_at(next.piece.offset - next.read_over,
                                               dropped_.of(kMostReadOver).first(next.read_over)));
    STRATALOG_RETURN_IF_ERROR(file_->read_at(next.piece.offset, into));
  }
  if (const auto held = held_.find(block); held != held_.end()) {
    const std::span<std::byte> beginning = held->second.buffer.of(held->second.bytes);
    std::copy(beginning.begin(), beginning.end(), to.begin());
    unused_.push_back(std::move(held->second.buffer));
    held_.erase(held);
  }
  return {};
}

}  // namespace stratalog
