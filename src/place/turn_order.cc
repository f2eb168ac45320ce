// SPDX-License-Identifier: Apache-2.0
#include "place/turn_order.h"

#include <algorithm>

namespace stratalog {
namespace {

// What waits for the last piece.
std::uint64_t bytes_but_last(const BlockPieces& pieces) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) sum += pieces[i].bytes;
  return sum;
}

bool ascend(const BlockPieces& pieces) {
  return std::ranges::is_sorted(pieces, {}, &ShardPlace::Piece::offset);
}

void append_reads(std::span<const BlockPieces> blocks, std::size_t block,
                  std::vector<TurnOrder::Read>& reads) {
  std::uint64_t within = 0;
  for (const ShardPlace::Piece& piece : blocks[block]) {
    reads.push_back({.block = block, .within = within, .piece = piece, .read_over = 0});
    within += piece.bytes;
  }
}

// Short stretches between two pieces that follow each other.
void read_over_gaps(std::vector<TurnOrder::Read>& reads) {
  for (std::size_t i = 1; i < reads.size(); ++i) {
    const std::uint64_t end = reads[i - 1].piece.offset + reads[i - 1].piece.bytes;
    const std::uint64_t begin = reads[i].piece.offset;
    if (begin > end && begin - end <= kMostReadOver) reads[i].read_over = begin - end;
  }
}

}  // namespace

TurnOrder plan_turns(std::span<const BlockPieces> blocks, std::uint64_t most_held) {
  std::vector<TurnOrder::Read> met;
  for (std::size_t block = 0; block < blocks.size(); ++block) append_reads(blocks, block, met);
  std::stable_sort(met.begin(), met.end(), [](const TurnOrder::Read& a, const TurnOrder::Read& b) {
    return a.piece.offset < b.piece.offset;
  });

  TurnOrder order;
  order.reads.reserve(met.size());
  const auto complete = [&order](std::size_t block) {
    order.blocks.push_back(block);
    order.reads_until.push_back(order.reads.size());
  };
  std::vector<std::size_t> pieces_met(blocks.size());
  std::uint64_t held = 0;
  for (const TurnOrder::Read& read : met) {
    const BlockPieces& pieces = blocks[read.block];
    std::size_t& count = pieces_met[read.block];
    if (count == pieces.size()) continue;  // was read in one go
    const std::uint64_t waiting = bytes_but_last(pieces);
    if (count == 0 && (waiting > most_held - held || !ascend(pieces))) {
      append_reads(blocks, read.block, order.reads);
      count = pieces.size();
      complete(read.block);
      continue;
    }
    // Counted as a whole while any of it waits.
    if (count == 0) held += waiting;
    order.reads.push_back(read);
    if (++count < pieces.size()) continue;
    held -= waiting;
    complete(read.block);
  }
  read_over_gaps(order.reads);
  return order;
}

}  // namespace stratalog
