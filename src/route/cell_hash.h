// SPDX-License-Identifier: Apache-2.0
// hash_cells: the partition function. The hash of a tuple's join columns names its bucket, the hash
// of its other columns its sub-bucket. Checkpoints store kPartitionFunction and the seed, so that a
// restart on the same ranks can skip the shuffle: never change the constants, add a new name. Not
// for hash tables that an adversary fills. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/cell.h"

namespace stratalog {

inline constexpr std::string_view kPartitionFunction = "stratalog-mulxor64-1";
inline constexpr std::uint64_t kBucketSeed = 0x5354524154414c4fULL;
// Another seed than the bucket's, so that the tuples of one bucket spread over its sub-buckets.
inline constexpr std::uint64_t kSubBucketSeed = 0x4c4f474c41594552ULL;

// One column into the state: each step is a bijection of the state, so hashes of single columns
// never collide.
constexpr std::uint64_t mix_cell(std::uint64_t state, Cell cell) {
  state = (state ^ cell) * 0x9fb21c651e98df25ULL;
  return state ^ (state >> 32U);
}

constexpr std::uint64_t finish_hash(std::uint64_t state) {
  state *= 0xd6e8feb86659fd93ULL;
  return state ^ (state >> 32U);
}

// 64 well mixed bits; the number of cells is not part of the hash.
constexpr std::uint64_t hash_cells(std::span<const Cell> cells, std::uint64_t seed = kBucketSeed) {
  std::uint64_t state = seed;
  for (const Cell cell : cells) state = mix_cell(state, cell);
  return finish_hash(state);
}

// hash_cells of `cell_at(place)` for each of `places` in turn, without copying the cells together.
template <class CellAt>
constexpr std::uint64_t hash_places(std::span<const std::uint32_t> places, CellAt&& cell_at,
                                    std::uint64_t seed = kBucketSeed) {
  std::uint64_t state = seed;
  for (const std::uint32_t place : places) state = mix_cell(state, cell_at(place));
  return finish_hash(state);
}

// The same of the columns `columns` of `tuple`.
constexpr std::uint64_t hash_columns(std::span<const Cell> tuple,
                                     std::span<const std::uint32_t> columns,
                                     std::uint64_t seed = kBucketSeed) {
  return hash_places(columns, [&](std::uint32_t column) { return tuple[column]; }, seed);
}

// A hash to 0 .. parts-1 by its high half: as even as a remainder, without the division. parts <
// 2^32.
constexpr std::uint32_t scale_hash(std::uint64_t hash, std::uint32_t parts) {
  return static_cast<std::uint32_t>(((hash >> 32U) * parts) >> 32U);
}

}  // namespace stratalog
