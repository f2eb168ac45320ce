// SPDX-License-Identifier: Apache-2.0
// CopyMail under sim_run: every rank gets the tuples of all, also those of ranks that have none, in
// one round or in many, and at 4,096 ranks; failures end the same everywhere.
#include "route/copy_mail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "model/set_walk.h"

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;
const std::vector<std::uint32_t> kCopyArities{2, 1, 3};

// What arrived, as (stream, cells).
struct CopiesSeen {
  std::vector<std::pair<int, Tuple>> tuples;
  std::uint64_t groups = 0;

  MailHandler handler() {
    return {.on_run =
                [this](const MailRun& run) {
                  for (std::uint64_t i = 0; i < run.count; ++i) {
                    const auto cells = run.cells.subspan(i * run.arity, run.arity);
                    tuples.emplace_back(run.stream, Tuple(cells.begin(), cells.end()));
                  }
                  return Status::ok();
                },
            .on_group =
                [this](const MailGroup& mail) {
                  ++groups;
                  walk_set(mail.group.set, [&](Cell last) {
                    Tuple tuple(mail.group.prefix.begin(), mail.group.prefix.end());
                    tuple.push_back(last);
                    tuples.emplace_back(mail.stream, std::move(tuple));
                  });
                  return Status::ok();
                }};
  }
  std::vector<std::pair<int, Tuple>> sorted() {
    std::ranges::sort(tuples);
    return tuples;
  }
};

// Every third rank has nothing; the others have tuples in all streams, and sets, small and large.
void append_some(CopyMail& mail, int rank, std::vector<std::pair<int, Tuple>>& all) {
  if (rank % 3 == 2) return;
  const auto base = static_cast<Cell>(rank * 1000);
  const auto append = [&](int stream, const Tuple& tuple) {
    mail.append(stream, tuple);
    all.emplace_back(stream, tuple);
  };
  for (Cell i = 0; i < 20; ++i) {
    append(0, {base + i, i});
    append(1, {base + i});
    append(2, {i, base, base + i});
  }
  for (const Cell length : {Cell{1}, Cell{2}, Cell{50}}) {
    std::vector<Cell> values;
    for (Cell i = 0; i < length; ++i) values.push_back(base + (i * 7) + 500);
    const Tuple prefix{length, base + 1};
    SetView set;
    set.values = values;
    set.count = values.size();
    mail.append_group(2, {.prefix = prefix, .set = set});
    for (const Cell value : values) all.emplace_back(2, Tuple{length, base + 1, value});
  }
}

void expect_all_everywhere(int ranks, std::uint64_t round_bytes, std::uint64_t least_part_bytes) {
  std::vector<std::pair<int, Tuple>> all;
  {
    CopyMail nowhere({.ranks = ranks, .arity_of_stream = kCopyArities});
    for (int rank = 0; rank < ranks; ++rank) append_some(nowhere, rank, all);
  }
  std::ranges::sort(all);
  const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
    CopyMail mail({.ranks = ranks,
                   .arity_of_stream = kCopyArities,
                   .round_bytes = round_bytes,
                   .least_part_bytes = least_part_bytes});
    std::vector<std::pair<int, Tuple>> mine;
    append_some(mail, comm.rank(), mine);
    CopiesSeen seen;
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, seen.handler()));
    EXPECT_EQ(seen.sorted(), all);
    EXPECT_GT(seen.groups, 0);
    EXPECT_EQ(mail.bytes_sent() == 0, mine.empty() || ranks == 1);
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(CopyMail, EveryRankGetsWhatAllHave) {
  for (const int ranks : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(ranks);
    expect_all_everywhere(ranks, std::uint64_t{1} << 28, 4 << 10);
  }
}

TEST(CopyMail, InManyRoundsToo) {
  for (const int ranks : {1, 2, 7}) {
    SCOPED_TRACE(ranks);
    expect_all_everywhere(ranks, 1, 64);
  }
}

TEST(CopyMail, NobodyHasAnything) {
  EXPECT_TRUE(sim_run(3, [&](Comm& comm) -> Status {
                CopyMail mail({.ranks = 3, .arity_of_stream = kCopyArities});
                CopiesSeen seen;
                STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, seen.handler()));
                EXPECT_TRUE(seen.tuples.empty());
                return {};
              }).is_ok());
}

TEST(CopyMail, FourThousandRanksAreOneCall) {
  constexpr int kRanks = 4096;
  std::atomic<std::uint64_t> tuples{0};
  const Status status = sim_run(kRanks, [&](Comm& comm) -> Status {
    CopyMail mail({.ranks = kRanks, .arity_of_stream = {2}});
    if (comm.rank() % 1024 == 0) mail.append(0, Tuple{static_cast<Cell>(comm.rank()), 1});
    std::uint64_t seen = 0;
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, {.on_run =
                                                      [&](const MailRun& run) {
                                                        seen += run.count;
                                                        return Status::ok();
                                                      },
                                                  .on_group = {}}));
    tuples += seen;
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(tuples, std::uint64_t{kRanks} * (kRanks / 1024));
}

// A handler that fails on one rank, in the first of many rounds; a rank that could not append all.
TEST(CopyMail, AFailureOfOneRankIsEverybodysAfterTheLastRound) {
  for (const bool gives_up : {false, true}) {
    std::vector<Status> verdicts(4);
    const Status status = sim_run(4, [&](Comm& comm) -> Status {
      CopyMail mail(
          {.ranks = 4, .arity_of_stream = kCopyArities, .round_bytes = 1, .least_part_bytes = 64});
      std::vector<std::pair<int, Tuple>> mine;
      append_some(mail, comm.rank(), mine);
      if (gives_up && comm.rank() == 1) mail.give_up(Status::no_space("no memory for it"));
      CopiesSeen seen;
      MailHandler handler = seen.handler();
      std::uint64_t calls = 0;
      if (!gives_up && comm.rank() == 3)
        handler.on_run = [&](const MailRun&) {
          ++calls;
          return Status::io_error("the handler of rank 3");
        };
      const Status verdict = mail.deliver(comm, handler);
      verdicts[static_cast<std::size_t>(comm.rank())] = verdict;
      EXPECT_LE(calls, 1U);  // what comes after it is dropped
      // The group is in step, and the mail can be used again.
      STRATALOG_RETURN_IF_ERROR(comm.barrier());
      mail.append(1, Tuple{static_cast<Cell>(comm.rank())});
      CopiesSeen again;
      STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, again.handler()));
      EXPECT_EQ(again.tuples.size(), 4U);
      return {};
    });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    for (const Status& verdict : verdicts) {
      EXPECT_EQ(verdict.code(), gives_up ? StatusCode::kNoSpace : StatusCode::kIoError);
      EXPECT_NE(verdict.to_string().find(gives_up ? "no memory for it" : "the handler of rank 3"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace stratalog
