// SPDX-License-Identifier: Apache-2.0
// PivotClosure against the naive closure: per-round counts, totals and deltas at every stop, any
// width, any dealing of blocks, masks, dense and sparse pivots, restarts on other ranks.
#include "datalog/pivot/pivot_closure.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "model/set_walk.h"
#include "unit/model/sample_sets.h"
#include "unit/pivot/naive_closure.h"

namespace stratalog {
namespace {

PivotClosureOptions with_width(RowWidth width) {
  PivotClosureOptions options;
  options.width = width;
  return options;
}

constexpr RowWidth kWidths[] = {RowWidth::kWords1, RowWidth::kWords2, RowWidth::kWords4,
                                RowWidth::kWords8};
enum class Pivots : std::uint8_t { kDense, kSparse };

PivotSpace space_of(const NaiveProblem& problem, Pivots pivots) {
  if (pivots == Pivots::kDense) return PivotSpace::dense(1000, problem.lanes).value();
  std::vector<Cell> cells;
  cells.reserve(problem.lanes);
  for (std::uint32_t lane = 0; lane < problem.lanes; ++lane) cells.push_back(7 + 3 * lane * lane);
  return PivotSpace::sparse(std::move(cells)).value();
}

// The ranks of one run, played one after another.
class Ranks {
 public:
  Ranks(const NaiveProblem& problem, Pivots pivots, RowWidth width, std::uint32_t ranks,
        SkewPolicy skew = SkewPolicy::kAutomatic) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      closures_.emplace_back(
          space_of(problem, pivots), problem.expander(), problem.members(),
          PivotClosureOptions{
              .width = width, .ownership = {.rank = rank, .ranks = ranks}, .skew = skew});
  }

  void seed(const NaiveProblem& problem) {
    for (PivotClosure& closure : closures_)
      for (const NaiveTuple& tuple : problem.seeds)
        ASSERT_TRUE(closure.seed(tuple.slot, tuple.lane).is_ok());
  }

  std::uint64_t absorb() {
    std::uint64_t added = 0;
    for (PivotClosure& closure : closures_) added += closure.absorb().value();
    return added;
  }

  // Appends per-round counts; returns whether all ranks are at their fixpoint.
  bool run(std::uint64_t rounds, std::vector<std::uint64_t>& counts) {
    const std::size_t before = counts.size();
    bool is_fixpoint = true;
    for (PivotClosure& closure : closures_) {
      const Result<RunReport> report =
          closure.run({.max_rounds = rounds, .stop = {}, .progress = {}});
      EXPECT_TRUE(report.is_ok()) << report.status().to_string();
      if (!report.is_ok()) return true;
      is_fixpoint = is_fixpoint && report.value().is_fixpoint;
      const std::vector<std::uint64_t>& rows = report.value().new_rows;
      if (counts.size() < before + rows.size()) counts.resize(before + rows.size(), 0);
      for (std::size_t i = 0; i < rows.size(); ++i) counts[before + i] += rows[i];
    }
    return is_fixpoint;
  }

  std::set<NaiveTuple> tuples(RelationVersion version) {
    std::set<NaiveTuple> all;
    for (PivotClosure& closure : closures_)
      EXPECT_TRUE(closure
                      .for_each_group(version,
                                      [&](SlotId slot, const SetView& pivots) {
                                        std::uint64_t walked = 0;
                                        walk_set(pivots, [&](Cell cell) {
                                          ++walked;
                                          const LaneId lane = closure.space().lane_of(cell);
                                          EXPECT_TRUE(all.insert({slot, lane}).second);
                                        });
                                        EXPECT_EQ(walked, pivots.count);
                                        return Status::ok();
                                      })
                      .is_ok());
    return all;
  }

  std::uint64_t counted(RelationVersion version) const {
    std::uint64_t rows = 0;
    for (const PivotClosure& closure : closures_)
      rows += version == RelationVersion::kTotal ? closure.row_count() : closure.delta_count();
    return rows;
  }

  // Every rank reads every group of `other`, as after a restart.
  void restore(Ranks& other) {
    for (const RelationVersion version : {RelationVersion::kTotal, RelationVersion::kDelta})
      for (PivotClosure& from : other.closures_)
        ASSERT_TRUE(from.for_each_group(version,
                                        [&](SlotId slot, const SetView& pivots) {
                                          for (PivotClosure& to : closures_)
                                            STRATALOG_RETURN_IF_ERROR(
                                                to.restore(slot, pivots, version));
                                          return Status::ok();
                                        })
                        .is_ok());
  }

  std::vector<PivotClosure>& closures() { return closures_; }

 private:
  std::vector<PivotClosure> closures_;
};

void expect_state(Ranks& ranks, const NaiveRound& expected) {
  EXPECT_EQ(ranks.tuples(RelationVersion::kTotal), expected.total);
  EXPECT_EQ(ranks.tuples(RelationVersion::kDelta), expected.delta);
  EXPECT_EQ(ranks.counted(RelationVersion::kTotal), expected.total.size());
  EXPECT_EQ(ranks.counted(RelationVersion::kDelta), expected.delta.size());
}

std::vector<std::uint64_t> new_rows_of(const std::vector<NaiveRound>& rounds) {
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 1; i < rounds.size(); ++i) counts.push_back(rounds[i].delta.size());
  return counts;
}

TEST(PivotClosure, EqualsTheNaiveClosureRoundByRound) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const RowWidth width : kWidths)
      for (const Pivots pivots : {Pivots::kDense, Pivots::kSparse}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " width " << words_per_row(width)
                                        << " sparse " << (pivots == Pivots::kSparse));
        const NaiveProblem problem = random_problem(seed, seed % 2 == 1);
        const std::vector<NaiveRound> rounds = naive_rounds(problem);
        Ranks ranks(problem, pivots, width, 1 + seed % 4);
        ranks.seed(problem);
        EXPECT_EQ(ranks.absorb(), rounds[0].delta.size());
        std::vector<std::uint64_t> counts;
        EXPECT_TRUE(ranks.run(~std::uint64_t{0}, counts));
        EXPECT_EQ(counts, new_rows_of(rounds));
        expect_state(ranks, rounds.back());
      }
}

TEST(PivotClosure, DelaysChangeNothingButTheWork) {
  NaiveProblem chain;
  chain.lanes = 600;
  chain.edges.resize(600);
  for (std::uint32_t v = 0; v + 1 < 600; ++v) {
    chain.edges[v].push_back({v + 1});
    chain.seeds.push_back({v + 1, v});
  }
  std::uint64_t operations[2] = {};
  for (const SkewPolicy skew : {SkewPolicy::kAutomatic, SkewPolicy::kNever}) {
    PivotClosureOptions options;
    options.skew = skew;
    PivotClosure closure(space_of(chain, Pivots::kDense), chain.expander(), chain.members(),
                         options);
    for (const NaiveTuple& seed : chain.seeds)
      ASSERT_TRUE(closure.seed(seed.slot, seed.lane).is_ok());
    const Result<RunReport> report = closure.run({});
    ASSERT_TRUE(report.is_ok());
    ASSERT_EQ(report.value().new_rows.size(), 599U);
    for (std::size_t i = 0; i < 599; ++i) EXPECT_EQ(report.value().new_rows[i], 598 - i);
    EXPECT_EQ(report.value().seeds, 599U);
    EXPECT_EQ(report.value().derivations, 599U * 598 / 2);
    operations[static_cast<int>(skew)] = report.value().row_operations;
  }
  EXPECT_LT(operations[0] * 50, operations[1]);
}

TEST(PivotClosure, StopsAtEveryRoundAndGoesOnElsewhere) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const NaiveProblem problem = random_problem(1000 + seed, seed % 2 == 1);
    const std::vector<NaiveRound> rounds = naive_rounds(problem);
    const RowWidth width = kWidths[seed % 4];
    const RowWidth other_width = kWidths[seed / 4 % 4];
    for (std::size_t stop = 0; stop < rounds.size(); stop += 1 + seed % 3) {
      SCOPED_TRACE(testing::Message() << "stop " << stop);
      const Pivots pivots = stop % 2 == 0 ? Pivots::kDense : Pivots::kSparse;
      Ranks first(problem, pivots, width, 1 + stop % 5);
      first.seed(problem);
      std::vector<std::uint64_t> counts;
      first.absorb();
      first.run(stop, counts);
      expect_state(first, rounds[stop]);
      Ranks second(problem, pivots, other_width, 1 + stop % 3);
      second.restore(first);
      expect_state(second, rounds[stop]);
      second.run(~std::uint64_t{0}, counts);
      EXPECT_EQ(counts, new_rows_of(rounds));
      expect_state(second, rounds.back());
    }
  }
}

TEST(PivotClosure, RunsInSlicesOfAnyLength) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::uint64_t slice : {1, 2, 7, 16, 17, 50}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " slice " << slice);
      const NaiveProblem problem = random_problem(2000 + seed, seed % 3 == 1);
      const std::vector<NaiveRound> rounds = naive_rounds(problem);
      Ranks ranks(problem, Pivots::kDense, kWidths[seed % 4], 1);
      ranks.seed(problem);
      ranks.absorb();
      std::vector<std::uint64_t> counts;
      while (!ranks.run(slice, counts))
        if (counts.size() < rounds.size()) expect_state(ranks, rounds[counts.size()]);
      EXPECT_EQ(counts, new_rows_of(rounds));
      expect_state(ranks, rounds.back());
    }
}

TEST(PivotClosure, TakesSeedsBetweenRounds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    NaiveProblem problem = random_problem(3000 + seed, false);
    const std::vector<NaiveTuple> all = problem.seeds;
    Ranks ranks(problem, Pivots::kDense, RowWidth::kWords2, 2);
    problem.seeds.resize(all.size() / 2);
    ranks.seed(problem);
    std::vector<std::uint64_t> counts;
    ranks.run(3, counts);
    problem.seeds = all;  // repeats the first half: harmless
    ranks.seed(problem);
    const std::uint64_t before = ranks.counted(RelationVersion::kTotal);
    const std::uint64_t added = ranks.absorb();
    EXPECT_EQ(ranks.counted(RelationVersion::kTotal), before + added);
    EXPECT_EQ(ranks.absorb(), 0U);
    ranks.run(~std::uint64_t{0}, counts);
    expect_state(ranks, naive_rounds(problem).back());
  }
}

TEST(PivotClosure, GathersTheBlocksOfASlot) {
  for (const Pivots pivots : {Pivots::kDense, Pivots::kSparse}) {
    const NaiveProblem problem = random_problem(4011, false);
    Ranks ranks(problem, pivots, RowWidth::kWords1, 2);
    ranks.seed(problem);
    std::vector<std::uint64_t> counts;
    ranks.run(~std::uint64_t{0}, counts);
    std::set<NaiveTuple> gathered;
    for (PivotClosure& closure : ranks.closures()) {
      std::int64_t last_slot = -1;
      ASSERT_TRUE(closure
                      .for_each_slot(RelationVersion::kTotal,
                                     [&](SlotId slot, std::span<const SetView> sets) {
                                       EXPECT_LT(last_slot, slot);
                                       last_slot = slot;
                                       std::int64_t last = -1;
                                       for (const SetView& set : sets)
                                         walk_set(set, [&](Cell cell) {
                                           EXPECT_LT(last, cell);
                                           last = cell;
                                           gathered.insert({slot, closure.space().lane_of(cell)});
                                         });
                                       return Status::ok();
                                     })
                      .is_ok());
      for (LaneId lane = 0; lane < problem.lanes; ++lane)
        for (SlotId slot = 0; slot < problem.edges.size(); ++slot)
          EXPECT_EQ(closure.contains(slot, lane),
                    gathered.contains({slot, lane}) &&
                        lane / 64 % 2 == &closure - ranks.closures().data());
    }
    EXPECT_EQ(gathered, naive_rounds(problem).back().total);
  }
}

TEST(PivotClosure, GathersChosenSlotsAndPivots) {
  std::size_t chosen = 0;
  for (std::uint64_t seed = 4012; seed < 4032; ++seed) {
    const Pivots pivots = seed % 2 == 0 ? Pivots::kDense : Pivots::kSparse;
    const NaiveProblem problem = random_problem(seed, false);
    Ranks ranks(problem, pivots, RowWidth::kWords2, 1);
    ranks.seed(problem);
    std::vector<std::uint64_t> counts;
    ranks.run(~std::uint64_t{0}, counts);
    PivotClosure& closure = ranks.closures().front();
    const PivotSpace& space = closure.space();
    const CellSet wanted({{.lowest = space.cell_of(1), .highest = space.cell_of(3)},
                          {.lowest = space.cell_of(problem.lanes / 2),
                           .highest = space.cell_of(problem.lanes / 2)}});
    std::set<NaiveTuple> gathered;
    const RowChoice choice{.is_wanted = [](SlotId slot) { return slot % 3 == 1; },
                           .pivots = &wanted};
    ASSERT_TRUE(
        closure.image(ImageRows::kTotal)
            .for_each_slot(
                static_cast<SlotId>(problem.edges.size()),
                [&](SlotId slot, std::span<const SetView> sets) {
                  EXPECT_FALSE(sets.empty());
                  for (const SetView& set : sets)
                    walk_set(set, [&](Cell cell) { gathered.insert({slot, space.lane_of(cell)}); });
                  return Status::ok();
                },
                choice)
            .is_ok());
    std::set<NaiveTuple> expected;
    const auto rounds = naive_rounds(problem);
    for (const NaiveTuple& tuple : rounds.back().total)
      if (tuple.slot % 3 == 1 && wanted.contains(space.cell_of(tuple.lane))) expected.insert(tuple);
    EXPECT_EQ(gathered, expected);
    chosen += expected.size();
  }
  EXPECT_GT(chosen, 100U);
}

TEST(PivotClosure, SeedsBySetAndByPivot) {
  const NaiveProblem problem = random_problem(5000, false);
  PivotClosure closure(space_of(problem, Pivots::kSparse), problem.expander(), problem.members(),
                       {});
  const std::vector<Cell> cells = {closure.space().cell_of(0), closure.space().cell_of(1)};
  ASSERT_TRUE(closure.seed(1, array_view(cells)).is_ok());
  const std::vector<SlotId> slots = {0, 1};
  ASSERT_TRUE(closure.seed_pivot(1, slots).is_ok());
  EXPECT_EQ(closure.absorb().value(), 3U);
  EXPECT_TRUE(closure.contains(1, 0));
  EXPECT_TRUE(closure.contains(1, 1));
  EXPECT_TRUE(closure.contains(0, 1));
  EXPECT_FALSE(closure.contains(0, 0));

  const std::vector<Cell> stranger = {8};
  const SetView bad = array_view(stranger);
  EXPECT_EQ(closure.seed(1, bad).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(closure.restore(1, bad, RelationVersion::kTotal).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(closure.seed(1, problem.lanes).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(closure.seed_pivot(problem.lanes, slots).code(), StatusCode::kInvalidArgument);
}

TEST(PivotClosure, RanksWithoutBlocksAndEmptySpacesAreFine) {
  const NaiveProblem problem = random_problem(5001, false);
  PivotClosureOptions options;
  options.ownership = {.rank = 5, .ranks = 6};
  PivotClosure idle(space_of(problem, Pivots::kDense), problem.expander(), problem.members(),
                    options);
  for (const NaiveTuple& seed : problem.seeds) ASSERT_TRUE(idle.seed(seed.slot, seed.lane).is_ok());
  EXPECT_EQ(idle.owned_blocks(), 0U);
  const Result<RunReport> report = idle.run({});
  ASSERT_TRUE(report.is_ok());
  EXPECT_TRUE(report.value().is_fixpoint);
  EXPECT_TRUE(report.value().new_rows.empty());

  PivotClosure empty(PivotSpace(), problem.expander(), problem.members(), {});
  EXPECT_TRUE(empty.run({}).value().is_fixpoint);
  EXPECT_EQ(empty.row_count(), 0U);
  EXPECT_FALSE(empty.contains(0, 0));
}

TEST(PivotClosure, AsksForTheEdgesOfASlotOnce) {
  const NaiveProblem problem = random_problem(5003, true);
  std::vector<int> asked(problem.edges.size(), 0);
  const ExpandSlots inner = problem.expander();
  PivotClosure closure(
      space_of(problem, Pivots::kDense),
      [&](std::span<const SlotId> batch, EdgeSink& sink) {
        for (const SlotId slot : batch) ++asked[slot];
        return inner(batch, sink);
      },
      problem.members(), with_width(RowWidth::kWords1));
  for (const NaiveTuple& seed : problem.seeds)
    ASSERT_TRUE(closure.seed(seed.slot, seed.lane).is_ok());
  while (!closure.run({.max_rounds = 1, .stop = {}, .progress = {}}).value().is_fixpoint) {
  }
  for (const int times : asked) EXPECT_LE(times, 1);
}

// A counter that never ends by itself: p(x, n + 1) :- p(x, n), !stop(x, n + 1).
void expect_an_end(MaskSense sense, SlotId furthest_expected) {
  SlotId furthest = 0;
  PivotClosure closure(
      PivotSpace::dense(0, 10).value(),
      [&](std::span<const SlotId> batch, EdgeSink& sink) {
        for (std::uint32_t i = 0; i < batch.size(); ++i) {
          furthest = std::max(furthest, batch[i]);
          sink.add(i, batch[i] + 1, batch[i] + 1, sense);
        }
        return Status::ok();
      },
      [&](MaskId mask, std::vector<LaneId>& lanes) {
        for (LaneId lane = 0; lane < 10; ++lane)
          if ((mask > 100 + lane) == (sense == MaskSense::kDropMembers)) lanes.push_back(lane);
        return Status::ok();
      },
      {});
  for (LaneId lane = 0; lane < 10; ++lane) ASSERT_TRUE(closure.seed(0, lane).is_ok());
  const Result<RunReport> report = closure.run({});
  ASSERT_TRUE(report.is_ok());
  EXPECT_EQ(closure.row_count(), 10U * 101 + 45);
  EXPECT_LE(furthest, furthest_expected);
}

TEST(PivotClosure, FollowsEdgesThatFewPassOnlyAsFarAsTuplesGo) {
  expect_an_end(MaskSense::kKeepMembers, 109);
}

TEST(PivotClosure, FollowsEdgesThatMostPassSomewhatFurtherThanTuplesGo) {
  expect_an_end(MaskSense::kDropMembers, 40000);
}

TEST(PivotClosure, EndlessRecursionStopsAtTheRoundAskedFor) {
  PivotClosure closure(PivotSpace::dense(0, 3).value(),
                       [](std::span<const SlotId> batch, EdgeSink& sink) {
                         for (std::uint32_t i = 0; i < batch.size(); ++i) sink.add(i, batch[i] + 1);
                         return Status::ok();
                       },
                       {}, {});
  ASSERT_TRUE(closure.seed(0, 0).is_ok());
  ASSERT_TRUE(closure.seed(5, 2).is_ok());
  const Result<RunReport> report = closure.run({.max_rounds = 40, .stop = {}, .progress = {}});
  ASSERT_TRUE(report.is_ok());
  EXPECT_EQ(report.value().new_rows, std::vector<std::uint64_t>(40, 2));
  EXPECT_FALSE(report.value().is_fixpoint);
  EXPECT_EQ(closure.delta_count(), 2U);
  EXPECT_TRUE(closure.contains(40, 0));
  EXPECT_TRUE(closure.contains(45, 2));
  EXPECT_FALSE(closure.contains(41, 0));
}

TEST(PivotClosure, ErrorsOfTheCallerComeBackAndTheRunGoesOn) {
  const NaiveProblem problem = random_problem(5003, true);
  const std::vector<NaiveRound> rounds = naive_rounds(problem);
  const ExpandSlots inner = problem.expander();
  int calls = 0;
  PivotClosure closure(
      space_of(problem, Pivots::kDense),
      [&](std::span<const SlotId> batch, EdgeSink& sink) -> Status {
        if (++calls % 2 == 0) return Status::io_error("the relation went away");
        return inner(batch, sink);
      },
      problem.members(), with_width(RowWidth::kWords1));
  for (const NaiveTuple& seed : problem.seeds)
    ASSERT_TRUE(closure.seed(seed.slot, seed.lane).is_ok());
  int failures = 0;
  Result<RunReport> report = closure.run({});
  for (; !report.is_ok(); report = closure.run({})) {
    EXPECT_EQ(report.status().code(), StatusCode::kIoError);
    EXPECT_FALSE(closure.is_between_rounds());
    ASSERT_LT(++failures, 1000);
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(report.value().new_rows, new_rows_of(rounds));
  EXPECT_EQ(closure.row_count(), rounds.back().total.size());
}

TEST(PivotClosure, StopAndMemoryLimitLeaveARunThatGoesOn) {
  const NaiveProblem problem = random_problem(5004, false);
  const std::vector<NaiveRound> rounds = naive_rounds(problem);
  PivotClosure closure(space_of(problem, Pivots::kDense), problem.expander(), problem.members(),
                       with_width(RowWidth::kWords1));
  for (const NaiveTuple& seed : problem.seeds)
    ASSERT_TRUE(closure.seed(seed.slot, seed.lane).is_ok());
  ASSERT_GT(closure.owned_blocks(), 1U);
  std::uint32_t told = 0;
  const RunOptions stop_after_one = {
      .stop = [&] { return told != 0; },
      .progress = [&](const BlockProgress& p) { told = p.blocks_done; }};
  EXPECT_EQ(closure.run(stop_after_one).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(told, 1U);
  const Result<RunReport> report = closure.run({});
  ASSERT_TRUE(report.is_ok());
  EXPECT_EQ(report.value().new_rows, new_rows_of(rounds));

  PivotClosureOptions options;
  options.memory_limit_bytes = 1000;
  PivotClosure small(space_of(problem, Pivots::kDense), problem.expander(), problem.members(),
                     options);
  for (const NaiveTuple& seed : problem.seeds)
    ASSERT_TRUE(small.seed(seed.slot, seed.lane).is_ok());
  const Status status = small.run({}).status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_NE(status.message().find("raise it (--memory-limit"), std::string::npos);
}

TEST(PivotClosure, AccountsForItsMemory) {
  const NaiveProblem problem = random_problem(5005, false);
  PivotClosure closure(space_of(problem, Pivots::kDense), problem.expander(), problem.members(),
                       {});
  for (const NaiveTuple& seed : problem.seeds)
    ASSERT_TRUE(closure.seed(seed.slot, seed.lane).is_ok());
  EXPECT_EQ(closure.resting_bytes(), 0U);
  ASSERT_TRUE(closure.run({}).is_ok());
  EXPECT_GT(closure.resting_bytes(), 0U);
  EXPECT_GT(closure.memory_bytes(), closure.resting_bytes());
}

TEST(PivotClosure, GoesOnAfterItGaveBackItsWorkspace) {
  for (const bool with_masks : {false, true}) {
    const NaiveProblem problem = random_problem(6006, with_masks);
    Ranks ranks(problem, Pivots::kDense, RowWidth::kWords8, 1);
    PivotClosure& closure = ranks.closures().front();
    std::vector<std::uint64_t> counts;
    ASSERT_TRUE(closure.seed(problem.seeds[0].slot, problem.seeds[0].lane).is_ok());
    ASSERT_TRUE(ranks.run(RunOptions::kNoLimit, counts));
    const std::uint64_t before = closure.memory_bytes();
    const std::set<NaiveTuple> tuples = ranks.tuples(RelationVersion::kTotal);
    closure.release_workspace();
    EXPECT_LT(closure.memory_bytes(), before);
    EXPECT_EQ(ranks.tuples(RelationVersion::kTotal), tuples);
    ranks.seed(problem);
    ASSERT_TRUE(ranks.run(RunOptions::kNoLimit, counts));
    EXPECT_EQ(ranks.tuples(RelationVersion::kTotal), naive_rounds(problem).back().total);
  }
}

}  // namespace
}  // namespace stratalog
