// SPDX-License-Identifier: Apache-2.0
// TupleMail under sim_run: random traffic of tuples and sets arrives once, in rank order, in one
// round or in many, also at ranks that send or get nothing; failures of a handler end the same
// everywhere.
#include "route/tuple_mail.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <vector>

#include "model/set_walk.h"
#include "route/cell_hash.h"

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;

// Everything that arrived, as plain tuples per stream, and the senders in the order of arrival.
struct Arrivals {
  std::vector<std::vector<Tuple>> tuples;
  std::vector<int> senders;

  explicit Arrivals(std::size_t streams) : tuples(streams) {}

  MailHandler handler() {
    return {.on_run =
                [this](const MailRun& run) {
                  senders.push_back(run.sender);
                  for (std::uint64_t i = 0; i < run.count; ++i) {
                    const auto cells = run.cells.subspan(i * run.arity, run.arity);
                    into(run.stream).emplace_back(cells.begin(), cells.end());
                  }
                  return Status::ok();
                },
            .on_group =
                [this](const MailGroup& group) {
                  senders.push_back(group.sender);
                  std::uint64_t count = 0;
                  walk_set(group.group.set, [&](Cell last) {
                    Tuple tuple(group.group.prefix.begin(), group.group.prefix.end());
                    tuple.push_back(last);
                    into(group.stream).push_back(std::move(tuple));
                    ++count;
                  });
                  return count == group.group.set.count ? Status::ok()
                                                        : Status::internal("wrong element count");
                }};
  }
  std::vector<Tuple>& into(int stream) { return tuples[static_cast<std::size_t>(stream)]; }
};

const std::vector<std::uint32_t> kMailArities{2, 0, 1, 5, 3};
constexpr int kStreams = 5;

// What random traffic amounts to, per stream: the number of tuples and a sum of their hashes, which
// no order changes.
struct Digest {
  std::array<std::uint64_t, kStreams> counts{};
  std::array<std::uint64_t, kStreams> hashes{};

  void add(int stream, std::span<const Cell> prefix, std::span<const Cell> last) {
    std::uint64_t state = static_cast<std::uint64_t>(stream);
    for (const Cell cell : prefix) state = mix_cell(state, cell);
    for (const Cell cell : last) state = mix_cell(state, cell);
    ++counts[static_cast<std::size_t>(stream)];
    hashes[static_cast<std::size_t>(stream)] += finish_hash(state);
  }
  friend bool operator==(const Digest&, const Digest&) = default;
};

// Digests what arrives; notes the senders in the order of arrival.
MailHandler digesting(Digest& digest, std::vector<int>& senders) {
  return {.on_run =
              [&](const MailRun& run) {
                senders.push_back(run.sender);
                for (std::uint64_t i = 0; i < run.count; ++i)
                  digest.add(run.stream, run.cells.subspan(i * run.arity, run.arity), {});
                return Status::ok();
              },
          .on_group =
              [&](const MailGroup& group) {
                senders.push_back(group.sender);
                std::uint64_t count = 0;
                walk_set(group.group.set, [&](Cell last) {
                  digest.add(group.stream, group.group.prefix, std::span(&last, 1));
                  ++count;
                });
                return count == group.group.set.count ? Status::ok()
                                                      : Status::internal("wrong element count");
              }};
}

// A sorted set of a random shape: tiny, sparse, dense, clustered, or at the ends of the range.
std::vector<Cell> random_set(std::mt19937_64& random) {
  const std::size_t count = random() % 16 == 0 ? 3000 + (random() % 20000) : random() % 60;
  const std::uint64_t span =
      std::array<std::uint64_t, 4>{count + 1, 10 * count + 1, 70000, 0xffffffffU}[random() % 4];
  const std::uint64_t base = random() % (0x100000000U - span);
  std::vector<Cell> set;
  for (std::size_t i = 0; i < count; ++i)
    set.push_back(static_cast<Cell>(base + (random() % span)));
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

// Generates what rank `from` sends to everybody: into `mail` if that is me, and into the digest
// what is for `self`.
void post(int from, int ranks, int self, std::uint64_t seed, int items, TupleMail& mail,
          Digest& expected) {
  if (from % 3 == 1) return;  // sends nothing
  for (int i = 0; i < items; ++i) {
    // Each item has its own numbers, so that a rank makes only what concerns it.
    const std::array<Cell, 3> name{static_cast<Cell>(seed), static_cast<Cell>(from),
                                   static_cast<Cell>(i)};
    const std::uint64_t draw = hash_cells(name);
    const int to = static_cast<int>(scale_hash(draw, static_cast<std::uint32_t>(ranks)));
    if (to % 4 == 2 || (to != self && from != self)) continue;  // some get nothing
    std::mt19937_64 random(draw);
    const int stream = static_cast<int>(random() % kStreams);
    Tuple tuple(kMailArities[static_cast<std::size_t>(stream)]);
    for (Cell& cell : tuple) cell = static_cast<Cell>(random());
    if (tuple.empty() || random() % 4 != 0) {
      if (from == self) mail.append(to, stream, tuple);
      if (to == self) expected.add(stream, tuple, {});
      continue;
    }
    tuple.pop_back();
    const auto set = random_set(random);
    if (from == self) mail.append_set(to, stream, tuple, set);
    for (const Cell& last : set)
      if (to == self) expected.add(stream, tuple, std::span(&last, 1));
  }
}

Status run_traffic(Comm& comm, std::uint64_t seed, int items, const MailOptions& wishes,
                   std::uint64_t min_rounds) {
  MailOptions options = wishes;
  options.ranks = comm.size();
  options.self = comm.rank();
  options.arity_of_stream = kMailArities;
  TupleMail mail(options);
  for (std::uint64_t round = 0; round < 3; ++round) {
    Digest expected;
    for (int from = 0; from < comm.size(); ++from)
      post(from, comm.size(), comm.rank(), seed + round, items, mail, expected);
    const std::uint64_t before = mail.counters().rounds;
    Digest got;
    std::vector<int> senders;
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, digesting(got, senders)));
    const std::uint64_t rounds = mail.counters().rounds - before;
    if (min_rounds == 1 ? rounds != 1 : rounds < min_rounds)
      return Status::internal(fmt::format("{} rounds", rounds));
    if (min_rounds == 1 && !std::ranges::is_sorted(senders))
      return Status::internal("not in rank order");
    if (!mail.is_empty()) return Status::internal("not empty after the delivery");
    if (got != expected) return Status::internal("what arrived is not what was sent");
  }
  return Status::ok();
}

TEST(TupleMail, RandomTrafficArrivesInOneExchange) {
  for (const int ranks : {1, 2, 3, 7, 16}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Status status = sim_run(
          ranks, [&](Comm& comm) { return run_traffic(comm, seed, 400, MailOptions{}, 1); });
      EXPECT_TRUE(status.is_ok()) << ranks << " ranks, seed " << seed << ": " << status.to_string();
    }
  }
}

TEST(TupleMail, RandomTrafficArrivesInManySmallRounds) {
  for (const std::uint64_t part : {8U, 64U, 1000U, 5000U}) {
    const MailOptions small{.arity_of_stream = {}, .round_bytes = 1, .min_part_bytes = part};
    const Status status =
        sim_run(4, [&](Comm& comm) { return run_traffic(comm, 77, 300, small, 2); });
    EXPECT_TRUE(status.is_ok()) << part << " bytes a part: " << status.to_string();
  }
}

// As run_traffic, but what is worth a piece of `post_bytes` leaves before the delivery, and ranks
// look for pieces as they go.
Status run_posted_traffic(Comm& comm, std::uint64_t seed, const MailOptions& wishes) {
  MailOptions options = wishes;
  options.ranks = comm.size();
  options.self = comm.rank();
  options.arity_of_stream = kMailArities;
  TupleMail mail(options);
  TupleMail other(options);  // another mail may follow at once
  for (std::uint64_t round = 0; round < 4; ++round) {
    TupleMail& at_hand = round % 2 == 0 ? mail : other;
    Digest expected;
    Digest got;
    std::vector<int> senders;
    const MailHandler handler = digesting(got, senders);
    for (int from = 0; from < comm.size(); ++from) {
      post(from, comm.size(), comm.rank(), seed + round, 400, at_hand, expected);
      if (comm.rank() % 3 == 2 && round % 2 == 1) continue;  // some do not look
      STRATALOG_RETURN_IF_ERROR(at_hand.post_full(comm));
      STRATALOG_RETURN_IF_ERROR(at_hand.take_posted(comm, handler));
    }
    STRATALOG_RETURN_IF_ERROR(at_hand.deliver(comm, handler));
    if (!at_hand.is_empty()) return Status::internal("not empty after the delivery");
    if (got != expected) return Status::internal("what arrived is not what was sent");
  }
  const bool sends = comm.rank() % 3 != 1 && comm.size() > 1;
  if (sends != (mail.counters().posts > 0)) return Status::internal("posts of the wrong ranks");
  return Status::ok();
}

TEST(TupleMail, WhatIsPostedBeforeTheDeliveryArrivesOnce) {
  for (const int ranks : {1, 2, 3, 7, 16}) {
    for (const std::uint64_t bytes : {8U, 1000U, 8000U}) {
      const MailOptions whole{.arity_of_stream = {}, .post_bytes = bytes};
      const MailOptions cut{
          .arity_of_stream = {}, .round_bytes = 1, .min_part_bytes = 500, .post_bytes = bytes};
      for (const MailOptions& options : {whole, cut}) {
        const Status status =
            sim_run(ranks, [&](Comm& comm) { return run_posted_traffic(comm, bytes, options); });
        EXPECT_TRUE(status.is_ok())
            << ranks << " ranks, " << bytes << " bytes: " << status.to_string();
      }
    }
  }
}

TEST(TupleMail, LittleIsNotPosted) {
  const Status status = sim_run(2, [](Comm& comm) {
    TupleMail mail({.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {2}});
    Arrivals got(1);
    mail.append(1 - comm.rank(), 0, Tuple{1, 2});
    STRATALOG_RETURN_IF_ERROR(mail.post_full(comm));
    if (mail.counters().posts != 0) return Status::internal("posted");
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, got.handler()));
    return got.tuples[0] == std::vector<Tuple>{{1, 2}} ? Status::ok() : Status::internal("lost");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// Of many pieces that nobody takes some wait with the sender.
TEST(TupleMail, PiecesUnderWayAreBounded) {
  const Status status = sim_run(2, [](Comm& comm) {
    TupleMail mail(
        {.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {1}, .post_bytes = 64});
    std::uint64_t got = 0;
    const MailHandler handler{.on_run =
                                  [&](const MailRun& run) {
                                    got += run.count;
                                    return Status::ok();
                                  },
                              .on_group = {}};
    constexpr Cell kPosted = 100'000;
    if (comm.rank() == 0) {
      for (Cell cell = 0; cell < kPosted; ++cell) mail.append(1, 0, Tuple{cell});
      STRATALOG_RETURN_IF_ERROR(mail.post_full(comm));
      if (mail.counters().posts != kMostPostsUnderWay) return Status::internal("posts");
    }
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, handler));
    return got == (comm.rank() == 1 ? kPosted : 0) ? Status::ok() : Status::internal("lost");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(TupleMail, AnErrorWithWhatWasPostedIsOfAllRanks) {
  std::atomic<int> told = 0;
  const Status status = sim_run(3, [&](Comm& comm) {
    TupleMail mail(
        {.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {1}, .post_bytes = 64});
    const MailHandler handler{.on_run =
                                  [&](const MailRun&) {
                                    return comm.rank() == 1 ? Status::no_space("full")
                                                            : Status::ok();
                                  },
                              .on_group = {}};
    for (int turn = 0; turn < 3; ++turn) {
      for (Cell cell = 0; cell < 1000; ++cell) mail.append((comm.rank() + 1) % 3, 0, Tuple{cell});
      STRATALOG_RETURN_IF_ERROR(mail.post_full(comm));
      STRATALOG_RETURN_IF_ERROR(mail.take_posted(comm, handler));
      const Status verdict = mail.deliver(comm, handler);
      if (verdict.code() == StatusCode::kNoSpace) ++told;
    }
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(told, 9);
}

TEST(TupleMail, NobodySendsAnything) {
  const Status status = sim_run(5, [](Comm& comm) {
    TupleMail mail({.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {2}});
    Arrivals got(1);
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, got.handler()));
    return got.senders.empty() && mail.counters().bytes_sent == 0 ? Status::ok()
                                                                  : Status::internal("mail");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(TupleMail, ARankThatFillsUpDeliversInTheMiddleAndAllComeBack) {
  const Status status = sim_run(3, [](Comm& comm) {
    TupleMail mail({.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {1}});
    Arrivals got(1);
    int rounds = 0;
    for (Cell produced = 0;;) {
      // Rank r produces 4 r tuples for rank 0, at most 3 between two rounds.
      const Cell goal = 4 * static_cast<Cell>(comm.rank());
      for (int i = 0; i < 3 && produced < goal; ++i, ++produced)
        mail.append(0, 0, std::array<Cell, 1>{produced});
      STRATALOG_ASSIGN_OR_RETURN(
          const Outlook outlook,
          mail.deliver_round(comm, produced < goal ? Outlook::kMoreToCome : Outlook::kLast,
                             got.handler()));
      ++rounds;
      if (outlook == Outlook::kLast) break;
    }
    if (rounds != 3) return Status::internal(fmt::format("{} rounds", rounds));
    return got.into(0).size() == (comm.rank() == 0 ? 12U : 0U) ? Status::ok()
                                                               : Status::internal("lost tuples");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(TupleMail, ARankInTheMiddleOfItsWorkDeliversWhenItsBoxesAreFull) {
  constexpr std::uint64_t kFull = 1000;
  const Status status = sim_run(4, [](Comm& comm) {
    TupleMail mail(
        {.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {2}, .full_bytes = kFull});
    Arrivals got(1);
    // Rank 0 has nothing to send, the others have more and more.
    const Cell goal = 1000 * static_cast<Cell>(comm.rank());
    std::uint64_t most = 0;
    for (Cell i = 0; i < goal; ++i) {
      mail.append(static_cast<int>(i) % comm.size(), 0, std::array<Cell, 2>{goal, i});
      most = std::max(most, mail.waiting_bytes());
      STRATALOG_RETURN_IF_ERROR(mail.deliver_if_full(comm, 8, got.handler()));
    }
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, got.handler()));
    if (most > kFull + 8) return Status::internal(fmt::format("{} bytes waited", most));
    if (mail.counters().rounds < 3 * 8000 / kFull) return Status::internal("too few rounds");
    return got.into(0).size() == 1500 ? Status::ok() : Status::internal("lost tuples");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// What was appended is told as more than it is: the boxes are looked at before a round.
TEST(TupleMail, NoRoundForLittleMail) {
  const Status status = sim_run(2, [](Comm& comm) {
    TupleMail mail(
        {.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {1}, .full_bytes = 1 << 16});
    Arrivals got(1);
    for (Cell i = 0; i < 100; ++i) {
      mail.append(1 - comm.rank(), 0, std::array<Cell, 1>{i});
      STRATALOG_RETURN_IF_ERROR(mail.deliver_if_full(comm, 1 << 15, got.handler()));
    }
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, got.handler()));
    return mail.counters().rounds == 1 ? Status::ok() : Status::internal("more rounds than one");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

Status fail_on_rank_1(Comm& comm, MailAgreement agreement, std::array<Status, 3>& seen) {
  TupleMail mail({.ranks = comm.size(),
                  .self = comm.rank(),
                  .arity_of_stream = {1},
                  .round_bytes = 1,
                  .min_part_bytes = 64,
                  .agreement = agreement});
  for (int to = 0; to < comm.size(); ++to)
    for (Cell i = 0; i < 100; ++i) mail.append(to, 0, std::array<Cell, 1>{i});
  int calls = 0;
  const MailHandler handler{.on_run =
                                [&](const MailRun& run) {
                                  ++calls;
                                  if (comm.rank() == 1 && run.sender == 0)
                                    return Status::no_space("memory limit");
                                  return Status::ok();
                                },
                            .on_group = {}};
  seen[static_cast<std::size_t>(comm.rank())] = mail.deliver(comm, handler);
  if (comm.rank() == 1 && calls != 1) return Status::internal("called again after its error");
  // The mail works again afterwards.
  STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, handler));
  return mail.is_empty() ? Status::ok() : Status::internal("not empty");
}

TEST(TupleMail, AHandlersErrorEndsTheSameOnAllRanks) {
  std::array<Status, 3> seen;
  const Status status = sim_run(
      3, [&](Comm& comm) { return fail_on_rank_1(comm, MailAgreement::kInDelivery, seen); });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  for (const Status& verdict : seen)
    EXPECT_EQ(verdict.to_string(), "NoSpace: rank 1: memory limit");
}

TEST(TupleMail, OrIsLeftToTheCallersAgreement) {
  std::array<Status, 3> seen;
  const Status status =
      sim_run(3, [&](Comm& comm) { return fail_on_rank_1(comm, MailAgreement::kByCaller, seen); });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_TRUE(seen[0].is_ok());
  EXPECT_EQ(seen[1].to_string(), "NoSpace: memory limit");
  EXPECT_TRUE(seen[2].is_ok());
}

TEST(TupleMail, BulkSlotsAndReadyGroupsArriveAsAppended) {
  const auto comm = make_self_comm();
  TupleMail mail({.arity_of_stream = {2, 1}});
  mail.append_tuples(0, 0, std::array<Cell, 4>{1, 2, 3, 4});
  Cell* const slot = mail.append_slot(0, 0);
  slot[0] = 5;
  slot[1] = 6;
  const std::array<std::uint64_t, 2> words{5, 1};
  SetView bits{.kind = SetKind::kBitmap, .base = 64, .values = {}, .offsets = {}, .words = words};
  bits.count = 3;
  mail.append_group(0, 1, {.prefix = {}, .set = bits});
  EXPECT_FALSE(mail.is_empty());
  EXPECT_GT(mail.memory_bytes(), 0U);
  Arrivals got(2);
  ASSERT_TRUE(mail.deliver(*comm, got.handler()).is_ok());
  EXPECT_EQ(got.into(0), (std::vector<Tuple>{{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(got.into(1), (std::vector<Tuple>{{64}, {66}, {128}}));
  EXPECT_TRUE(mail.is_empty());
}

TEST(TupleMail, RefusesAnotherGroup) {
  const auto comm = make_self_comm();
  TupleMail mail({.ranks = 2, .self = 0, .arity_of_stream = {1}});
  EXPECT_EQ(mail.deliver(*comm, {}).code(), StatusCode::kInvalidArgument);
}

TEST(TupleMail, ManyVirtualRanksWithOneGiantSender) {
  const Status status = sim_run(64, [](Comm& comm) {
    TupleMail mail({.ranks = comm.size(), .self = comm.rank(), .arity_of_stream = {2}});
    if (comm.rank() == 5)
      for (Cell i = 0; i < 200000; ++i)
        mail.append(static_cast<int>(i % 64), 0, std::array<Cell, 2>{i, i * i});
    std::uint64_t sum = 0;
    const MailHandler handler{.on_run =
                                  [&](const MailRun& run) {
                                    for (std::uint64_t i = 0; i < run.count; ++i)
                                      sum += run.cells[2 * i];
                                    return Status::ok();
                                  },
                              .on_group = {}};
    STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, handler));
    STRATALOG_RETURN_IF_ERROR(comm.allreduce(std::span(&sum, 1), ReduceOp::kSum));
    return sum == 200000ULL * 199999 / 2 ? Status::ok() : Status::internal("sum");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// Each rank writes to few others in a round, in time to more than it keeps boxes for.
TEST(TupleMail, WhatARankKeepsGoesByThoseItWritesTo) {
  constexpr int kRanks = 700;
  constexpr int kRounds = 4;
  constexpr int kPartners = 100;
  const auto partner = [](int rank, int round, int i) {
    return (rank + 1 + (((round * kPartners) + i) * 13)) % kRanks;
  };
  const Status status = sim_run(kRanks, [&](Comm& comm) -> Status {
    TupleMail mail({.ranks = kRanks, .self = comm.rank(), .arity_of_stream = {2, 1}});
    std::uint64_t most_bytes = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kPartners; ++i) {
        const Cell cell = static_cast<Cell>(comm.rank());
        mail.append(partner(comm.rank(), round, i), 0, std::array<Cell, 2>{cell, cell + 1});
      }
      most_bytes = std::max(most_bytes, mail.memory_bytes());
      std::vector<int> senders;
      const MailHandler handler{.on_run =
                                    [&](const MailRun& run) {
                                      senders.push_back(run.sender);
                                      const auto sender = static_cast<Cell>(run.sender);
                                      return run.cells[0] == sender && run.cells[1] == sender + 1
                                                 ? Status::ok()
                                                 : Status::internal("another tuple");
                                    },
                                .on_group = {}};
      STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, handler));
      std::vector<int> expected;
      for (int rank = 0; rank < kRanks; ++rank)
        for (int i = 0; i < kPartners; ++i)
          if (partner(rank, round, i) == comm.rank()) expected.push_back(rank);
      if (senders != expected) return Status::internal("others than those who wrote");
      if (!mail.is_empty()) return Status::internal("something waits after the delivery");
    }
    // A box of a small run is 64 bytes; two rounds' partners may be open at once.
    return most_bytes < 3 * kPartners * 64 + 8192
               ? Status::ok()
               : Status::internal(fmt::format("keeps {} bytes", most_bytes));
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace stratalog
