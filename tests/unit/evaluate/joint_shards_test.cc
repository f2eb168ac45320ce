// SPDX-License-Identifier: Apache-2.0
// Ranks that share memory: the same answers whether growing relations are mirrored, dealt in the
// middle or dealt from the start and read where they lie; nothing travels for it; a key that is
// everywhere; and what a box hands to each owner.
#include "datalog/evaluate/joint_shards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "datalog/evaluate/placement.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Searches by several columns, sets carried and restricted, negations, a cross product, relations
// with one column and without any, an aggregate over what was dealt, and new values.
constexpr const char* kJointText =
    ".decl e(x: number, y: number)\n.input e\n"
    ".decl p(x: number, y: number)\n.output p\n"
    ".decl q(y: number, x: number, n: number)\n.output q\n"
    ".decl late()\n.output late\n.decl far(x: number)\n.output far\n"
    ".decl two(x: number, y: number)\n.output two\n"
    ".decl degree(x: number, n: number)\n.output degree\n"
    ".decl word(s: symbol, x: number)\n.output word\n"
    "p(x, y) :- e(x, y).\n"
    "p(x, z) :- p(x, y), p(y, z), !e(z, x), x < 50.\n"
    "p(x, z) :- p(x, y), e(y, z), p(z, x).\n"
    "q(y, x, x + y * 1000000) :- p(x, y), p(y, x), !e(x, y).\n"
    "q(z, x, n) :- q(y, x, n), p(y, z), late().\n"
    "late() :- q(_, x, _), p(x, 7).\n"
    "far(y) :- p(x, y), q(y, x, _), x + y > 60.\n"
    "p(y, x) :- q(x, y, _), late(), far(y).\n"
    "two(x, y) :- far(x), far(y), x < y, y < x + 4.\n"
    "degree(x, n) :- e(x, _), n = count : { p(x, _) }.\n"
    "word(cat(\"w\", to_string(n)), x) :- degree(x, n), !far(x).\n"
    "word(cat(s, \"x\"), x) :- word(s, x), strlen(s) < 9.\n";

// Half of the edges end in one node.
FileTexts joint_edges() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{}\t{}\n{}\t{}\n", i, (i * 7 + 3) % 60, i, i % 2 == 0 ? 7 : (i * i) % 60);
  return {{"e.facts", text}};
}

EngineOutcome run_jointly(const Program& program, const FileTexts& facts, int ranks,
                          const RunOptions& options) {
  return run_engine(program, facts, ranks, options, {}, {}, nullptr, {}, AddressSpace::kShared);
}

TEST(JointShards, TheSameAnswersWhereverTuplesLie) {
  const Program program = compiled(kJointText);
  const EngineOutcome expected = run_engine(program, joint_edges(), 1, {});
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  ASSERT_GT(expected.report.relations[1].rows, 500U);
  for (const int ranks : {2, 3, 7}) {
    for (const std::uint64_t mirror_limit : {0U, 900U}) {
      for (const bool sets : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{} ranks, mirrors of {} rows, sets {}", ranks, mirror_limit, sets));
        RunOptions options;
        options.mirror_limit_rows = mirror_limit;
        options.replicate_limit_rows = sets ? 0 : 50;
        options.allow_sets = sets;
        const EngineOutcome outcome = run_jointly(program, joint_edges(), ranks, options);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
      }
    }
  }
}

// What is computed before ranks part may have another cell on each of them until they agree on it,
// as they have made different values by then.
TEST(JointShards, BindingsWithNewValuesAreDealt) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl one(x: number)\none(7).\n"
      ".decl word(s: symbol, x: number, y: number)\n.output word\n"
      "word(cat(\"b\", to_string(x * y)), x, y) :- e(x, y), x > y.\n"
      "word(s, y, z) :- n = count : { e(_, _) }, s = cat(\"a\", to_string(n)), one(x), e(y, x), "
      "e(z, y), (y * z) % 7 != n.\n");
  const EngineOutcome expected = run_engine(program, joint_edges(), 1, {});
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  for (const int ranks : {2, 3, 7}) {
    RunOptions options;
    options.replicate_limit_rows = 0;
    const EngineOutcome outcome = run_jointly(program, joint_edges(), ranks, options);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(outcome.files, expected.files) << ranks;
  }
}

TEST(JointShards, NothingTravelsForSearches) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n.output p\n"
      "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p(y, z), !e(z, x).\n");
  RunOptions options;
  options.mirror_limit_rows = 0;
  options.replicate_limit_rows = 0;
  const auto sent = [&](AddressSpace space) {
    const EngineOutcome outcome =
        run_engine(program, joint_edges(), 3, options, {}, {}, nullptr, {}, space);
    EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    return outcome.report.strata.back().exchanged_bytes;
  };
  EXPECT_GT(sent(AddressSpace::kSeparate), 0U);
  EXPECT_EQ(sent(AddressSpace::kShared), 0U);
}

// As rows of an index that unites them they would take three times as much.
TEST(JointBox, ShortSetsWaitAsTuples) {
  Shard shard;
  shard.placement.columns = {0};
  shard.indices.push_back(
      std::make_unique<Index>(std::vector<std::uint32_t>{0, 1}, std::vector<std::uint32_t>{}));
  SetAccumulator scratch;
  JointBox box(shard, 1);
  ASSERT_TRUE(box.takes_sets());
  constexpr Cell kSets = 3U << 20;
  IntSet set;
  for (Cell key = 0; key < kSets; ++key) {
    set.assign_sorted(std::vector<Cell>{key + 1});  // which nobody borrows any more
    box.add_set(std::vector<Cell>{key}, &set);
    box.bound(scratch);
  }
  EXPECT_LE(box.held_bytes(), std::uint64_t{kSets} * 8);
  Index mine({0, 1}, {});
  box.take(0, mine, scratch, Freshness::kUnknown);
  mine.unite_queued(scratch, Freshness::kUnknown);
  mine.advance();
  EXPECT_EQ(mine.tuples(), kSets);
  EXPECT_TRUE(mine.contains(std::vector<Cell>{5, 6}.data()));
}

TEST(JointBox, EachOwnerTakesItsTuplesAndSetsOnce) {
  Shard shard;
  shard.placement.columns = {1};
  shard.indices.push_back(
      std::make_unique<Index>(std::vector<std::uint32_t>{1, 0, 2}, std::vector<std::uint32_t>{1}));
  constexpr int kRanks = 3;
  SetAccumulator scratch;
  JointBox box(shard, kRanks);
  ASSERT_TRUE(box.takes_sets());
  const std::vector<Cell> many{3, 5, 8, 13, 21};
  IntSet set;
  set.assign_sorted(many);
  std::set<std::vector<Cell>> expected;
  for (Cell key = 0; key < 40; ++key) {
    for (int again = 0; again < 2; ++again) {
      box.add(std::vector<Cell>{key, key % 3, key + 100});
      box.add_set(std::vector<Cell>{key, 7}, &set);
      box.add_view(std::vector<Cell>{key, 9}, set.view());
    }
    expected.insert({key, key % 3, key + 100});
    for (const Cell cell : many) {
      expected.insert({key, 7, cell});
      expected.insert({key, 9, cell});
    }
  }
  const auto taken = [&] {
    std::set<std::vector<Cell>> all;
    for (int rank = 0; rank < kRanks; ++rank) {
      Index mine({1, 0, 2}, {});
      box.take(rank, mine, scratch, Freshness::kUnknown);
      mine.unite_queued(scratch, Freshness::kUnknown);
      EXPECT_FALSE(mine.next_delta().empty()) << "every rank owns some";
      for (const DeltaRow& row : mine.next_delta()) {
        const auto prefix = mine.prefix(row.row);
        EXPECT_EQ(owner_of(prefix.first(1), kRanks), rank);
        row.cells.walk([&](Cell cell) {
          EXPECT_TRUE(all.insert({prefix[0], prefix[1], cell}).second) << "of one owner only";
        });
      }
    }
    return all;
  };
  EXPECT_EQ(taken(), expected);
  box.clear();
  for (int rank = 0; rank < kRanks; ++rank) {
    Index mine({1, 0, 2}, {});
    box.take(rank, mine, scratch, Freshness::kUnknown);
    EXPECT_EQ(mine.queued(), 0U);
  }
  // Sets that were made on the way are many: what is there is united, and nothing is lost.
  std::vector<Cell> large(1U << 16);
  for (Cell c = 0; c < large.size(); ++c) large[c] = 3 * c * (c % 50);
  std::sort(large.begin(), large.end());
  large.erase(std::unique(large.begin(), large.end()), large.end());
  IntSet wide;
  wide.assign_sorted(large);
  const std::uint64_t copies = (std::uint64_t{80} << 20) / wide.heap_bytes();
  for (Cell n = 0; n < copies; ++n) {
    box.add_view(std::vector<Cell>{n % 40, 7}, wide.view());
    box.bound(scratch);
  }
  std::uint64_t tuples = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    Index mine({1, 0, 2}, {});
    box.take(rank, mine, scratch, Freshness::kUnknown);
    mine.unite_queued(scratch, Freshness::kUnknown);
    mine.advance();
    tuples += mine.tuples();
  }
  EXPECT_EQ(tuples, 40 * wide.size());
}

}  // namespace
}  // namespace stratalog::datalog
