// SPDX-License-Identifier: Apache-2.0
// Closures of several threads over one graph, with landmarks in common: they sweep each other's
// blocks, stop in the midst and go on, and find what a naive evaluation finds.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <numeric>
#include <thread>

#include "datalog/pivot/pivot_closure.h"
#include "model/set_walk.h"
#include "unit/pivot/naive_closure.h"

namespace stratalog {
namespace {

std::shared_ptr<SlotGraph> closed_graph(const NaiveProblem& problem) {
  auto graph = std::make_shared<SlotGraph>(problem.expander());
  std::vector<SlotId> all(problem.edges.size());
  std::iota(all.begin(), all.end(), SlotId{0});
  graph->reserve_slot(all.back());
  EXPECT_TRUE(graph->expand(all).is_ok());
  EXPECT_TRUE(graph->is_closed());
  return graph;
}

// The closures of all threads, each with the seeds of its blocks.
std::vector<std::unique_ptr<PivotClosure>> shared_closures(const NaiveProblem& problem,
                                                           std::uint32_t threads) {
  const auto graph = closed_graph(problem);
  const auto landmarks = std::make_shared<Landmarks>();
  const auto space =
      std::make_shared<const PivotSpace>(PivotSpace::dense(0, problem.lanes).value());
  std::vector<std::unique_ptr<PivotClosure>> closures;
  for (std::uint32_t rank = 0; rank < threads; ++rank) {
    PivotClosureOptions options;
    options.width = RowWidth::kWords1;
    options.ownership = {.rank = rank, .ranks = threads};
    closures.push_back(
        std::make_unique<PivotClosure>(space, problem.expander(), problem.members(), options));
    closures.back()->adopt(graph, landmarks, rank == 0 ? Holding::kOwn : Holding::kBorrowed);
    for (const NaiveTuple& seed : problem.seeds)
      EXPECT_TRUE(closures.back()->seed(seed.slot, seed.lane).is_ok());
  }
  return closures;
}

struct Ended {
  Status status;
  RunReport report;
};

// `stop` is asked with the rank.
std::vector<Ended> run_on_threads(std::vector<std::unique_ptr<PivotClosure>>& closures,
                                  const std::function<bool(std::size_t)>& stop) {
  std::vector<Ended> ended(closures.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < closures.size(); ++rank)
    threads.emplace_back([&, rank] {
      std::vector<PivotClosure*> others;
      for (std::size_t r = 1; r < closures.size(); ++r)
        others.push_back(closures[(rank + r) % closures.size()].get());
      RunOptions options;
      options.stop = [&] { return stop(rank); };
      options.others = others;
      try {
        Result<RunReport> report = closures[rank]->run(options);
        if (report.is_ok())
          ended[rank].report = std::move(report).value();
        else
          ended[rank].status = report.status();
      } catch (const std::bad_alloc&) {
        ended[rank].status = Status::no_space("no memory");
      }
    });
  for (std::thread& thread : threads) thread.join();
  return ended;
}

void add_rows(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& rows) {
  if (sums.size() < rows.size()) sums.resize(rows.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) sums[i] += rows[i];
}

void expect_result(std::vector<std::unique_ptr<PivotClosure>>& closures,
                   const std::vector<NaiveRound>& rounds, std::vector<std::uint64_t> found) {
  std::set<NaiveTuple> total;
  std::uint64_t resting = 0;
  for (const auto& closure : closures) {
    EXPECT_EQ(closure->delta_count(), 0U);
    std::uint64_t rows = 0;
    EXPECT_TRUE(closure
                    ->for_each_group(RelationVersion::kTotal,
                                     [&](SlotId slot, const SetView& pivots) -> Status {
                                       walk_set(pivots, [&](Cell cell) {
                                         total.insert({slot, cell});
                                         ++rows;
                                       });
                                       return {};
                                     })
                    .is_ok());
    EXPECT_EQ(closure->row_count(), rows);
    resting += closure->resting_bytes();
    // What was swept by others is accounted for where it lies.
    EXPECT_GE(closure->resting_bytes(), rows == 0 ? 0U : 1U);
    EXPECT_LT(closure->resting_bytes(), std::uint64_t{1} << 32);
  }
  EXPECT_GT(resting, 0U);
  EXPECT_EQ(total, rounds.back().total);
  while (!found.empty() && found.back() == 0) found.pop_back();
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 1; i < rounds.size(); ++i) expected.push_back(rounds[i].delta.size());
  while (!expected.empty() && expected.back() == 0) expected.pop_back();
  EXPECT_EQ(found, expected);
}

// A problem all of whose work is in the blocks of rank 0.
NaiveProblem uneven_problem(std::uint32_t threads) {
  NaiveProblem problem;
  problem.lanes = 64 * threads * 12;
  constexpr SlotId kSlots = 600;
  problem.edges.resize(kSlots);
  for (SlotId v = 0; v + 1 < kSlots; ++v) {
    problem.edges[v].push_back({v + 1});
    if (v % 5 == 0) problem.edges[v].push_back({(v * 7 + 3) % kSlots});
  }
  for (LaneId lane = 0; lane < problem.lanes; lane += 9) {
    const bool is_first = (lane / 64) % threads == 0;
    problem.seeds.push_back({is_first ? lane % 300 : kSlots - 1, lane});
  }
  return problem;
}

TEST(SharedSweep, ThreadsThatHaveNothingLeftHelp) {
  for (const std::uint32_t threads : {2U, 3U}) {
    const NaiveProblem problem = uneven_problem(threads);
    const std::vector<NaiveRound> rounds = naive_rounds(problem);
    auto closures = shared_closures(problem, threads);
    // Rank 0 opens its run first, and then keeps its first block until the others have swept all
    // the rest.
    std::atomic<bool> is_open = false;
    std::atomic<std::uint32_t> asked = 0;
    const std::uint32_t blocks = 12 * threads;
    const std::vector<Ended> ended = run_on_threads(closures, [&](std::size_t rank) {
      if (rank == 0) is_open = true;
      while (!is_open) std::this_thread::yield();
      ++asked;
      while (rank == 0 && asked < blocks) std::this_thread::yield();
      return false;
    });
    std::vector<std::uint64_t> found;
    for (const Ended& each : ended) {
      EXPECT_TRUE(each.status.is_ok()) << each.status.to_string();
      EXPECT_TRUE(each.report.is_fixpoint);
      add_rows(found, each.report.new_rows);
    }
    std::uint64_t rounds_of_others = 0;
    for (std::size_t r = 1; r < ended.size(); ++r) rounds_of_others += ended[r].report.block_rounds;
    EXPECT_GT(rounds_of_others, 10 * ended[0].report.block_rounds);
    expect_result(closures, rounds, found);
  }
}

// What it had borrowed is given back, and nobody waits for it.
TEST(SharedSweep, AThreadWithoutMemoryLeavesTheOthersTheirBlocks) {
  const NaiveProblem problem = uneven_problem(2);
  const std::vector<NaiveRound> rounds = naive_rounds(problem);
  auto closures = shared_closures(problem, 2);
  const std::uint32_t own_blocks = closures[1]->owned_blocks();
  std::atomic<bool> is_open = false;
  std::atomic<bool> has_failed = false;
  std::atomic<std::uint32_t> asked = 0;
  const std::vector<Ended> ended = run_on_threads(closures, [&](std::size_t rank) {
    if (rank == 0) {
      is_open = true;
      while (!has_failed) std::this_thread::yield();
      return false;
    }
    while (!is_open) std::this_thread::yield();
    if (++asked <= own_blocks + 2) return false;
    has_failed = true;
    throw std::bad_alloc();
  });
  EXPECT_EQ(ended[1].status.code(), StatusCode::kNoSpace);
  ASSERT_TRUE(ended[0].status.is_ok()) << ended[0].status.to_string();
  // Rank 0 may have had nothing left when the block came back: it is swept in the next run.
  const Result<RunReport> rest = closures[0]->run({});
  ASSERT_TRUE(rest.is_ok()) << rest.status().to_string();
  EXPECT_TRUE(rest.value().is_fixpoint);
  EXPECT_EQ(closures[0]->delta_count() + closures[1]->delta_count(), 0U);
  EXPECT_EQ(closures[0]->row_count() + closures[1]->row_count(), rounds.back().total.size());
}

TEST(SharedSweep, RandomProblemsStoppedInTheMidst) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    NaiveProblem problem = random_problem(9000 + seed, false);
    if (problem.seeds.empty()) continue;
    // More lanes than blocks of one thread, so that there is something to borrow.
    const std::vector<NaiveTuple> seeds = problem.seeds;
    for (LaneId shift = 64 * 5; shift < 64 * 30; shift += 64 * 5)
      for (const NaiveTuple& one : seeds) problem.seeds.push_back({one.slot, one.lane + shift});
    problem.lanes += 64 * 30;
    const std::vector<NaiveRound> rounds = naive_rounds(problem);
    auto closures = shared_closures(problem, 2 + static_cast<std::uint32_t>(seed % 3));
    std::vector<std::uint64_t> found;
    std::atomic<int> asked = 0;
    bool is_done = false;
    for (int runs = 0; !is_done; ++runs) {
      ASSERT_LT(runs, 1000);
      is_done = true;
      for (const Ended& each :
           run_on_threads(closures, [&](std::size_t) { return asked.fetch_add(1) % 5 == 4; })) {
        if (each.status.is_ok()) {
          add_rows(found, each.report.new_rows);
        } else {
          EXPECT_EQ(each.status.code(), StatusCode::kCancelled) << each.status.to_string();
          is_done = false;
        }
      }
    }
    expect_result(closures, rounds, found);
  }
}

TEST(SharedSweep, WhatIsSharedCountsOnce) {
  const NaiveProblem problem = uneven_problem(2);
  auto closures = shared_closures(problem, 2);
  for (const auto& closure : closures) ASSERT_TRUE(closure->absorb().is_ok());
  EXPECT_GE(closures[0]->memory_bytes(), closures[1]->memory_bytes() +
                                             closures[0]->graph().memory_bytes() -
                                             problem.seeds.size() * sizeof(SlotBit));
  EXPECT_EQ(&closures[0]->graph(), &closures[1]->graph());
}

}  // namespace
}  // namespace stratalog
