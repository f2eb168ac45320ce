// SPDX-License-Identifier: Apache-2.0
// Growth between checkpoints: after any sequence of rounds, acknowledged and failed checkpoints,
// the growth of a closure is what its last acknowledged image does not have, and images stay what
// they were while rounds go on.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "datalog/pivot/pivot_closure.h"
#include "model/set_walk.h"
#include "unit/pivot/naive_closure.h"

namespace stratalog {
namespace {

// From pivots to slots as bits, where every other place is a slot's, and slot 3 has none.
void expect_places(const PivotImage& image, const PivotSpace& space, const std::vector<Cell>& asked,
                   const std::set<NaiveTuple>& all) {
  constexpr std::uint32_t kPlaces = 1024;
  constexpr SlotId kSlots = kPlaces / 2;
  std::vector<std::uint32_t> of_slot(kSlots);
  for (SlotId slot = 0; slot < kSlots; ++slot)
    of_slot[slot] = slot == 3 ? SlotPlaces::kNowhere : (2 * (kSlots - 1 - slot)) + 1;
  std::set<NaiveTuple> found;
  const Status status = image.for_each_pivot(
      asked, {.of_slot = of_slot, .places = kPlaces},
      [&](std::size_t which, std::span<const std::uint64_t> places) {
        EXPECT_EQ(places.size() * 64, kPlaces);
        for (std::uint32_t place = 0; place < kPlaces; ++place)
          if ((places[place / 64] >> (place % 64) & 1U) != 0) {
            EXPECT_EQ(place % 2, 1U);
            EXPECT_TRUE(
                found.insert({kSlots - 1 - (place / 2), space.lane_of(asked[which])}).second);
          }
        return Status::ok();
      });
  EXPECT_TRUE(status.is_ok());
  std::set<NaiveTuple> expected;
  for (const NaiveTuple& tuple : all) {
    ASSERT_LT(tuple.slot, kSlots);
    if (tuple.slot != 3) expected.insert(tuple);
  }
  EXPECT_EQ(found, expected);
}

std::vector<std::uint16_t> positions_of(const BitRow& row) {
  const BitPositions bits(row.words);
  return {bits.all().begin(), bits.all().end()};
}

std::set<NaiveTuple> tuples_of(const PivotImage& image, const PivotSpace& space) {
  std::set<NaiveTuple> all;
  const Status status = image.for_each_group([&](SlotId slot, const SetView& pivots) {
    walk_set(pivots,
             [&](Cell cell) { EXPECT_TRUE(all.insert({slot, space.lane_of(cell)}).second); });
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(image.tuples(), all.size());
  // In batches it is the same, and equal contents are equal pivots.
  std::set<NaiveTuple> batched;
  std::map<std::uint64_t, std::vector<Cell>> pivots_of;
  const Status again = image.for_each_batch([&](const SlotBatch& batch) {
    EXPECT_LE(batch.slots.size(), PivotImage::kMostInBatch);
    std::size_t slot = 0;
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      std::vector<Cell> cells;
      walk_set(batch.pivots.set(i), [&](Cell cell) { cells.push_back(cell); });
      for (std::uint32_t n = 0; n < batch.lengths[i]; ++n, ++slot)
        for (const Cell cell : cells)
          EXPECT_TRUE(batched.insert({batch.slots[slot], space.lane_of(cell)}).second);
      // As bits it is the same.
      const BitRow row = batch.pivots.row(i);
      std::vector<Cell> from_bits;
      for (const std::uint16_t bit : positions_of(row)) from_bits.push_back(row.cells[bit]);
      EXPECT_EQ(from_bits, cells);
      if (batch.contents[i] != 0) {
        EXPECT_EQ(pivots_of.try_emplace(batch.contents[i], cells).first->second, cells);
      }
    }
    EXPECT_EQ(slot, batch.slots.size());
    return Status::ok();
  });
  EXPECT_TRUE(again.is_ok());
  EXPECT_EQ(batched, all);
  // So it is from pivots to slots.
  std::set<NaiveTuple> by_pivot;
  std::vector<Cell> asked;
  if (space.lane_of(17) == space.lanes()) asked.push_back(17);  // no pivot
  for (LaneId lane = space.lanes(); lane-- > 0;) asked.push_back(space.cell_of(lane));
  EXPECT_TRUE(image
                  .for_each_pivot(asked,
                                  [&](std::size_t which, std::span<const SlotId> slots) {
                                    const LaneId lane = space.lane_of(asked[which]);
                                    EXPECT_FALSE(slots.empty());
                                    for (const SlotId slot : slots)
                                      EXPECT_TRUE(by_pivot.insert({slot, lane}).second);
                                    return Status::ok();
                                  })
                  .is_ok());
  EXPECT_EQ(by_pivot, all);
  expect_places(image, space, asked, all);
  for (const NaiveTuple& tuple : all) {
    EXPECT_TRUE(image.holds(tuple.slot, space.cell_of(tuple.lane)));
    EXPECT_EQ(image.holds(tuple.slot + 1, space.cell_of(tuple.lane)),
              all.contains({tuple.slot + 1, tuple.lane}));
  }
  return all;
}

std::set<NaiveTuple> minus(const std::set<NaiveTuple>& all, const std::set<NaiveTuple>& known) {
  std::set<NaiveTuple> rest;
  for (const NaiveTuple& tuple : all)
    if (!known.contains(tuple)) rest.insert(tuple);
  return rest;
}

TEST(PivotGrowth, IsWhatTheLastAcknowledgedImageDoesNotHave) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const NaiveProblem problem = random_problem(seed, seed % 2 == 1);
    const std::vector<NaiveRound> rounds = naive_rounds(problem);
    const RowWidth width = seed % 3 == 0 ? RowWidth::kWords1 : RowWidth::kWords8;
    PivotClosure closure(PivotSpace::dense(1000, problem.lanes).value(), problem.expander(),
                         problem.members(), {.width = width, .ownership = {}});
    for (const NaiveTuple& tuple : problem.seeds)
      ASSERT_TRUE(closure.seed(tuple.slot, tuple.lane).is_ok());
    ASSERT_TRUE(closure.absorb().is_ok());
    std::set<NaiveTuple> saved;
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      if (round != 0) {
        ASSERT_TRUE(closure.run({.max_rounds = 1, .stop = {}, .progress = {}}).is_ok());
      }
      const std::set<NaiveTuple>& total = rounds[round].total;
      const PivotSpace& space = closure.space();
      closure.freeze();
      const PivotImage whole = closure.image(ImageRows::kTotal);
      const PivotImage growth = closure.image(ImageRows::kGrowth);
      ASSERT_EQ(tuples_of(whole, space), total) << round;
      ASSERT_EQ(tuples_of(growth, space), minus(total, saved)) << round;
      ASSERT_EQ(tuples_of(closure.image(ImageRows::kDelta), space), rounds[round].delta) << round;
      ASSERT_EQ(closure.row_count(), total.size());
      // The checkpoint is written while a round runs on a copy of everything but the rows.
      if ((seed + round) % 3 != 0) {
        closure.acknowledge();
        saved = total;
      }
      if ((seed + round) % 7 == 0 && seed % 4 == 0) {
        closure.forget_growth();
        saved.clear();
        ASSERT_EQ(tuples_of(whole, space), total) << "an image changed";
      }
    }
    EXPECT_EQ(closure.delta_count(), 0U);
  }
}

TEST(PivotGrowth, ImagesStayWhileRoundsGoOn) {
  const NaiveProblem problem = random_problem(5, false);
  const std::vector<NaiveRound> rounds = naive_rounds(problem);
  ASSERT_GT(rounds.size(), 3U);
  PivotClosure closure(PivotSpace::dense(0, problem.lanes).value(), problem.expander(),
                       problem.members(), {});
  for (const NaiveTuple& tuple : problem.seeds)
    ASSERT_TRUE(closure.seed(tuple.slot, tuple.lane).is_ok());
  ASSERT_TRUE(closure.run({.max_rounds = 1, .stop = {}, .progress = {}}).is_ok());
  closure.freeze();
  const PivotImage total = closure.image(ImageRows::kTotal);
  const PivotImage delta = closure.image(ImageRows::kDelta);
  ASSERT_TRUE(closure.run({.max_rounds = 2, .stop = {}, .progress = {}}).is_ok());
  EXPECT_EQ(tuples_of(total, closure.space()), rounds[1].total);
  EXPECT_EQ(tuples_of(delta, closure.space()), rounds[1].delta);
  closure.acknowledge();
  EXPECT_EQ(tuples_of(closure.image(ImageRows::kGrowth), closure.space()),
            minus(rounds[3].total, rounds[1].total));
  // A block at its fixpoint has nothing more to write.
  ASSERT_TRUE(closure.run({}).is_ok());
  closure.freeze();
  closure.acknowledge();
  EXPECT_EQ(closure.image(ImageRows::kGrowth).tuples(), 0U);
  EXPECT_EQ(tuples_of(closure.image(ImageRows::kTotal), closure.space()), rounds.back().total);
}

// While a block is swept it stands where it stood before: a checkpoint from within holds the rounds
// that blocks have done, is told apart from what comes later, and a run that ends there goes on.
TEST(PivotGrowth, ACheckpointWithinABlockFindsItAsItStood) {
  std::uint64_t pauses = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const NaiveProblem problem = random_problem(3000 + seed, seed % 2 == 1);
    const std::vector<NaiveRound> rounds = naive_rounds(problem);
    const RowWidth width = seed % 3 == 0 ? RowWidth::kWords1 : RowWidth::kWords8;
    PivotClosure closure(PivotSpace::dense(0, problem.lanes).value(), problem.expander(),
                         problem.members(), {.width = width, .ownership = {}});
    for (const NaiveTuple& tuple : problem.seeds)
      ASSERT_TRUE(closure.seed(tuple.slot, tuple.lane).is_ok());
    ASSERT_TRUE(closure.absorb().is_ok());
    const PivotSpace& space = closure.space();
    std::set<NaiveTuple> at_rest = tuples_of(closure.image(ImageRows::kTotal), space);
    std::set<NaiveTuple> delta = tuples_of(closure.image(ImageRows::kDelta), space);
    std::set<NaiveTuple> saved;
    std::uint64_t until_stop = 1 + seed % 5;
    RunOptions options;
    options.pause_operations = 1;
    options.progress = [&](const BlockProgress&) {
      at_rest = tuples_of(closure.image(ImageRows::kTotal), space);
      delta = tuples_of(closure.image(ImageRows::kDelta), space);
    };
    options.pause = [&]() -> Status {
      ++pauses;
      closure.freeze();
      const PivotImage whole = closure.image(ImageRows::kTotal);
      EXPECT_EQ(tuples_of(whole, space), at_rest);
      EXPECT_EQ(tuples_of(closure.image(ImageRows::kDelta), space), delta);
      EXPECT_EQ(tuples_of(closure.image(ImageRows::kGrowth), space), minus(at_rest, saved));
      EXPECT_EQ(closure.row_count(), at_rest.size());
      if (pauses % 3 != 0) {
        closure.acknowledge();
        saved = at_rest;
      }
      return --until_stop == 0 ? Status::cancelled("here") : Status::ok();
    };
    const Result<RunReport> stopped = closure.run(options);
    if (!stopped.is_ok()) {
      ASSERT_EQ(stopped.status().code(), StatusCode::kCancelled);
      EXPECT_EQ(tuples_of(closure.image(ImageRows::kTotal), space), at_rest);
      EXPECT_EQ(tuples_of(closure.image(ImageRows::kDelta), space), delta);
      const Result<RunReport> whole = closure.run(options);
      ASSERT_TRUE(whole.is_ok()) << whole.status().to_string();
      EXPECT_TRUE(whole.value().is_fixpoint);
    }
    EXPECT_EQ(tuples_of(closure.image(ImageRows::kTotal), space), rounds.back().total);
    EXPECT_EQ(tuples_of(closure.image(ImageRows::kGrowth), space),
              minus(rounds.back().total, saved));
  }
  EXPECT_GT(pauses, 100U);
}

}  // namespace
}  // namespace stratalog
