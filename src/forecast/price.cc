// SPDX-License-Identifier: Apache-2.0
#include "forecast/price.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

namespace stratalog {
namespace {

// A file's stripes, and the server of each.
class Striping {
 public:
  Striping(const Steps& steps, std::uint32_t file, const Machine& machine) {
    const FileStripes& asked = steps.files[file];
    servers_ = static_cast<std::uint64_t>(machine.servers);
    const auto usual = static_cast<std::uint64_t>(machine.default_stripes);
    count_ = std::min(asked.count != 0 ? std::uint64_t{asked.count} : usual, servers_);
    bytes_ =
        asked.bytes != 0 ? asked.bytes : static_cast<std::uint64_t>(machine.default_stripe_bytes);
    // Files begin on servers in turn, which is what file systems aim at.
    first_ = file * count_ % servers_;
  }
  std::uint64_t bytes() const { return bytes_; }
  bool is_on_one_server() const { return count_ == 1; }
  std::uint64_t server_of(std::uint64_t stripe) const {
    return (first_ + stripe % count_) % servers_;
  }

 private:
  std::uint64_t servers_ = 1;
  std::uint64_t count_ = 1;
  std::uint64_t bytes_ = 1;
  std::uint64_t first_ = 0;
};

struct StripeClient {
  std::uint32_t file;
  std::uint64_t stripe;
  int rank;
  std::uint64_t server;

  auto key() const { return std::tie(file, stripe, rank); }
};

// What one step of transfers asks of everybody.
class Load {
 public:
  Load(const Steps& steps, const Machine& machine)
      : machine_(machine),
        ranks_(static_cast<std::size_t>(steps.ranks)),
        nodes_(static_cast<std::size_t>(std::ceil(steps.ranks / machine.ranks_per_node))),
        servers_(static_cast<std::size_t>(machine.servers)) {}

  void add(const Transfer& transfer, const Striping& striping, Price& price) {
    const auto bytes = static_cast<double>(transfer.bytes);
    ranks_[static_cast<std::size_t>(transfer.rank)] += bytes;
    nodes_[static_cast<std::size_t>(transfer.rank / machine_.ranks_per_node)] += bytes;
    const auto most = static_cast<std::uint64_t>(machine_.request_bytes);
    const std::uint64_t end = transfer.offset + transfer.bytes;
    for (std::uint64_t at = transfer.offset; at < end;) {
      const std::uint64_t stripe = at / striping.bytes();
      // Stripes that follow each other on one server are one run of bytes there.
      const std::uint64_t stop =
          striping.is_on_one_server() ? end : std::min(end, (stripe + 1) * striping.bytes());
      const std::uint64_t requests = (stop - at + most - 1) / most;
      servers_[striping.server_of(stripe)] +=
          static_cast<double>(stop - at) / machine_.server_rate +
          static_cast<double>(requests) * machine_.request_seconds;
      price.requests += requests;
      at = stop;
    }
    // Transfers are disjoint, so others can only be on its first and last stripe.
    const std::uint64_t first = transfer.offset / striping.bytes();
    const std::uint64_t last = (end - 1) / striping.bytes();
    clients_.push_back({transfer.file, first, transfer.rank, striping.server_of(first)});
    if (last != first)
      clients_.push_back({transfer.file, last, transfer.rank, striping.server_of(last)});
    price.moved_bytes += transfer.bytes;
  }

  void add_locks(Price& price) {
    std::sort(clients_.begin(), clients_.end(),
              [](const auto& a, const auto& b) { return a.key() < b.key(); });
    for (std::size_t i = 1; i < clients_.size(); ++i) {
      const StripeClient& a = clients_[i - 1];
      const StripeClient& b = clients_[i];
      if (a.file != b.file || a.stripe != b.stripe || a.rank == b.rank) continue;
      servers_[b.server] += machine_.lock_seconds;
      ++price.lock_moves;
    }
  }

  double seconds(double rank_rate) const {
    const auto most = [](const std::vector<double>& all) {
      return all.empty() ? 0.0 : *std::max_element(all.begin(), all.end());
    };
    return std::max({most(ranks_) / rank_rate, most(nodes_) / machine_.node_rate, most(servers_)});
  }

 private:
  const Machine& machine_;
  std::vector<double> ranks_;  // bytes
  std::vector<double> nodes_;  // bytes
  std::vector<double> servers_;  // seconds
  std::vector<StripeClient> clients_;
};

double transfer_seconds(const Steps& steps, const Step& step, const Machine& machine,
                        Price& price) {
  Load load(steps, machine);
  for (const Transfer& transfer : step.transfers)
    if (transfer.bytes != 0) load.add(transfer, Striping(steps, transfer.file, machine), price);
  // Readers share locks.
  if (step.kind == StepKind::kWrite) load.add_locks(price);
  return load.seconds(step.kind == StepKind::kWrite ? machine.rank_write_rate
                                                    : machine.rank_read_rate);
}

double seconds_of_step(const Steps& steps, const Step& step, const Machine& machine, Price& price) {
  const auto bytes = static_cast<double>(step.bytes);
  const auto count = static_cast<double>(step.count);
  switch (step.kind) {
    case StepKind::kPack:
      return bytes / machine.pack_rate;
    case StepKind::kDeflate:
      return bytes / machine.deflate_rate;
    case StepKind::kCreate:
      price.creates += step.count;
      return step.count == 0 ? 0 : machine.round_trip_seconds + count * machine.create_seconds;
    case StepKind::kOpen:
      price.opens += step.count;
      return step.count == 0 ? 0 : machine.round_trip_seconds + count * machine.open_seconds;
    case StepKind::kSmallRequests:
      return count * machine.request_seconds;
    case StepKind::kExchange:
      return bytes / machine.exchange_rate + count * machine.message_seconds;
    case StepKind::kAgree:
      return count * machine.message_seconds *
             std::bit_width(static_cast<unsigned>(steps.ranks) - 1);
    case StepKind::kWrite:
    case StepKind::kRead:
      return transfer_seconds(steps, step, machine, price);
    case StepKind::kSync:
      return machine.sync_seconds;
    case StepKind::kSetStripes:
      return count * machine.lfs_seconds;
  }
  return 0;
}

}  // namespace

double Price::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

Price price(const Steps& steps, const Machine& machine) {
  Price sum;
  for (const Step& step : steps.steps)
    sum.seconds[static_cast<std::size_t>(step.phase)] += seconds_of_step(steps, step, machine, sum);
  return sum;
}

}  // namespace stratalog
