// SPDX-License-Identifier: Apache-2.0
#include "place/chunk_owners.h"

#include <algorithm>

namespace stratalog {
namespace {

constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 60;

std::uint64_t round_up(std::uint64_t number, std::uint64_t unit) {
  return (number + unit - 1) / unit;
}

}  // namespace

Result<ChunkOwners> ChunkOwners::plan(std::span<const std::uint64_t> numbers_of_rank,
                                      std::uint64_t chunk) {
  std::vector<std::uint64_t> begins = {0};
  begins.reserve(numbers_of_rank.size() + 1);
  for (const std::uint64_t numbers : numbers_of_rank) {
    if (numbers > kMostNumbers - begins.back())
      return Status::invalid_argument("more than 2^60 numbers in one data set");
    begins.push_back(begins.back() + numbers);
  }
  return ChunkOwners(std::move(begins), chunk);
}

NumberRange ChunkOwners::numbers_of(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return {.begin = begins_[r], .end = begins_[r + 1]};
}

NumberRange ChunkOwners::chunks_of(int rank) const {
  const NumberRange mine = numbers_of(rank);
  return {.begin = round_up(mine.begin, chunk_), .end = round_up(mine.end, chunk_)};
}

std::uint64_t ChunkOwners::head_of(int rank) const {
  const NumberRange mine = numbers_of(rank);
  return std::min(mine.end, round_up(mine.begin, chunk_) * chunk_) - mine.begin;
}

int ChunkOwners::head_owner(int rank) const {
  const std::uint64_t first = numbers_of(rank).begin / chunk_ * chunk_;
  // The last rank that begins at or before it; those without numbers end where they begin.
  const auto above = std::upper_bound(begins_.begin(), begins_.end(), first);
  return static_cast<int>(above - begins_.begin()) - 1;
}

NumberRange ChunkOwners::chunks_holding(int rank) const {
  const NumberRange mine = numbers_of(rank);
  return {.begin = mine.begin / chunk_, .end = round_up(mine.end, chunk_)};
}

}  // namespace stratalog
