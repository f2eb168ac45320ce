// SPDX-License-Identifier: Apache-2.0
// Agreement on classes: what ranks have of an equivalence relation that is dealt is, all together
// and after each round, what one rank has of it whole; and it takes few exchanges.
#include "datalog/evaluate/class_agreement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "model/multiset_hash.h"

namespace stratalog::datalog {
namespace {

using EquivalentPair = Equivalence::Pair;
using Rounds = std::vector<std::vector<EquivalentPair>>;
using Tuples = std::set<std::pair<Cell, Cell>>;

// Pairs of a few elements, of many, an element with itself, and what is known already.
Rounds random_rounds(std::uint64_t seed, std::uint64_t elements) {
  Rounds rounds(5);
  std::uint64_t state = splitmix64(seed);
  const auto draw = [&] {
    return static_cast<Cell>(((state = splitmix64(state + 1)) % elements) * 7 + seed % 5);
  };
  for (std::size_t r = 0; r < rounds.size(); ++r)
    for (std::uint64_t i = 0; i < elements / (2 + 2 * r); ++i) {
      const Cell a = draw();
      rounds[r].push_back({.first = a, .second = i % 9 == 0 ? a : draw()});
    }
  return rounds;
}

// Labels that are met in the worst order, or in any.
Rounds path(std::uint32_t elements, std::uint32_t stride) {
  Rounds rounds(1);
  for (std::uint32_t i = 0; i + 1 < elements; ++i)
    rounds[0].push_back({.first = i * stride % elements, .second = (i + 1) * stride % elements});
  return rounds;
}

Rounds star(std::uint32_t elements, Cell center) {
  Rounds rounds(1);
  for (std::uint32_t i = 0; i < elements; ++i) rounds[0].push_back({.first = i, .second = center});
  return rounds;
}

struct Spent {
  std::uint64_t exchanges = 0;  // the most of a round
  std::uint64_t largest_share = 0;  // elements of the rank that has most
};

void add_delta(const Equivalence& classes, int rank, int ranks, Tuples& tuples) {
  for (const Equivalence::DeltaBlock& block : classes.delta())
    block.left.walk([&](Cell left) {
      if (ranks > 1 && owner_of_element(left, ranks) != rank) return;
      block.right->walk([&](Cell right) { tuples.emplace(left, right); });
    });
}

// Those of many elements are too many to be written out.
enum class Deltas : std::uint8_t { kCompared, kNotCompared };

// Whole until `deal_after` rounds, then dealt.
Spent check(const Rounds& rounds, int ranks, std::size_t deal_after,
            Deltas deltas = Deltas::kCompared) {
  Spent spent;
  std::vector<Equivalence> parts(static_cast<std::size_t>(ranks));
  Equivalence whole;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    for (const EquivalentPair& pair : rounds[r]) whole.unite(pair.first, pair.second);
    whole.take_news();
    whole.advance();
    const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
      Equivalence& mine = parts[static_cast<std::size_t>(comm.rank())];
      if (r == deal_after)
        mine.deal([self = comm.rank(), ranks](Cell cell) {
          return owner_of_element(cell, ranks) == self;
        });
      const bool is_dealt = mine.is_dealt();
      for (std::size_t i = 0; i < rounds[r].size(); ++i)
        if (!is_dealt ||
            i % static_cast<std::size_t>(ranks) == static_cast<std::size_t>(comm.rank()))
          mine.unite(rounds[r][i].first, rounds[r][i].second);
      const std::vector<EquivalentPair> news = mine.take_news();
      if (is_dealt) {
        STRATALOG_ASSIGN_OR_RETURN(const ClassAgreement took, agree_on_classes(comm, mine, news));
        if (comm.rank() == 0) spent.exchanges = std::max(spent.exchanges, took.exchanges);
      }
      mine.advance();
      return Status::ok();
    });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    if (r < deal_after) continue;
    std::uint64_t pairs = 0;
    std::uint64_t delta_pairs = 0;
    std::uint64_t elements = 0;
    Tuples delta;
    Tuples expected_delta;
    const bool compares = deltas == Deltas::kCompared;
    if (compares) add_delta(whole, 0, 1, expected_delta);
    for (int rank = 0; rank < ranks; ++rank) {
      const Equivalence& part = parts[static_cast<std::size_t>(rank)];
      pairs += part.pairs();
      delta_pairs += part.delta_pairs();
      elements += part.elements();
      spent.largest_share = std::max(spent.largest_share, part.elements());
      if (compares) add_delta(part, rank, ranks, delta);
    }
    EXPECT_EQ(pairs, whole.pairs());
    EXPECT_EQ(delta_pairs, whole.delta_pairs());
    EXPECT_EQ(elements, whole.elements());
    EXPECT_EQ(delta, expected_delta);
    whole.for_each_class([&](const IntSet& members) {
      std::vector<Cell> cells;
      members.walk([&](Cell cell) { cells.push_back(cell); });
      for (const Cell cell : cells) {
        const auto owner = static_cast<std::size_t>(owner_of_element(cell, ranks));
        const IntSet* found = parts[owner].class_of(cell);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->size(), members.size());
        ASSERT_TRUE(parts[owner].contains(cell, cells.back()));
        ASSERT_EQ(parts[owner].label_of(cell), cells.front());
      }
    });
  }
  return spent;
}

TEST(ClassAgreement, IsWhatOneRankWouldHave) {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const std::uint64_t elements : {3U, 40U, 300U})
      for (const int ranks : {1, 2, 3, 7})
        for (const std::size_t deal_after : {0U, 2U}) {
          SCOPED_TRACE(fmt::format("seed {}, {} elements, {} ranks, dealt after {}", seed, elements,
                                   ranks, deal_after));
          check(random_rounds(seed, elements), ranks, deal_after);
          if (HasFailure()) return;
        }
}

TEST(ClassAgreement, ManyRanksAndFewElements) {
  for (const int ranks : {32, 64})
    for (const std::uint64_t elements : {2U, 20U, 500U})
      check(random_rounds(elements, elements), ranks, 0);
}

// What is united in one round takes a number of exchanges that grows with the logarithm of it at
// most, whatever the order of the labels, and a fixed one where it is little.
TEST(ClassAgreement, TakesFewExchanges) {
  const std::uint32_t few = 2003;  // a prime: every stride is an order
  for (const std::uint32_t stride : {1U, 2U, 700U, 2002U}) {
    const Spent spent = check(path(few, stride), 8, 0);
    EXPECT_LE(spent.exchanges, 6U) << "stride " << stride;
    EXPECT_LE(spent.largest_share, few / 8 * 3 / 2);
  }
  const std::uint32_t many = 40009;
  for (const std::uint32_t stride : {1U, 2U, 17011U, 40008U})
    EXPECT_LE(check(path(many, stride), 4, 0, Deltas::kNotCompared).exchanges, 60U)
        << "stride " << stride;
  for (const Cell center : {0U, 20000U, many})
    EXPECT_LE(check(star(many, center), 4, 0, Deltas::kNotCompared).exchanges, 30U)
        << "center " << center;
}

}  // namespace
}  // namespace stratalog::datalog
