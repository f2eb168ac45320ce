// SPDX-License-Identifier: Apache-2.0
// Ranks that begin with the same bindings: each binding that comes out does so on one of them, and
// each of them gets its share of the work, however little the first steps find and whether they
// read each other's shards or copies in different orders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "datalog/evaluate/pipeline.h"
#include "datalog/plan/delta_index.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

using NumberRows = std::vector<std::vector<std::uint64_t>>;

constexpr std::uint32_t kSharers = 3;

class PipelineShare : public testing::Test {
 protected:
  // The rule of `p`.
  void read(const std::string& rule) {
    shards_.clear();
    program_ = compiled(
        ".decl one(x: number)\n.input one\n.decl few(x: number, y: number)\n.input few\n"
        ".decl many(x: number, y: number)\n.input many\n"
        ".decl wide(x: number, y: number, z: number)\n.input wide\n"
        ".decl p(x: number, y: number)\n.output p\n" +
        rule);
    PlanOptions options;
    options.statistics.resize(program_.relations.size());
    for (const auto& [name, tuples] : facts_) {
      RelationStatistics& of = options.statistics[relation_named(name)];
      of.known = true;
      of.rows = tuples.size();
      of.distinct.assign(tuples.front().size(), tuples.size());
    }
    auto plan = plan_program(program_, options);
    ASSERT_TRUE(plan.is_ok()) << plan.status().to_string();
    plan_ = std::move(plan).value();
    const auto stratum = std::ranges::find_if(
        program_.strata, [&](const Stratum& each) { return each.holds(relation_named("p")); });
    rule_ = &plan_.strata[static_cast<std::size_t>(stratum - program_.strata.begin())].once.front();
  }

  RelationId relation_named(const std::string& name) const {
    return static_cast<RelationId>(std::ranges::find(program_.relations, name, &Relation::name) -
                                   program_.relations.begin());
  }

  std::unique_ptr<Index> index_of(const IndexPlan& plan, const NumberRows& tuples) {
    auto index = std::make_unique<Index>(plan.order, plan.searched_lengths);
    std::vector<Cell> cells(plan.order.size());
    for (const auto& tuple : tuples) {
      for (std::size_t i = 0; i < cells.size(); ++i)
        cells[i] = values_.number(tuple[plan.order[i]]);
      index->queue_tuple(cells.data());
    }
    index->unite_queued(scratch_, Freshness::kNew);
    index->advance();
    return index;
  }

  // Dealt to the ranks.
  std::vector<const Index*> shards_of(const IndexPlan& plan, const NumberRows& tuples) {
    std::vector<NumberRows> parts(kSharers);
    for (const auto& tuple : tuples) {
      std::vector<Cell> key;
      for (const std::uint32_t c : columns_of_all_searches(plan))
        key.push_back(values_.number(tuple[c]));
      parts[scale_hash(hash_cells(key), kSharers)].push_back(tuple);
    }
    std::vector<const Index*> shards;
    for (const NumberRows& part : parts)
      shards.push_back(indices_.emplace_back(index_of(plan, part)).get());
    return shards;
  }

  std::vector<StepSource> sources(std::uint32_t rank, bool joint) {
    std::vector<StepSource> result;
    for (const Step& step : rule_->steps) {
      StepSource& source = result.emplace_back();
      if (!reads_relation(step)) continue;
      const IndexPlan& plan = plan_.relations[step.relation].indices[step.index];
      NumberRows tuples = facts_.at(program_.relations[step.relation].name);
      global_rows_.push_back(tuples.size());
      source.global_rows = &global_rows_.back();
      if (!joint) {
        std::ranges::shuffle(tuples, std::mt19937_64(rank));
        source.index = indices_.emplace_back(index_of(plan, tuples)).get();
        continue;
      }
      auto& shards = shards_[{step.relation, step.index}];
      if (shards.empty()) shards = shards_of(plan, tuples);
      source.joint = shards;
      source.index = shards[rank];
      if (step.prefix_length == 0) continue;
      for (const std::uint32_t c : columns_of_all_searches(plan))
        source.owner_places.push_back(
            static_cast<std::uint32_t>(std::ranges::find(plan.order, c) - plan.order.begin()));
    }
    return result;
  }

  // How many times each binding came out, with its carried cells apart.
  std::map<std::vector<Cell>, int> run(const RankShare& share, bool joint) {
    std::vector<Cell> constants;
    static const Batch kNoBatch;
    for (const Expression& e : rule_->constants)
      constants.push_back(evaluator_.evaluate(e, kNoBatch, 0));
    std::map<std::vector<Cell>, int> out;
    const std::vector<VariableId>& live = rule_->steps.back().live_after;
    const auto take = [&](const Batch& batch) -> Status {
      for (std::uint32_t r = 0; r < batch.rows; ++r) {
        std::vector<Cell> binding;
        for (const VariableId v : live) binding.push_back(batch.columns[v][r]);
        if (!rule_->carries) ++out[binding];
        if (rule_->carries)
          batch.sets[r]->walk([&](Cell cell) {
            binding.push_back(cell);
            ++out[binding];
            binding.pop_back();
          });
      }
      return {};
    };
    const Rule& rule = program_.rules[rule_->rule];
    Pipeline pipeline({.rule = &rule,
                       .body = &rule.body,
                       .steps = rule_->steps,
                       .sources = sources(share.rank, joint),
                       .constants = constants,
                       .carries = rule_->carries,
                       .carried = rule_->carried,
                       .share = share,
                       .scratch = &scratch_},
                      evaluator_, take);
    EXPECT_TRUE(pipeline.start().is_ok());
    EXPECT_TRUE(pipeline.finish().is_ok());
    return out;
  }

  // Each binding on one rank; every rank has at least half of an even share of them.
  void expect_shared(const std::string& rule) {
    read(rule);
    const auto expected = run({}, false);
    ASSERT_GT(expected.size(), 60U) << rule;
    for (const bool joint : {true, false}) {
      SCOPED_TRACE(fmt::format("{} joint {}:{}", rule, joint, explain(program_, plan_)));
      std::map<std::vector<Cell>, int> all;
      for (std::uint32_t rank = 0; rank < kSharers; ++rank) {
        const auto mine = run({.ranks = kSharers, .rank = rank, .first_turn = 1}, joint);
        EXPECT_GE(mine.size() * 2 * kSharers, expected.size()) << rank;
        for (const auto& [binding, times] : mine) all[binding] += times;
      }
      EXPECT_EQ(all, expected);
      // Turns that one rank takes before the others come: nothing is left, nothing comes twice.
      ScanTurns turns;
      all.clear();
      for (std::uint32_t rank = 0; rank < kSharers; ++rank)
        for (const auto& [binding, times] :
             run({.ranks = kSharers, .rank = rank, .turns = &turns}, joint))
          all[binding] += times;
      EXPECT_EQ(all, expected);
    }
  }

  static NumberRows grid(std::uint64_t rows, std::uint64_t columns) {
    NumberRows tuples;
    for (std::uint64_t x = 0; x < rows; ++x)
      for (std::uint64_t y = 0; y < columns; ++y) tuples.push_back({x, 100 + y});
    return tuples;
  }
  static NumberRows boxes(std::uint64_t size) {
    NumberRows tuples;
    for (std::uint64_t x = 0; x < 4; ++x)
      for (std::uint64_t y = 0; y < size; ++y) tuples.push_back({x, 100 + y, x + y});
    return tuples;
  }

  std::map<std::string, NumberRows> facts_{
      {"one", {{1}}}, {"few", grid(9, 1)}, {"many", grid(300, 60)}, {"wide", boxes(400)}};
  Program program_;
  ProgramPlan plan_;
  const RulePlan* rule_ = nullptr;
  SetAccumulator scratch_;
  ValueDictionary dictionary_;
  NewValues values_{dictionary_};
  ExpressionEvaluator evaluator_{values_};
  std::vector<std::unique_ptr<Index>> indices_;
  std::deque<std::uint64_t> global_rows_;
  std::map<std::pair<RelationId, std::uint32_t>, std::vector<const Index*>> shards_;
};

TEST_F(PipelineShare, TheFirstScan) { expect_shared("p(x, y) :- many(x, y), x != y.\n"); }

TEST_F(PipelineShare, AScanBehindOneTuple) {
  expect_shared("p(x, z) :- one(z), many(x, _).\n");
  expect_shared("p(x + z, y) :- one(z), many(x, y).\n");
}

TEST_F(PipelineShare, WhatASearchFinds) {
  expect_shared("p(y, z) :- one(x), wide(x, y, z), z != 5.\n");
  expect_shared("p(y, z) :- wide(2, y, z), z != 7.\n");
}

// A row of one set, and a few rows of few: bindings are dealt.
TEST_F(PipelineShare, WhatIsMadeOfOneRow) {
  facts_["few"] = grid(4, 900);
  expect_shared("p(y + 1, z) :- one(x), few(x, y), wide(x, y, z).\n");
  expect_shared("p(y, z) :- few(2, y), z = y * 2.\n");
}

TEST_F(PipelineShare, SeveralStepsThatFindLittle) {
  // One row in the order of `y`: copies are dealt by the hashes of bindings, of which there must be
  // some for these to be even.
  facts_["few"] = grid(20, 1);
  expect_shared(
      "p(v, w) :- one(x), few(x, a), !few(x, 7), few(v, b), b <= a, few(w, c), c <= b.\n");
  expect_shared(
      "p(v, y) :- one(x), few(x, a), few(v, a), v != x, wide(v, y, _), v * y % 7 != x.\n");
}

TEST(OwnTurns, EachItemHasOneRank) {
  for (const std::uint64_t length : {1U, 5U, 16U}) {
    for (const bool shared : {false, true}) {
      ScanTurns turns;
      std::vector<int> taken(400, 0);
      for (std::uint32_t rank = 0; rank < kSharers; ++rank) {
        OwnTurns own;
        own.begin({.ranks = kSharers, .rank = rank, .first = 7}, shared ? &turns : nullptr);
        own.set_length(length);
        std::uint64_t begin = 0;
        // Items come in parts of any length.
        for (std::uint64_t items = 0; begin < taken.size(); items = (items * 7 + 3) % 41) {
          const std::uint64_t here = std::min<std::uint64_t>(items, taken.size() - begin);
          ASSERT_TRUE(own.take(here,
                               [&](std::uint64_t from, std::uint64_t to) -> Status {
                                 EXPECT_LT(from, to);
                                 EXPECT_LE(to, here);
                                 for (std::uint64_t i = from; i < to; ++i) ++taken[begin + i];
                                 return {};
                               })
                          .is_ok());
          begin += here;
        }
      }
      EXPECT_TRUE(std::ranges::all_of(taken, [](int times) { return times == 1; })) << length;
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
