// SPDX-License-Identifier: Apache-2.0
#include "bench/synthetic_relation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(splitmix64(seed)) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    return splitmix64(state_);
  }

 private:
  std::uint64_t state_;
};

// 64, 128, .. 16384 elements, each size half as likely as the one before.
void draw_closure_set(Chance& chance, std::uint64_t most, std::vector<Cell>& values) {
  const std::uint64_t head = chance.next();
  const int doublings = std::min(8, std::countr_one(head));
  const std::uint64_t size = std::min(most, std::uint64_t{64} << static_cast<unsigned>(doublings));
  auto cell = static_cast<Cell>((head >> 32U) & 0xFFFFFU);
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    if (i % 8 == 0) bits = chance.next();
    values.push_back(cell);
    cell += (bits & 3U) != 0 ? 1 : 1 + ((bits >> 2U) & 63U);
    bits >>= 8U;
  }
}

void draw_random_set(Chance& chance, std::uint64_t most, std::vector<Cell>& values) {
  const std::uint64_t size = std::min(most, 1 + (chance.next() % 8));
  while (values.size() < size) {
    const auto cell = static_cast<Cell>(chance.next() >> 33U);
    if (std::find(values.begin(), values.end(), cell) == values.end()) values.push_back(cell);
  }
  std::sort(values.begin(), values.end());
}

}  // namespace

std::string_view texture_name(Texture texture) {
  return texture == Texture::kClosure ? "closure" : "random";
}

std::optional<Texture> parse_texture(std::string_view name) {
  for (const Texture texture : {Texture::kClosure, Texture::kRandom})
    if (texture_name(texture) == name) return texture;
  return std::nullopt;
}

Result<HeldRelation> make_synthetic(const SyntheticSpec& spec, int rank, int ranks) {
  if (spec.arity < 2 || spec.arity > 8)
    return Status::invalid_argument(
        fmt::format("a synthetic relation has 2 to 8 columns, not {}", spec.arity));
  std::vector<std::uint32_t> order(spec.arity);
  std::iota(order.begin(), order.end(), 0U);
  HeldRelation relation(spec.name, spec.version, std::move(order));
  std::uint64_t left = deal_rows(spec.rows, ranks, spec.share)[static_cast<std::size_t>(rank)];
  Chance chance((spec.seed * 0x1000193) ^ (static_cast<std::uint64_t>(rank) << 40U));
  std::vector<Cell> prefix(spec.arity - 1);
  std::vector<Cell> values;
  // Keys of different ranks differ by construction.
  for (std::uint64_t key = static_cast<std::uint64_t>(rank); left > 0;
       key += static_cast<std::uint64_t>(ranks)) {
    if (key > std::numeric_limits<Cell>::max())
      return Status::invalid_argument(
          fmt::format("{} rows of texture {} on {} ranks need more than 2^32 keys", spec.rows,
                      texture_name(spec.texture), ranks));
    prefix[0] = static_cast<Cell>(key);
    for (std::size_t i = 1; i < prefix.size(); ++i)
      prefix[i] = static_cast<Cell>(splitmix64(key + i) % 1000);
    values.clear();
    if (spec.texture == Texture::kClosure)
      draw_closure_set(chance, left, values);
    else
      draw_random_set(chance, left, values);
    relation.add_array(prefix, values);
    left -= values.size();
  }
  return relation;
}

}  // namespace stratalog
