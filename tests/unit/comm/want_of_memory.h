// SPDX-License-Identifier: Apache-2.0
// What collective calls do where one rank has no memory for what arrives: the same on all ranks,
// and the group goes on. For every implementation of Comm; failing_memory.h is in the program.
#pragma once

#include <optional>

#include "failing_memory.h"
#include "unit/comm/comm_contract.h"

namespace stratalog {

// `poor` has no room for a MiB. Collective.
inline Status check_want_of_memory(Comm& comm, int poor) {
  ContractLog log;
  const auto expect_refused = [&](const Status& status, const std::string& call) {
    log.expect(status.code() == StatusCode::kNoSpace,
               call + " where a rank has no memory: " + status.to_string());
    log.expect(status.message().find(fmt::format("rank {}: ", poor)) == 0,
               call + " does not name the rank: " + status.to_string());
    log.expect(comm.barrier(), "barrier after " + call);
  };
  constexpr std::size_t kMuch = std::size_t{2} << 20;
  const auto ranks = static_cast<std::size_t>(comm.size());
  const bool is_first = comm.rank() == 0;
  Bytes told(is_first ? kMuch : 0);
  const Bytes mine(kMuch);
  // Everybody has something for `poor` only.
  std::vector<std::uint64_t> counts(ranks, 0);
  counts[static_cast<std::size_t>(poor)] = kMuch;
  const auto without_memory = [&](auto&& call) {
    std::optional<FailingMemory> end;
    if (comm.rank() == poor) end.emplace(MemoryEnd{.bytes = std::size_t{1} << 20});
    return call();
  };
  if (poor != 0)
    expect_refused(without_memory([&] { return comm.broadcast(told, 0); }), "broadcast");
  expect_refused(without_memory([&] { return comm.exchange(mine, counts).status(); }), "exchange");
  expect_refused(without_memory([&] { return comm.allgather(mine).status(); }), "allgather");
  expect_refused(without_memory([&] { return comm.gather(mine, poor).status(); }), "gather");
  const Result<Received> after = comm.exchange(mine, counts);
  log.expect(after.status(), "exchange when there is memory again");
  if (after.is_ok())
    log.expect(after.value().data.size() == (comm.rank() == poor ? ranks * kMuch : 0),
               "what arrives then is all of it");
  return log.status();
}

}  // namespace stratalog
