// SPDX-License-Identifier: Apache-2.0
// TupleMail and CopyMail over real MPI: tuples and sets from every rank to every rank, in one round
// and in many, some ranks silent.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "model/set_walk.h"
#include "mpi/mpi_main.h"
#include "route/copy_mail.h"
#include "route/tuple_mail.h"

namespace stratalog {
namespace {

// Rank r sends to rank t: tuples (r, t, i) for i < 1000 * t, and the set {r, 2 r + 2, ...} below
// 5,000 under (t, 9). Returns how many of the expected tuples came; wrong ones make it fail.
std::uint64_t exchange_with_all(const MailOptions& wishes, std::uint64_t* rounds,
                                Comm& comm = mpi_test_world()) {
  MailOptions options = wishes;
  options.ranks = comm.size();
  options.self = comm.rank();
  options.arity_of_stream = {3, 3};
  TupleMail mail(options);
  const auto me = static_cast<Cell>(comm.rank());
  std::vector<Cell> set;
  for (Cell cell = me; cell < 5000; cell += me + 2) set.push_back(cell);
  for (int to = 0; to < comm.size() && comm.rank() != 2; ++to) {
    const auto there = static_cast<Cell>(to);
    for (Cell i = 0; i < 1000 * there; ++i) mail.append(to, 0, std::array<Cell, 3>{me, there, i});
    mail.append_set(to, 1, std::array<Cell, 2>{there, 9}, set);
  }
  std::uint64_t good = 0;
  const MailHandler handler{
      .on_run =
          [&](const MailRun& run) {
            for (std::uint64_t i = 0; i < run.count; ++i) {
              const auto tuple = run.cells.subspan(3 * i, 3);
              if (tuple[0] != static_cast<Cell>(run.sender) || tuple[1] != me)
                return Status::internal("a tuple of somebody else");
              ++good;
            }
            return Status::ok();
          },
      .on_group =
          [&](const MailGroup& group) {
            const auto from = static_cast<Cell>(group.sender);
            bool fits = group.group.prefix[0] == me && group.group.prefix[1] == 9;
            walk_set(group.group.set, [&](Cell cell) {
              fits = fits && cell >= from && (cell - from) % (from + 2) == 0;
              ++good;
            });
            return fits ? Status::ok() : Status::internal("a set of somebody else");
          }};
  const Status status = mail.deliver(comm, handler);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  *rounds = mail.counters().rounds;
  return good;
}

std::uint64_t expected_tuples() {
  const Comm& comm = mpi_test_world();
  std::uint64_t expected = 0;
  for (int from = 0; from < comm.size(); ++from) {
    if (from == 2) continue;
    expected += 1000 * static_cast<std::uint64_t>(comm.rank());
    const auto base = static_cast<std::uint64_t>(from);
    expected += ((5000 - base - 1) / (base + 2)) + 1;
  }
  return expected;
}

TEST(TupleMail, EverybodyGetsEverythingFromPartnersOnly) {
  const auto comm = duplicate_mpi_world({.sparse_from_ranks = 1});
  EXPECT_TRUE(comm.is_ok()) << comm.status().to_string();
  if (!comm.is_ok()) return;
  std::uint64_t rounds = 0;
  EXPECT_EQ(exchange_with_all({}, &rounds, *comm.value()), expected_tuples());
  EXPECT_EQ(rounds, 1U);
  EXPECT_EQ(exchange_with_all({.round_bytes = 1, .min_part_bytes = 4096}, &rounds, *comm.value()),
            expected_tuples());
}

TEST(TupleMail, EverybodyGetsEverythingInOneRound) {
  std::uint64_t rounds = 0;
  EXPECT_EQ(exchange_with_all({}, &rounds), expected_tuples());
  EXPECT_EQ(rounds, 1U);
}

TEST(TupleMail, EverybodyGetsEverythingInManyRounds) {
  std::uint64_t rounds = 0;
  EXPECT_EQ(
      exchange_with_all({.arity_of_stream = {}, .round_bytes = 1, .min_part_bytes = 500}, &rounds),
      expected_tuples());
  EXPECT_GE(rounds, mpi_test_world().size() > 1 ? 24U : 1U);
}

// Rank r has tuples (r, i) for i < 3000, but for rank 1; and all get all.
TEST(CopyMail, EverybodyGetsWhatAllHave) {
  Comm& comm = mpi_test_world();
  for (const std::uint64_t round_bytes : {std::uint64_t{1}, std::uint64_t{1} << 28U}) {
    CopyMail mail({.ranks = comm.size(), .arity_of_stream = {2}, .round_bytes = round_bytes});
    for (Cell i = 0; i < 3000 && comm.rank() != 1; ++i)
      mail.append(0, std::array<Cell, 2>{static_cast<Cell>(comm.rank()), i});
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(comm.size()), 0);
    const Status status = mail.deliver(comm, {.on_run =
                                                  [&](const MailRun& run) {
                                                    for (std::uint64_t i = 0; i < run.count; ++i)
                                                      sums.at(run.cells[2 * i]) +=
                                                          run.cells[(2 * i) + 1] + 1;
                                                    return Status::ok();
                                                  },
                                              .on_group = {}});
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    for (std::size_t r = 0; r < sums.size(); ++r) EXPECT_EQ(sums[r], r == 1 ? 0U : 4501500U) << r;
  }
}

}  // namespace
}  // namespace stratalog
