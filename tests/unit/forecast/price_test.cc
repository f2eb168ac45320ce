// SPDX-License-Identifier: Apache-2.0
// The file-system model by its laws: bytes over bandwidth where nothing else is in the way, never
// cheaper for more, bounded by the slowest of process, node and server, locks only where clients
// share a stripe.
#include "forecast/price.h"

#include <gtest/gtest.h>

#include "policy/byte_units.h"

namespace stratalog {
namespace {

// Rates that differ by powers of two, so that sums are exact; no fixed costs.
Machine plain() {
  Machine machine;
  machine.rank_write_rate = 1024;
  machine.rank_read_rate = 2048;
  machine.node_rate = 1U << 20;
  machine.server_rate = 1U << 20;
  machine.request_bytes = kMiB;
  machine.default_stripe_bytes = kMiB;
  return machine;
}

Steps write_of(int ranks, const std::vector<Transfer>& transfers, std::size_t files = 1) {
  Steps steps{.ranks = ranks, .files = {}, .steps = {}, .row_bytes = 0};
  steps.files.resize(files);
  steps.steps.push_back({.phase = Phase::kWrite, .kind = StepKind::kWrite, .transfers = transfers});
  return steps;
}

double seconds(const Steps& steps, const Machine& machine) { return price(steps, machine).total(); }

TEST(Price, OneRankAndOneServerTakeBytesOverBandwidth) {
  Machine machine = plain();
  EXPECT_EQ(seconds(write_of(1, {{.bytes = 4096}}), machine), 4.0);
  machine.server_rate = 512;  // now the server is the slowest
  EXPECT_EQ(seconds(write_of(1, {{.bytes = 4096}}), machine), 8.0);
  machine.node_rate = 256;
  EXPECT_EQ(seconds(write_of(1, {{.bytes = 4096}}), machine), 16.0);
  EXPECT_EQ(seconds(write_of(1, {}), machine), 0.0);
  EXPECT_EQ(seconds(write_of(1, {{.bytes = 0}}), machine), 0.0);
}

TEST(Price, MoreBytesNeverTakeLess) {
  Machine machine = plain();
  machine.servers = 3;
  machine.default_stripes = 2;
  machine.ranks_per_node = 2;
  machine.server_rate = 3000;
  machine.request_seconds = 0.25;
  machine.lock_seconds = 0.5;
  double before = 0;
  for (std::uint64_t bytes = 0; bytes < 5 * kMiB; bytes += 77777) {
    const double now = seconds(write_of(3, {{.rank = 0, .offset = 0, .bytes = bytes},
                                            {.rank = 1, .offset = bytes, .bytes = bytes},
                                            {.rank = 2, .offset = 2 * bytes, .bytes = 100}}),
                               machine);
    EXPECT_GE(now, before) << bytes;
    before = now;
  }
}

// No free lunch: however bytes are dealt, all servers and all ranks together bound the time.
TEST(Price, NothingBeatsAllServersOrAllRanksTogether) {
  Machine machine = plain();
  machine.servers = 4;
  machine.server_rate = 4096;
  machine.ranks_per_node = 4;
  for (const int ranks : {1, 2, 7, 64}) {
    std::vector<Transfer> transfers;
    std::uint64_t sum = 0;
    for (int r = 0; r < ranks; ++r) {
      const std::uint64_t bytes = 100000 + (static_cast<std::uint64_t>(r) * 7919 % 65536);
      transfers.push_back({.file = static_cast<std::uint32_t>(r), .rank = r, .bytes = bytes});
      sum += bytes;
    }
    const double took = seconds(write_of(ranks, transfers, transfers.size()), machine);
    EXPECT_GE(took, static_cast<double>(sum) / (4 * 4096.0));
    EXPECT_GE(took, static_cast<double>(sum) / (ranks * 1024.0));
  }
}

TEST(Price, LocksCostOnlyWhereClientsShareAStripe) {
  Machine machine = plain();
  machine.lock_seconds = 100;
  const auto locks = [&](const std::vector<Transfer>& transfers, std::size_t files = 1) {
    return price(write_of(4, transfers, files), machine).lock_moves;
  };
  // Neighbours that meet at a stripe's edge, or in two files.
  EXPECT_EQ(locks({{.rank = 0, .bytes = kMiB}, {.rank = 1, .offset = kMiB, .bytes = kMiB}}), 0U);
  EXPECT_EQ(locks({{.rank = 0, .bytes = 9}, {.file = 1, .rank = 1, .bytes = 9}}, 2), 0U);
  // One client twice in a stripe keeps its lock.
  EXPECT_EQ(locks({{.rank = 0, .bytes = 9}, {.rank = 0, .offset = 50, .bytes = 9}}), 0U);
  // One byte over the edge.
  EXPECT_EQ(locks({{.rank = 0, .bytes = kMiB + 1}, {.rank = 1, .offset = kMiB + 1, .bytes = 9}}),
            1U);
  EXPECT_EQ(locks({{.rank = 0, .bytes = 1},
                   {.rank = 1, .offset = 1, .bytes = 1},
                   {.rank = 2, .offset = 2, .bytes = 1},
                   {.rank = 3, .offset = 3, .bytes = 1}}),
            3U);
  // Readers share.
  Steps read = write_of(2, {{.rank = 0, .bytes = 9}, {.rank = 1, .offset = 9, .bytes = 9}});
  EXPECT_GE(seconds(read, machine), 100.0);
  read.steps[0].kind = StepKind::kRead;
  EXPECT_LT(seconds(read, machine), 1.0);
}

TEST(Price, StripesSpreadAFileOverServers) {
  Machine machine = plain();
  machine.servers = 8;
  machine.rank_write_rate = 1e12;
  machine.node_rate = 1e12;
  Steps steps = write_of(1, {{.bytes = 8 * kMiB}});
  const double narrow = seconds(steps, machine);
  steps.files[0] = {.count = 8, .bytes = kMiB};
  EXPECT_DOUBLE_EQ(seconds(steps, machine), narrow / 8);
  // More stripes than servers are as many as servers.
  steps.files[0] = {.count = 100, .bytes = kMiB};
  EXPECT_DOUBLE_EQ(seconds(steps, machine), narrow / 8);
}

TEST(Price, OperationsAddUp) {
  Machine machine = plain();
  machine.create_seconds = 1;
  machine.open_seconds = 2;
  machine.round_trip_seconds = 4;
  machine.message_seconds = 8;
  machine.exchange_rate = 16;
  machine.request_seconds = 32;
  machine.sync_seconds = 64;
  machine.pack_rate = 128;
  machine.deflate_rate = 256;
  const auto cost = [&](StepKind kind, std::uint64_t bytes, std::uint64_t count) {
    Steps steps{.ranks = 1000, .files = {}, .steps = {}, .row_bytes = 0};
    steps.steps.push_back({.kind = kind, .bytes = bytes, .count = count, .transfers = {}});
    return seconds(steps, machine);
  };
  EXPECT_EQ(cost(StepKind::kCreate, 0, 3), 7);
  EXPECT_EQ(cost(StepKind::kCreate, 0, 0), 0);
  EXPECT_EQ(cost(StepKind::kOpen, 0, 3), 10);
  EXPECT_EQ(cost(StepKind::kExchange, 32, 1), 10);
  EXPECT_EQ(cost(StepKind::kAgree, 0, 1), 80);  // 2^10 > 1000
  EXPECT_EQ(cost(StepKind::kSmallRequests, 0, 2), 64);
  EXPECT_EQ(cost(StepKind::kSync, 0, 0), 64);
  EXPECT_EQ(cost(StepKind::kPack, 256, 0), 2);
  EXPECT_EQ(cost(StepKind::kDeflate, 256, 0), 1);
}

TEST(Machine, WhatCannotBeIsNamed) {
  EXPECT_TRUE(check_machine(plain()).is_ok());
  for (const MachineField& field : machine_fields()) {
    Machine machine = plain();
    machine.*field.value = -1;
    const Status status = check_machine(machine);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.to_string().find(field.name), std::string::npos) << status.to_string();
  }
}

}  // namespace
}  // namespace stratalog
