// SPDX-License-Identifier: Apache-2.0
// Relations made for benchmarks: every rank makes its own part from the seed, without talking, and
// the parts of all ranks are disjoint. Two textures: what closures look like (few keys, long sets
// of near neighbours), and tuples that no encoding makes smaller. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/held_relation.h"
#include "bench/rank_share.h"

namespace stratalog {

enum class Texture : std::uint8_t {
  kClosure,  // "closure": 64 .. 16,384 last columns to a prefix, three of four gaps are 1
  kRandom,  // "random": 1 .. 8 last columns to a prefix, drawn from 2^31
};

std::string_view texture_name(Texture texture);
std::optional<Texture> parse_texture(std::string_view name);

struct SyntheticSpec {
  std::string name = "path";
  RelationVersion version = RelationVersion::kTotal;
  std::uint64_t rows = 0;  // of all ranks
  std::uint32_t arity = 2;  // 2 .. 8
  RankShare share = RankShare::kBalanced;
  Texture texture = Texture::kClosure;
  std::uint64_t seed = 1;
};

// The part of `rank`, groups in ascending order, all arrays. The rows depend on (spec, rank, ranks)
// only. O(rows). InvalidArgument for an arity outside 2 .. 8, and for more rows than 32-bit keys
// can hold.
Result<HeldRelation> make_synthetic(const SyntheticSpec& spec, int rank, int ranks);

}  // namespace stratalog
