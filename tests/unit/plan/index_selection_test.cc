// SPDX-License-Identifier: Apache-2.0
// Index selection: known cases, and on random searches the promise itself: every search is a search
// by prefix, and there are as few indices as there can be (as many as the largest set of searches
// of which none contains another: Dilworth).
#include "datalog/plan/index_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace stratalog::datalog {
namespace {

using Columns = std::vector<std::uint32_t>;

Access search(Columns bound) {
  return {.bound = std::move(bound), .last_wish = {}, .asked = {}, .bounded = {}, .weight = 1};
}

std::vector<Columns> orders(const IndexChoice& choice) {
  std::vector<Columns> result;
  for (const IndexPlan& index : choice.indices) result.push_back(index.order);
  return result;
}

TEST(IndexSelection, ScansAndMembershipNeedOneIndex) {
  EXPECT_EQ(orders(choose_indices(3, {})), (std::vector<Columns>{{0, 1, 2}}));
  EXPECT_EQ(orders(choose_indices(3, {search({}), search({0, 1, 2})})),
            (std::vector<Columns>{{0, 1, 2}}));
  EXPECT_EQ(orders(choose_indices(1, {search({0})})), (std::vector<Columns>{{0}}));
}

TEST(IndexSelection, NestedSearchesShareAnIndex) {
  const IndexChoice choice =
      choose_indices(4, {search({2}), search({0, 2}), search({0, 2, 3}), search({2})});
  EXPECT_EQ(orders(choice), (std::vector<Columns>{{2, 0, 3, 1}}));
  EXPECT_EQ(choice.indices[0].searched_lengths, (Columns{1, 2, 3}));
  EXPECT_EQ(choice.index_of_access, (Columns{0, 0, 0, 0}));
}

TEST(IndexSelection, SearchesThatDoNotNestNeedTwo) {
  const IndexChoice choice = choose_indices(2, {search({0}), search({1})});
  EXPECT_EQ(orders(choice), (std::vector<Columns>{{0, 1}, {1, 0}}));
  EXPECT_EQ(choice.index_of_access, (Columns{0, 1}));
}

// The textbook case of Subotic et al.: greedy choices need three, matching finds two.
TEST(IndexSelection, MatchingBeatsGreed) {
  const IndexChoice choice =
      choose_indices(3, {search({0}), search({1}), search({0, 1}), search({0, 2})});
  EXPECT_EQ(choice.indices.size(), 2U);
}

TEST(IndexSelection, ColumnsThatLaterStepsAskForComeFirst) {
  Access asks_two = search({1});
  asks_two.asked = {2};
  EXPECT_EQ(orders(choose_indices(3, {asks_two})), (std::vector<Columns>{{1, 2, 0}}));
  Access asks_more = search({1});
  asks_more.asked = {0};
  asks_more.weight = 2;
  EXPECT_EQ(orders(choose_indices(4, {asks_two, asks_more})), (std::vector<Columns>{{1, 0, 2, 3}}));
  asks_more.last_wish = 0;
  EXPECT_EQ(orders(choose_indices(4, {asks_two, asks_more})), (std::vector<Columns>{{1, 2, 3, 0}}))
      << "whole sets outweigh look-ups";
}

TEST(IndexSelection, TheWishedColumnComesLast) {
  Access scan = search({});
  scan.last_wish = 0;
  EXPECT_EQ(orders(choose_indices(3, {scan})), (std::vector<Columns>{{1, 2, 0}}));
  Access by_one = search({1});
  by_one.last_wish = 0;
  EXPECT_EQ(orders(choose_indices(3, {by_one})), (std::vector<Columns>{{1, 2, 0}}));
  Access heavier = search({1});
  heavier.last_wish = 2;
  heavier.weight = 5;
  EXPECT_EQ(orders(choose_indices(3, {by_one, heavier})), (std::vector<Columns>{{1, 0, 2}}));
  // A wish cannot break the order of a longer search.
  Access longer = search({0, 1});
  EXPECT_EQ(orders(choose_indices(3, {by_one, longer})), (std::vector<Columns>{{1, 0, 2}}));
}

bool is_subset(const Columns& a, const Columns& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

std::size_t largest_antichain(const std::vector<Columns>& searches) {
  std::size_t best = 0;
  for (std::uint32_t mask = 0; mask < (1U << searches.size()); ++mask) {
    bool is_antichain = true;
    for (std::size_t a = 0; a < searches.size() && is_antichain; ++a)
      for (std::size_t b = 0; b < searches.size() && is_antichain; ++b)
        if (a != b && ((mask >> a) & 1U) != 0 && ((mask >> b) & 1U) != 0)
          is_antichain = !is_subset(searches[a], searches[b]);
    if (is_antichain)
      best = std::max<std::size_t>(best, static_cast<std::size_t>(std::popcount(mask)));
  }
  return best;
}

TEST(IndexSelection, RandomSearchesAreServedByTheFewestIndices) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 400; ++round) {
    const auto arity = static_cast<std::uint32_t>(1 + random() % 6);
    std::vector<Access> accesses;
    std::set<Columns> partial;
    for (std::uint64_t n = random() % 10; n > 0; --n) {
      Access access;
      for (std::uint32_t c = 0; c < arity; ++c)
        if (random() % 2 == 0) access.bound.push_back(c);
      if (random() % 3 == 0) access.last_wish = static_cast<std::uint32_t>(random() % arity);
      access.weight = static_cast<std::uint32_t>(1 + random() % 20);
      if (!access.bound.empty() && access.bound.size() < arity) partial.insert(access.bound);
      accesses.push_back(access);
    }
    const IndexChoice choice = choose_indices(arity, accesses);
    SCOPED_TRACE(round);
    ASSERT_EQ(choice.indices.size(),
              std::max<std::size_t>(1, largest_antichain({partial.begin(), partial.end()})));
    ASSERT_EQ(choice.index_of_access.size(), accesses.size());
    for (const IndexPlan& index : choice.indices) {
      Columns sorted = index.order;
      std::sort(sorted.begin(), sorted.end());
      for (std::uint32_t c = 0; c < arity; ++c) ASSERT_EQ(sorted[c], c);
      ASSERT_EQ(sorted.size(), arity);
    }
    for (std::size_t a = 0; a < accesses.size(); ++a) {
      const IndexPlan& index = choice.indices[choice.index_of_access[a]];
      const std::size_t length = accesses[a].bound.size();
      Columns prefix(index.order.begin(),
                     index.order.begin() + static_cast<std::ptrdiff_t>(length));
      std::sort(prefix.begin(), prefix.end());
      ASSERT_EQ(prefix, accesses[a].bound);
      if (length > 0) {
        ASSERT_TRUE(std::binary_search(index.searched_lengths.begin(), index.searched_lengths.end(),
                                       static_cast<std::uint32_t>(length)));
      }
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
