// SPDX-License-Identifier: Apache-2.0
// SimComm: ranks as threads of one process, which meet in a SimWorld. No MPI.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "base/memory_end.h"
#include "comm/call_check.h"
#include "comm/comm.h"
#include "comm/sim_nodes.h"
#include "comm/sim_world.h"

namespace stratalog {
namespace {

constexpr int kMaxRanks = 16384;

class SimReduction final : public ReductionUnderWay {
 public:
  SimReduction(SimWorld& world, int rank, std::shared_ptr<const SlowReduction> reduction)
      : world_(world), rank_(rank), reduction_(std::move(reduction)) {}

  Result<bool> is_done() override {
    if (!reduction_->is_done.load()) {
      // Or it never will be.
      if (world_.is_broken()) STRATALOG_RETURN_IF_ERROR(wait());
      return false;
    }
    STRATALOG_RETURN_IF_ERROR(world_.check(*reduction_));
    values_ = reduction_->values;
    return true;
  }
  Status wait() override {
    STRATALOG_RETURN_IF_ERROR(world_.wait_for(rank_, *reduction_));
    values_ = reduction_->values;
    return Status::ok();
  }

 private:
  SimWorld& world_;
  int rank_;
  std::shared_ptr<const SlowReduction> reduction_;
};

class SimComm final : public Comm {
 public:
  SimComm(SimWorld& world, int rank, int ranks_per_node, AddressSpace space)
      : world_(world), rank_(rank), ranks_per_node_(ranks_per_node), space_(space) {}

  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }
  bool shares_memory() const override { return space_ == AddressSpace::kShared; }

  bool can_give_up() const override { return true; }
  void give_up(const Status& why) override { world_.give_up(why); }
  void part(const Status& done) override { world_.part(rank_, done); }

  Status barrier() override {
    return world_.meet(rank_, {.name = "barrier"}, [](std::span<const SimCall* const>) {});
  }

  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    const SimCall call{.name = "allreduce",
                       .agreed_on = (values.size() << 8U) | static_cast<std::uint64_t>(op),
                       .words = values};
    return world_.meet(
        rank_, call,
        [&](std::span<const SimCall* const>) {
          std::ranges::copy(world_.reduced(), values.begin());
        },
        [&](std::span<const SimCall* const> calls) { world_.reduce(calls, op); });
  }

  Result<std::unique_ptr<ReductionUnderWay>> begin_allreduce(std::vector<std::uint64_t> values,
                                                             ReduceOp op) override {
    return std::unique_ptr<ReductionUnderWay>(
        std::make_unique<SimReduction>(world_, rank_, world_.begin_slowly(values, op)));
  }
  bool reduces_beside() const override { return true; }

  Status broadcast(Bytes& data, int root) override {
    const Status valid = check_root(root, size());
    Bytes received;
    const SimCall call{
        .name = "broadcast", .agreed_on = static_cast<std::uint64_t>(root), .data = data};
    STRATALOG_RETURN_IF_ERROR(world_.meet(rank_, call, [&](std::span<const SimCall* const> calls) {
      if (!valid.is_ok() || rank_ == root) return;
      const auto sent = calls[static_cast<std::size_t>(root)]->data;
      received.assign(sent.begin(), sent.end());
    }));
    STRATALOG_RETURN_IF_ERROR(valid);
    if (rank_ != root) data = std::move(received);
    return Status::ok();
  }

  Result<Received> allgather(std::span<const std::byte> mine) override {
    Received received;
    STRATALOG_RETURN_IF_ERROR(
        world_.meet(rank_, {.name = "allgather", .data = mine},
                    [&](std::span<const SimCall* const> calls) { collect(calls, received); }));
    return received;
  }

  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    const Status valid = check_root(root, size());
    Received received;
    const SimCall call{
        .name = "gather", .agreed_on = static_cast<std::uint64_t>(root), .data = mine};
    STRATALOG_RETURN_IF_ERROR(world_.meet(rank_, call, [&](std::span<const SimCall* const> calls) {
      if (rank_ == root) collect(calls, received);
    }));
    STRATALOG_RETURN_IF_ERROR(valid);
    if (rank_ != root) received.counts.assign(static_cast<std::size_t>(size()), 0);
    return received;
  }

  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    const Status valid = check_exchange(data.size(), counts, size());
    SimCall call{.name = "exchange", .data = data};
    call.offsets.assign(static_cast<std::size_t>(size()) + 1, 0);
    if (valid.is_ok()) std::partial_sum(counts.begin(), counts.end(), call.offsets.begin() + 1);
    Received received;
    STRATALOG_RETURN_IF_ERROR(world_.meet(rank_, call, [&](std::span<const SimCall* const> calls) {
      const auto me = static_cast<std::size_t>(rank_);
      std::uint64_t bytes = 0;
      for (const SimCall* sender : calls) bytes += sender->offsets[me + 1] - sender->offsets[me];
      received.data.reserve(bytes);
      for (const SimCall* sender : calls) {
        const std::uint64_t begin = sender->offsets[me];
        const std::uint64_t count = sender->offsets[me + 1] - begin;
        append(sender->data.subspan(begin, count), received);
      }
    }));
    STRATALOG_RETURN_IF_ERROR(valid);
    return received;
  }

  Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                           std::span<const Parcel> parcels) override {
    const Status valid = check_parcels(data.size(), parcels, size());
    SimCall call{.name = "exchange_parcels", .data = data};
    if (valid.is_ok()) call.parcels = parcels;
    ReceivedParcels received;
    STRATALOG_RETURN_IF_ERROR(world_.meet(
        rank_, call,
        [&](std::span<const SimCall* const>) {
          std::uint64_t bytes = 0;
          for (const LaidParcel& parcel : world_.parcels_for(rank_)) bytes += parcel.bytes.size();
          received.data.reserve(bytes);
          for (const auto& [sender, part] : world_.parcels_for(rank_)) {
            received.data.insert(received.data.end(), part.begin(), part.end());
            received.parcels.push_back({.rank = sender, .bytes = part.size()});
          }
        },
        [&](std::span<const SimCall* const> calls) { world_.sort_parcels(calls); }));
    STRATALOG_RETURN_IF_ERROR(valid);
    return received;
  }

  bool has_post() const override { return true; }
  bool may_post() override { return world_.may_post(rank_); }
  Status post(int to, Bytes data) override {
    STRATALOG_RETURN_IF_ERROR(check_root(to, size()));
    world_.post(rank_, to, std::move(data));
    return Status::ok();
  }
  Result<std::optional<Post>> take_post() override { return world_.take_post(rank_); }
  Result<Bytes> await_post(int sender) override {
    STRATALOG_RETURN_IF_ERROR(check_root(sender, size()));
    return world_.await_post(rank_, sender);
  }

  Result<Topology> topology() override { return uniform_topology(size(), ranks_per_node_); }

 private:
  static void append(std::span<const std::byte> part, Received& received) {
    received.data.insert(received.data.end(), part.begin(), part.end());
    received.counts.push_back(part.size());
  }

  static void collect(std::span<const SimCall* const> calls, Received& received) {
    std::uint64_t bytes = 0;
    for (const SimCall* call : calls) bytes += call->data.size();
    received.data.reserve(bytes);
    for (const SimCall* call : calls) append(call->data, received);
  }

  SimWorld& world_;
  int rank_;
  int ranks_per_node_;
  AddressSpace space_;
};

// agree()'s verdict over the ranks' results, but a rank that failed first speaks before those that
// only waited for it.
Status worst_of(const std::vector<Status>& results) {
  int worst = -1;
  const auto severity = [&](int r) {
    const StatusCode code = results[static_cast<std::size_t>(r)].code();
    if (code == StatusCode::kRanksDisagree) return 1;
    return code == StatusCode::kOk ? 0 : static_cast<int>(code) + 1;
  };
  for (int r = 0; r < static_cast<int>(results.size()); ++r)
    if (severity(r) > 0 && (worst < 0 || severity(r) > severity(worst))) worst = r;
  if (worst < 0) return Status::ok();
  const Status& status = results[static_cast<std::size_t>(worst)];
  if (status.message().starts_with("rank ")) return status;
  return status.with_context(fmt::format("rank {}", worst));
}

}  // namespace

Status sim_run(int ranks, const std::function<Status(Comm&)>& body, AddressSpace space) {
  return sim_run_on_nodes(ranks, std::max(1, ranks), body, space);
}

Status sim_run_on_nodes(int ranks, int ranks_per_node, const std::function<Status(Comm&)>& body,
                        AddressSpace space) {
  if (ranks_per_node < 1)
    return Status::invalid_argument(
        fmt::format("a node holds at least one rank, not {}", ranks_per_node));
  if (ranks < 1 || ranks > kMaxRanks)
    return Status::invalid_argument(
        fmt::format("sim_run can run 1 to {} ranks, not {}", kMaxRanks, ranks));
  SimWorld world(ranks, space);
  std::vector<Status> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  Status started;
  const auto run_rank = [&world, &body, &results, ranks_per_node, space](int r) {
    world.enter(r);
    SimComm comm(world, r, ranks_per_node, space);
    results[static_cast<std::size_t>(r)] =
        or_no_space("not enough memory", [&] { return body(comm); });
    world.leave(r);
  };
  world.enter(0);  // before the others look who is where
  for (int r = 1; r < ranks && started.is_ok(); ++r) {
    try {
      threads.emplace_back(run_rank, r);
    } catch (const std::system_error& error) {
      started = Status::internal(
          fmt::format("cannot start a thread for virtual rank {}: {}", r, error.what()));
      world.leave(r);
    }
  }
  // Rank 0 is the caller's thread; where not all could be started, it finds out at its first
  // meeting.
  run_rank(0);
  for (std::thread& thread : threads) thread.join();
  STRATALOG_RETURN_IF_ERROR(started);
  return worst_of(results);
}

}  // namespace stratalog
