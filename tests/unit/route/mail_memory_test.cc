// SPDX-License-Identifier: Apache-2.0
// Mail where memory ends on one rank: while it packs, while mail arrives, while it is taken in. All
// ranks end with the same error, whether they are done or in the middle of their work, and the mail
// works again afterwards.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "failing_memory.h"
#include "route/copy_mail.h"
#include "route/tuple_mail.h"

namespace stratalog {
namespace {

constexpr std::size_t kMuch = std::size_t{1} << 20;
constexpr std::uint64_t kTuples = kMuch;  // of four bytes, to each rank

enum class End : std::uint8_t { kPacking, kReceiving, kTaking, kAppending };

MailHandler counting(std::uint64_t& count) {
  return {.on_run =
              [&count](const MailRun& run) {
                count += run.count;
                return Status::ok();
              },
          .on_group = [](const MailGroup&) { return Status::ok(); }};
}

// Appends, and delivers on the way where `is_full_at` says so.
Status append_all(Comm& comm, TupleMail& mail, const MailHandler& handler) {
  for (std::uint64_t t = 0; t < kTuples; ++t)
    for (int to = 0; to < comm.size(); ++to) {
      mail.append(to, 0, std::array<Cell, 1>{static_cast<Cell>(t)});
      STRATALOG_RETURN_IF_ERROR(mail.deliver_if_full(comm, sizeof(Cell), handler));
    }
  return Status::ok();
}

// On the poor rank.
Status deliver_poorly(Comm& comm, TupleMail& mail, End end) {
  std::uint64_t count = 0;
  MailHandler handler = counting(count);
  if (end == End::kTaking)
    handler.on_run = [](const MailRun&) -> Status { throw std::bad_alloc(); };
  const bool is_packing = end == End::kPacking;
  if (end == End::kTaking || end == End::kAppending) {
    const Status appended = append_all(comm, mail, handler);
    if (end == End::kAppending) mail.give_up(Status::no_space("while appending"));
    const Status delivered = mail.deliver(comm, handler);
    return appended.is_ok() ? delivered : appended;
  }
  STRATALOG_RETURN_IF_ERROR(append_all(comm, mail, handler));
  // The round is packed by realloc, what arrives is put into a vector.
  const FailingMemory none({.bytes = kMuch, .granted = is_packing || !kReallocFails ? 0U : 2U});
  return mail.deliver(comm, handler);
}

Status run_rank(Comm& comm, int poor, End end, std::uint64_t full_bytes,
                std::vector<Status>& seen) {
  TupleMail mail({.ranks = comm.size(),
                  .self = comm.rank(),
                  .arity_of_stream = {1},
                  .round_bytes = std::uint64_t{1} << 30U,
                  .full_bytes = full_bytes});
  std::uint64_t count = 0;
  const MailHandler handler = counting(count);
  Status mine;
  if (comm.rank() == poor) {
    mine = deliver_poorly(comm, mail, end);
  } else {
    const Status appended = append_all(comm, mail, handler);
    mine = mail.deliver(comm, handler);
    if (!appended.is_ok()) mine = appended;
  }
  seen[static_cast<std::size_t>(comm.rank())] = mine;
  // It works again, and nothing is left from before.
  count = 0;
  for (int to = 0; to < comm.size(); ++to) mail.append(to, 0, std::array<Cell, 1>{Cell{5}});
  STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, handler));
  return count == static_cast<std::uint64_t>(comm.size())
             ? Status::ok()
             : Status::internal("other mail arrives afterwards");
}

void expect_one_verdict(End end, std::uint64_t full_bytes) {
  for (const int poor : {0, 2}) {
    std::vector<Status> seen(3);
    const Status status =
        sim_run(3, [&](Comm& comm) { return run_rank(comm, poor, end, full_bytes, seen); });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    for (const Status& one : seen) {
      EXPECT_EQ(one.code(), StatusCode::kNoSpace);
      EXPECT_EQ(one.to_string(), seen[0].to_string());
    }
  }
}

constexpr std::uint64_t kAtTheEnd = ~std::uint64_t{0} / 2;
constexpr std::uint64_t kOnTheWay = std::uint64_t{3} << 20;

TEST(MailMemory, WhilePacking) { expect_one_verdict(End::kPacking, kAtTheEnd); }
TEST(MailMemory, WhileMailArrives) { expect_one_verdict(End::kReceiving, kAtTheEnd); }
TEST(MailMemory, WhileItIsTakenIn) {
  expect_one_verdict(End::kTaking, kAtTheEnd);
  expect_one_verdict(End::kTaking, kOnTheWay);
}
TEST(MailMemory, WhileAppending) {
  expect_one_verdict(End::kAppending, kAtTheEnd);
  expect_one_verdict(End::kAppending, kOnTheWay);
}

// The same of mail that all get.
Status deliver_copies(Comm& comm, int poor, End end, std::vector<Status>& seen) {
  CopyMail mail({.ranks = comm.size(), .arity_of_stream = {1}});
  std::uint64_t count = 0;
  MailHandler handler = counting(count);
  const auto me = static_cast<std::size_t>(comm.rank());
  for (std::uint64_t t = 0; t < kTuples; ++t)
    mail.append(0, std::array<Cell, 1>{static_cast<Cell>(t)});
  if (comm.rank() != poor) {
    seen[me] = mail.deliver(comm, handler);
  } else if (end == End::kTaking || end == End::kAppending) {
    if (end == End::kAppending) mail.give_up(Status::no_space("while appending"));
    if (end == End::kTaking)
      handler.on_run = [](const MailRun&) -> Status { throw std::bad_alloc(); };
    seen[me] = mail.deliver(comm, handler);
  } else {
    const FailingMemory none(
        {.bytes = kMuch, .granted = end == End::kPacking || !kReallocFails ? 0U : 1U});
    seen[me] = mail.deliver(comm, handler);
  }
  mail.append(0, std::array<Cell, 1>{Cell{5}});
  count = 0;
  handler = counting(count);
  STRATALOG_RETURN_IF_ERROR(mail.deliver(comm, handler));
  return count == static_cast<std::uint64_t>(comm.size())
             ? Status::ok()
             : Status::internal("other mail arrives afterwards");
}

TEST(MailMemory, OfMailThatAllGet) {
  for (const End end : {End::kPacking, End::kReceiving, End::kTaking, End::kAppending})
    for (const int poor : {0, 2}) {
      std::vector<Status> seen(3);
      const Status status =
          sim_run(3, [&](Comm& comm) { return deliver_copies(comm, poor, end, seen); });
      EXPECT_TRUE(status.is_ok()) << status.to_string();
      for (const Status& one : seen) {
        EXPECT_EQ(one.code(), StatusCode::kNoSpace);
        EXPECT_EQ(one.to_string(), seen[0].to_string());
      }
    }
}

}  // namespace
}  // namespace stratalog
