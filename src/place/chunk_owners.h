// SPDX-License-Identifier: Apache-2.0
// A one-dimensional data set of numbers that lies in chunks of one size, and to which each rank
// brings a run of numbers, in rank order: which chunks a rank writes. A chunk belongs to the rank
// that has its first number; the numbers of a rank in front of its first chunk, its head, travel to
// the owner of the chunk that they are in. Pure; O(log ranks) a question.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace stratalog {

struct NumberRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

class ChunkOwners {
 public:
  // `chunk` >= 1 numbers a chunk. InvalidArgument for more than 2^60 numbers.
  static Result<ChunkOwners> plan(std::span<const std::uint64_t> numbers_of_rank,
                                  std::uint64_t chunk);

  std::uint64_t numbers() const { return begins_.back(); }
  std::uint64_t chunk() const { return chunk_; }
  std::uint64_t chunks() const { return (numbers() + chunk_ - 1) / chunk_; }

  // The numbers that `rank` brings.
  NumberRange numbers_of(int rank) const;
  // The chunks that it writes.
  NumberRange chunks_of(int rank) const;
  // How many of its numbers come first and go to another rank.
  std::uint64_t head_of(int rank) const;
  // To whom. Requires head_of(rank) > 0.
  int head_owner(int rank) const;
  // The chunks that hold some of its numbers; the first may be another rank's. Requires numbers.
  NumberRange chunks_holding(int rank) const;

 private:
  ChunkOwners(std::vector<std::uint64_t> begins, std::uint64_t chunk)
      : begins_(std::move(begins)), chunk_(chunk) {}

  std::vector<std::uint64_t> begins_;  // of each rank, and the end
  std::uint64_t chunk_;
};

}  // namespace stratalog
