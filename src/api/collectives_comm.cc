// SPDX-License-Identifier: Apache-2.0
#include "api/collectives_comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "comm/call_check.h"

namespace stratalog {
namespace {

stratalog_reduction reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return STRATALOG_SUM;
    case ReduceOp::kMin:
      return STRATALOG_MIN;
    case ReduceOp::kMax:
      return STRATALOG_MAX;
    case ReduceOp::kBitOr:
      break;
  }
  return STRATALOG_BIT_OR;
}

Status verdict(int code, const char* call) {
  if (code == 0) return Status::ok();
  return Status::io_error(
      fmt::format("the collective call {} that was handed to the library failed with {}; the ranks "
                  "can do nothing together any more",
                  call, code));
}

class CollectivesComm final : public Comm {
 public:
  explicit CollectivesComm(const stratalog_collectives& calls) : calls_(calls) {}

  int rank() const override { return calls_.rank; }
  int size() const override { return calls_.size; }

  Status barrier() override {
    std::uint64_t nothing = 0;
    return allreduce(std::span(&nothing, 1), ReduceOp::kSum);
  }

  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    if (values.empty()) return Status::ok();
    return verdict(calls_.allreduce(calls_.context, values.data(), values.size(), reduction_of(op)),
                   "allreduce");
  }

  Status broadcast(Bytes& data, int root) override {
    STRATALOG_RETURN_IF_ERROR(check_root(root, size()));
    std::uint64_t bytes = rank() == root ? data.size() : 0;
    STRATALOG_RETURN_IF_ERROR(allreduce(std::span(&bytes, 1), ReduceOp::kSum));
    data.resize(bytes);
    if (bytes == 0) return Status::ok();
    return verdict(calls_.broadcast(calls_.context, data.data(), bytes, root), "broadcast");
  }

  Result<Received> allgather(std::span<const std::byte> mine) override {
    Received all;
    all.counts.resize(ranks());
    all.counts[static_cast<std::size_t>(rank())] = mine.size();
    STRATALOG_RETURN_IF_ERROR(allreduce(all.counts, ReduceOp::kSum));
    all.data.resize(std::accumulate(all.counts.begin(), all.counts.end(), std::uint64_t{0}));
    if (all.data.empty()) return all;
    STRATALOG_RETURN_IF_ERROR(verdict(calls_.allgather(calls_.context, mine.data(), mine.size(),
                                                       all.data.data(), all.counts.data()),
                                      "allgather"));
    return all;
  }

  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    STRATALOG_RETURN_IF_ERROR(check_root(root, size()));
    std::vector<std::uint64_t> counts(ranks());
    counts[static_cast<std::size_t>(root)] = mine.size();
    STRATALOG_ASSIGN_OR_RETURN(Received all, exchange(mine, counts));
    return rank() == root ? std::move(all) : Received{};
  }

  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    // A rank whose call is refused must not leave the others waiting.
    const Status asked = check_exchange(data.size(), counts, size());
    const std::vector<std::uint64_t> nothing(ranks());
    const std::uint64_t* const out = asked.is_ok() ? counts.data() : nothing.data();
    const std::vector<std::uint64_t> words(ranks(), sizeof(std::uint64_t));
    Received in;
    in.counts.resize(ranks());
    STRATALOG_RETURN_IF_ERROR(
        verdict(calls_.alltoall(calls_.context, out, words.data(), in.counts.data(), words.data()),
                "alltoall"));
    in.data.resize(std::accumulate(in.counts.begin(), in.counts.end(), std::uint64_t{0}));
    STRATALOG_RETURN_IF_ERROR(
        verdict(calls_.alltoall(calls_.context, data.data(), out, in.data.data(), in.counts.data()),
                "alltoall"));
    STRATALOG_RETURN_IF_ERROR(asked);
    return in;
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(calls_.size); }

  stratalog_collectives calls_;
};

}  // namespace

Result<std::unique_ptr<Comm>> make_collectives_comm(const stratalog_collectives& collectives) {
  if (collectives.size < 1 || collectives.rank < 0 || collectives.rank >= collectives.size)
    return Status::invalid_argument(
        fmt::format("collectives: expected a rank from 0 to size - 1, found rank {} of {}",
                    collectives.rank, collectives.size));
  if (collectives.allreduce == nullptr || collectives.broadcast == nullptr ||
      collectives.allgather == nullptr || collectives.alltoall == nullptr)
    return Status::invalid_argument(
        "collectives: expected functions for allreduce, broadcast, allgather and alltoall");
  return std::unique_ptr<Comm>(std::make_unique<CollectivesComm>(collectives));
}

}  // namespace stratalog
