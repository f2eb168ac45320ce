// SPDX-License-Identifier: Apache-2.0
// SafePointPoll: when ranks meet, that they all do at the same question, and that nobody waits for
// a rank that is still at work.
#include "datalog/evaluate/safe_point_poll.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace stratalog::datalog {
namespace {

using SummedPolls = SafePointPoll::Sums;
using Word = SafePointPoll::Word;

TEST(SafePointPoll, MeetsOnlyWhereThereIsSomethingToDo) {
  const auto meets = [](const SummedPolls& sums) { return SafePointPoll::must_meet(sums, 3); };
  EXPECT_FALSE(meets({.with_blocks = 3}));
  EXPECT_FALSE(meets({.with_blocks = 1}));
  EXPECT_TRUE(meets({.with_blocks = 0}));
  EXPECT_FALSE(meets({.reached = 2, .with_blocks = 3}));
  EXPECT_TRUE(meets({.reached = 3, .with_blocks = 1}));
  EXPECT_TRUE(meets({.needed = 1, .with_blocks = 3}));
  // A checkpoint is committed when the last rank has written.
  EXPECT_FALSE(meets({.with_blocks = 3, .saving = 3, .writing = 1}));
  EXPECT_TRUE(meets({.with_blocks = 3, .saving = 3, .writing = 0}));
}

constexpr int kNever = std::numeric_limits<int>::max();

// Each rank does `blocks[rank]` blocks, and is at a checkpoint after `due[rank]` of them; the last
// of several not before the first has gone on from its own.
std::vector<int> blocks_done(const std::vector<int>& blocks, const std::vector<int>& due) {
  std::vector<std::atomic<int>> done(blocks.size());
  const Status status = sim_run(static_cast<int>(blocks.size()), [&](Comm& comm) -> Status {
    const auto rank = static_cast<std::size_t>(comm.rank());
    SafePointPoll poll(comm, 0.0);
    const auto word = [&] {
      const bool has_blocks = done[rank] < blocks[rank];
      const bool may_reach = rank == 0 || rank + 1 < done.size() || done[0] > due[0];
      const bool is_due = done[rank] >= due[rank] && may_reach;
      return Word{.is_reached = is_due || !has_blocks, .has_blocks = has_blocks};
    };
    while (done[rank] < blocks[rank] && !poll.ask(word)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++done[rank];
    }
    STRATALOG_RETURN_IF_ERROR(poll.wait(word));
    return comm.barrier();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return {done.begin(), done.end()};
}

TEST(SafePointPoll, MeetsWhenTheLastRankIsThere) {
  const std::vector<int> done = blocks_done({kNever, kNever, kNever}, {3, 20, 40});
  EXPECT_GE(done[1], 20);
  EXPECT_GE(done[2], 40);
  // The first one went on meanwhile.
  EXPECT_GT(done[0], 3);
}

TEST(SafePointPoll, RanksWithoutWorkMeetTheOthersAtTheirEnd) {
  EXPECT_EQ(blocks_done({0, 7, 30}, {kNever, kNever, kNever}), (std::vector{0, 7, 30}));
  EXPECT_EQ(blocks_done({5}, {kNever}), std::vector{5});
}

TEST(SafePointPoll, OneRankAsksForAll) {
  std::atomic<int> most = 0;
  const Status status = sim_run(3, [&](Comm& comm) -> Status {
    SafePointPoll poll(comm, 0.0);
    int done = 0;
    const auto word = [&] { return Word{.wish = {.is_needed = comm.rank() == 1 && done >= 5}}; };
    while (!poll.ask(word)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++done;
    }
    if (done > most) most = done;
    STRATALOG_RETURN_IF_ERROR(poll.wait(word));
    return comm.barrier();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_GE(most, 5);
}

TEST(SafePointPoll, ARankThatLeavesIsAnError) {
  const Status status = sim_run(2, [](Comm& comm) -> Status {
    if (comm.rank() == 1) return Status::ok();
    SafePointPoll poll(comm, 0.0);
    return poll.wait([] { return Word(); });
  });
  EXPECT_EQ(status.code(), StatusCode::kRanksDisagree);
}

}  // namespace
}  // namespace stratalog::datalog
