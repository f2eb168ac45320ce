// SPDX-License-Identifier: Apache-2.0
// Synthetic relations: the rows asked for, dealt as asked for, disjoint over ranks, the same every
// time, and as (in)compressible as their texture says.
#include "bench/synthetic_relation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "bench/rank_share.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

std::uint64_t sum(const std::vector<std::uint64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
}

TEST(RankShare, NothingIsLostAtAnyNumberOfRanks) {
  for (const RankShare share : all_shares())
    for (const int ranks : {1, 2, 3, 7, 16, 4096, 16384})
      for (const std::uint64_t rows :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65521}, std::uint64_t{1} << 50U})
        EXPECT_EQ(sum(deal_rows(rows, ranks, share)), rows) << share_name(share) << " " << ranks;
}

TEST(RankShare, ShapesAreWhatTheirNamesSay) {
  const std::uint64_t rows = 1600000;
  const auto even = deal_rows(rows, 7, RankShare::kBalanced);
  EXPECT_LE(
      *std::max_element(even.begin(), even.end()) - *std::min_element(even.begin(), even.end()),
      1U);
  EXPECT_EQ(deal_rows(rows, 2, RankShare::kOneGiant)[1], 1500000U);
  EXPECT_EQ(deal_rows(rows, 16, RankShare::kOneGiant)[8], 1500000U);
  const auto half = deal_rows(rows, 5, RankShare::kHalfEmpty);
  EXPECT_EQ(half[1], 0U);
  EXPECT_EQ(half[3], 0U);
  EXPECT_NEAR(static_cast<double>(half[4]), rows / 3.0, 1);
  const auto power = deal_rows(rows, 4, RankShare::kPowerLaw);
  EXPECT_NEAR(static_cast<double>(power[0]), 4.0 * static_cast<double>(power[3]), 4);
  EXPECT_EQ(deal_rows(rows, 1, RankShare::kOneGiant)[0], rows);
  EXPECT_EQ(deal_rows(rows, 1, RankShare::kHalfEmpty)[0], rows);
}

TEST(RankShare, NamesAreReadAsTheyArePrinted) {
  for (const RankShare share : all_shares()) EXPECT_EQ(parse_share(share_name(share)), share);
  EXPECT_FALSE(parse_share("lopsided").has_value());
}

using Tuple = std::vector<Cell>;

void collect(const HeldRelation& relation, std::set<Tuple>& tuples, std::uint64_t& seen) {
  const Status status = relation.for_each_group([&](const TupleGroup& group) {
    walk_set(group.set, [&](Cell cell) {
      Tuple tuple(group.prefix.begin(), group.prefix.end());
      tuple.push_back(cell);
      tuples.insert(std::move(tuple));
      ++seen;
    });
    return Status::ok();
  });
  ASSERT_TRUE(status.is_ok());
}

TEST(SyntheticRelation, PartsAreDisjointAndComplete) {
  for (const Texture texture : {Texture::kClosure, Texture::kRandom}) {
    for (const std::uint32_t arity : {2U, 3U, 8U}) {
      std::set<Tuple> tuples;
      std::uint64_t seen = 0;
      for (int rank = 0; rank < 3; ++rank) {
        const auto part = make_synthetic(
            {.rows = 20011, .arity = arity, .share = RankShare::kPowerLaw, .texture = texture},
            rank, 3);
        ASSERT_TRUE(part.is_ok());
        EXPECT_EQ(part.value().rows(),
                  deal_rows(20011, 3, RankShare::kPowerLaw)[static_cast<std::size_t>(rank)]);
        EXPECT_EQ(part.value().row_bytes(), part.value().rows() * 8 * arity);
        collect(part.value(), tuples, seen);
      }
      EXPECT_EQ(seen, 20011U);
      EXPECT_EQ(tuples.size(), 20011U) << texture_name(texture) << " " << arity;
    }
  }
}

TEST(SyntheticRelation, GroupsAscendAndSeedsMatter) {
  const SyntheticSpec spec{.rows = 5000, .texture = Texture::kRandom, .seed = 7};
  const auto one = make_synthetic(spec, 1, 4);
  const auto again = make_synthetic(spec, 1, 4);
  SyntheticSpec other_spec = spec;
  other_spec.seed = 8;
  const auto other = make_synthetic(other_spec, 1, 4);
  ASSERT_TRUE(one.is_ok() && again.is_ok() && other.is_ok());
  EXPECT_TRUE(one.value().hash() == again.value().hash());
  EXPECT_FALSE(one.value().hash() == other.value().hash());
  Tuple last;
  const Status ascending = one.value().for_each_group([&](const TupleGroup& group) {
    EXPECT_TRUE(std::is_sorted(group.set.values.begin(), group.set.values.end()));
    const Tuple prefix(group.prefix.begin(), group.prefix.end());
    EXPECT_LT(last, prefix);
    last = prefix;
    return Status::ok();
  });
  EXPECT_TRUE(ascending.is_ok());
}

TEST(SyntheticRelation, ClosuresHaveLongSetsOfNeighboursAndRandomTuplesHaveNot) {
  const auto closure = make_synthetic({.rows = 200000}, 0, 1);
  const auto random = make_synthetic({.rows = 200000, .texture = Texture::kRandom}, 0, 1);
  ASSERT_TRUE(closure.is_ok() && random.is_ok());
  EXPECT_GT(closure.value().rows() / closure.value().groups(), 100U);
  EXPECT_LT(random.value().rows() / random.value().groups(), 8U);
  std::uint64_t neighbours = 0;
  const Status counted = closure.value().for_each_group([&](const TupleGroup& group) {
    for (std::size_t i = 1; i < group.set.values.size(); ++i)
      neighbours += group.set.values[i] == group.set.values[i - 1] + 1 ? 1 : 0;
    return Status::ok();
  });
  ASSERT_TRUE(counted.is_ok());
  EXPECT_NEAR(static_cast<double>(neighbours) / 200000, 0.75, 0.02);
}

TEST(SyntheticRelation, RefusesWhatItCannotMake) {
  EXPECT_EQ(make_synthetic({.rows = 10, .arity = 1}, 0, 1).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(make_synthetic({.rows = 10, .arity = 9}, 0, 1).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stratalog
