// SPDX-License-Identifier: Apache-2.0
// Strata against a naive oracle on random graphs: mutual reachability, an order that respects
// needs, and determinism.
#include "datalog/language/stratify.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace stratalog::datalog::language {
namespace {

using Reach = std::vector<std::vector<bool>>;

Reach reachability(std::size_t count, const std::vector<Dependency>& dependencies) {
  Reach reach(count, std::vector<bool>(count, false));
  for (const Dependency& d : dependencies) reach[d.head][d.on] = true;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

void check_against_oracle(std::size_t count, const std::vector<Dependency>& dependencies) {
  const Reach reach = reachability(count, dependencies);
  const std::vector<Stratum> strata = stratify(count, dependencies);
  std::vector<std::size_t> stratum_of(count, count);
  for (std::size_t s = 0; s < strata.size(); ++s) {
    ASSERT_FALSE(strata[s].relations.empty());
    EXPECT_TRUE(std::is_sorted(strata[s].relations.begin(), strata[s].relations.end()));
    for (const RelationId relation : strata[s].relations) {
      EXPECT_EQ(stratum_of[relation], count) << "relation in two strata";
      stratum_of[relation] = s;
    }
    EXPECT_EQ(strata[s].is_recursive, reach[strata[s].relations[0]][strata[s].relations[0]]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_LT(stratum_of[i], strata.size()) << "relation " << i << " is in no stratum";
    for (std::size_t j = 0; j < count; ++j) {
      const bool together = i == j || (reach[i][j] && reach[j][i]);
      EXPECT_EQ(stratum_of[i] == stratum_of[j], together) << i << " " << j;
      if (reach[i][j]) {
        EXPECT_GE(stratum_of[i], stratum_of[j]);
      }
    }
  }
}

TEST(Stratify, RandomGraphs) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::size_t count = 1 + random() % 12;
    std::vector<Dependency> dependencies(random() % (2 * count + 1));
    for (Dependency& d : dependencies) {
      d.head = static_cast<RelationId>(random() % count);
      d.on = static_cast<RelationId>(random() % count);
    }
    check_against_oracle(count, dependencies);
  }
}

TEST(Stratify, ReadyStrataComeInTheOrderOfTheirSmallestRelation) {
  const std::vector<Stratum> strata = stratify(5, {{0, 4, {}, {}}, {2, 1, {}, {}}});
  std::vector<RelationId> order;
  for (const Stratum& stratum : strata) order.push_back(stratum.relations[0]);
  EXPECT_EQ(order, (std::vector<RelationId>{1, 2, 3, 4, 0}));
}

TEST(Stratify, NothingToDo) { EXPECT_TRUE(stratify(0, {}).empty()); }

}  // namespace
}  // namespace stratalog::datalog::language
