// SPDX-License-Identifier: Apache-2.0
// Growing relations: the parts of all checkpoints are disjoint and together what the last one
// holds, of about the sizes asked for; and chains of them are what the rule of runs makes of them.
#include "bench/growing_relation.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "bench/saved_sequence.h"
#include "bench/synthetic_relation.h"
#include "comm/comm.h"
#include "model/set_walk.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr std::array<std::uint64_t, 4> kSizes = {30, 45, 60, 75};

HeldRelation last_pairs(std::uint64_t rows) {
  return make_synthetic({.rows = rows, .seed = 7}, 0, 1).value();
}

std::set<std::pair<Cell, Cell>> pairs_of(const HeldRelation& relation) {
  std::set<std::pair<Cell, Cell>> pairs;
  EXPECT_TRUE(relation
                  .for_each_group([&](const TupleGroup& group) {
                    walk_set(group.set, [&](Cell cell) { pairs.emplace(group.prefix[0], cell); });
                    return Status::ok();
                  })
                  .is_ok());
  return pairs;
}

TEST(GrowingRelation, PartsAreDisjointAndTogetherTheLast) {
  const HeldRelation last = last_pairs(40000);
  std::set<std::pair<Cell, Cell>> before;
  for (std::size_t at = 0; at < kSizes.size(); ++at) {
    const HeldRelation total = grow(last, kSizes, at, GrownPart::kTotal);
    const HeldRelation growth = grow(last, kSizes, at, GrownPart::kGrowth);
    const HeldRelation round = grow(last, kSizes, at, GrownPart::kLastRound);
    EXPECT_EQ(total.rows(), before.size() + growth.rows());
    EXPECT_NEAR(static_cast<double>(total.rows()),
                40000.0 * static_cast<double>(kSizes[at]) / static_cast<double>(kSizes.back()),
                1500);
    EXPECT_EQ(round.version(), RelationVersion::kDelta);
    EXPECT_GT(round.rows(), 0U);
    EXPECT_LT(round.rows(), growth.rows() / 8);
    const auto fresh = pairs_of(growth);
    for (const auto& pair : pairs_of(round)) EXPECT_EQ(fresh.count(pair), 1U);
    before.insert(fresh.begin(), fresh.end());
    EXPECT_EQ(pairs_of(total), before);
  }
  EXPECT_EQ(before, pairs_of(last));
}

TEST(SavedSequence, ChainsHoldWhatIsNewAndEndWhereTheRuleSays) {
  const auto comm = make_self_comm();
  const auto store = open_memory_store(std::make_shared<MemoryDisk>());
  const auto writer = open_checkpoint_writer(*comm, *store, WriterOptions{});
  ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
  SavedSequence sequence(last_pairs(40000),
                         make_synthetic({.name = "edge", .rows = 600, .seed = 9}, 0, 1).value(),
                         {kSizes.begin(), kSizes.end()});
  ASSERT_EQ(sequence.checkpoints(), kSizes.size());
  std::vector<std::uint64_t> written;
  std::vector<std::uint64_t> rows;
  for (std::size_t at = 0; at < kSizes.size(); ++at) {
    sequence.go_to(at);
    auto request = sequence.request(*comm, *writer.value(), SequenceParts::kGrowth);
    ASSERT_TRUE(request.is_ok()) << request.status().to_string();
    const bool is_first = at == 0;
    EXPECT_EQ(is_whole(request.value().parts[0].part), is_first);
    EXPECT_EQ(is_whole(request.value().parts[2].part), is_first);
    const auto saved = writer.value()->save(request.value());
    ASSERT_TRUE(saved.is_ok()) << saved.status().to_string();
    EXPECT_EQ(saved.value().growth_images, is_first ? 0U : 2U);
    written.push_back(saved.value().rows);
    rows.push_back(sequence.rows());
  }
  // A row counts once in a chain, but for those of last rounds.
  std::uint64_t sum = 0;
  for (const std::uint64_t count : written) sum += count;
  EXPECT_LT(sum, rows.back() * 11 / 10);
  EXPECT_GE(sum, rows.back());
  // What the chain holds is the last whole one.
  std::uint64_t loaded = 0;
  const auto report = load_checkpoint(*comm, *store, {},
                                      {.begin = [](const StoredState&) { return Status::ok(); },
                                       .accept =
                                           [&](std::size_t, const TupleGroup& group) {
                                             loaded += group.set.count;
                                             return Status::ok();
                                           }});
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  EXPECT_EQ(loaded, rows.back());
}

TEST(SavedSequence, ChainsEndWhereTheRuleOfRunsSays) {
  const auto comm = make_self_comm();
  const auto store = open_memory_store(std::make_shared<MemoryDisk>());
  const auto writer = open_checkpoint_writer(*comm, *store, WriterOptions{});
  ASSERT_TRUE(writer.is_ok());
  SavedSequence sequence(last_pairs(40000),
                         make_synthetic({.name = "edge", .rows = 600, .seed = 9}, 0, 1).value(),
                         {5, 20, 75});
  std::string parts;
  for (std::size_t at = 0; at < sequence.checkpoints(); ++at) {
    sequence.go_to(at);
    auto request = sequence.request(*comm, *writer.value(), SequenceParts::kGrowth);
    ASSERT_TRUE(request.is_ok());
    for (const PartPlan& plan : request.value().parts) parts += is_whole(plan.part) ? 'w' : 'g';
    ASSERT_TRUE(writer.value()->save(request.value()).is_ok());
  }
  // Three or more times what was whole are growth, 14 times are not.
  EXPECT_EQ(parts, "wwwgwgwwg");
}

TEST(SavedSequence, WhatDoesNotGrowHasNoChain) {
  const auto comm = make_self_comm();
  const auto store = open_memory_store(std::make_shared<MemoryDisk>());
  const auto writer = open_checkpoint_writer(*comm, *store, WriterOptions{});
  ASSERT_TRUE(writer.is_ok());
  std::vector<HeldRelation> relations;
  relations.push_back(last_pairs(100));
  const SavedSequence sequence(std::move(relations));
  EXPECT_FALSE(sequence.grows());
  EXPECT_EQ(sequence.row_bytes(), 1600U);
  EXPECT_FALSE(sequence.request(*comm, *writer.value(), SequenceParts::kGrowth).is_ok());
  EXPECT_TRUE(sequence.request(*comm, *writer.value(), SequenceParts::kWhole).is_ok());
}

}  // namespace
}  // namespace stratalog
