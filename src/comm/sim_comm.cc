// SPDX-License-Identifier: Apache-2.0
// SimComm: ranks as threads of one process. Every collective is a meeting in two phases: all ranks
// lay down views of what they bring, then all read what they need and leave together, so that no
// view dies while it is read. Where there is a core for every rank, they look for the others for
// some microseconds before they sleep. A rank that has returned breaks all later meetings, and
// calls that do not match are refused on all ranks: what would hang or corrupt memory under MPI is
// an error here. No MPI.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "base/allowed_cores.h"
#include "base/memory_end.h"
#include "comm/bell.h"
#include "comm/call_check.h"
#include "comm/comm.h"
#include "comm/core_spread.h"
#include "comm/sim_nodes.h"
#include "comm/sim_posts.h"

namespace stratalog {
namespace {

constexpr int kMaxRanks = 16384;
// Before a rank sleeps; 200 to 400 microseconds. To be woken from sleep takes 50 and more, and
// small programs meet a hundred times in a few milliseconds.
constexpr int kLooks = 8000;

bool has_core_for_each(int ranks) { return static_cast<unsigned>(ranks) <= allowed_core_count(); }

// What one rank lays down in a meeting. The views belong to the caller and live until the meeting
// ends.
struct Call {
  const char* name = "";
  std::uint64_t agreed_on = 0;  // root, length or operation: must be equal on all ranks
  std::span<const std::byte> data = {};
  std::span<const std::uint64_t> words = {};
  std::vector<std::uint64_t> offsets = {};  // exchange: size() + 1 offsets into data
  std::span<const Parcel> parcels = {};  // of a sparse exchange
};

// A parcel for somebody, where its sender laid it down.
struct LaidParcel {
  int sender = 0;
  std::span<const std::byte> bytes;
};

std::uint64_t fold(std::uint64_t a, std::uint64_t b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kBitOr:
      return a | b;
  }
  return a;
}

// A reduction that ranks come to one after the other. Its result stays with those who have not read
// it when the next one has begun.
struct SlowReduction {
  std::vector<std::uint64_t> values;
  ReduceOp op = ReduceOp::kSum;
  int begun_by = 0;
  bool is_alike = true;  // lengths and operations
  std::atomic<bool> is_done = false;
};

class SimWorld {
 public:
  SimWorld(int ranks, AddressSpace space)
      : calls_(static_cast<std::size_t>(ranks)),
        posts_(ranks),
        bell_(has_core_for_each(ranks) ? kLooks : 0),
        spread_(ranks, space == AddressSpace::kShared ? CoreSpread::Use::kSpread
                                                      : CoreSpread::Use::kLeave) {}

  int size() const { return static_cast<int>(calls_.size()); }

  // Blocks until all ranks have laid down their calls, runs read(calls) on every rank, and returns
  // when all have read. Before anybody reads, the rank that comes last runs prepare(calls).
  template <typename Read, typename Prepare>
  Status meet(int rank, const Call& call, Read&& read, Prepare&& prepare);
  template <typename Read>
  Status meet(int rank, const Call& call, Read&& read) {
    return meet(rank, call, std::forward<Read>(read), [](std::span<const Call* const>) {});
  }
  // Of the current meeting: all ranks' words. Once for all, as each rank doing it for itself would
  // cost ranks times ranks.
  void reduce(std::span<const Call* const> calls, ReduceOp op);
  std::span<const std::uint64_t> reduced() const { return reduced_; }
  // Of the current meeting: all ranks' parcels by receiver, each in the order of the senders.
  void sort_parcels(std::span<const Call* const> calls);
  std::span<const LaidParcel> parcels_for(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return std::span(parcels_).subspan(first_parcel_[at],
                                       first_parcel_[at + 1] - first_parcel_[at]);
  }

  // Adds a rank's values to those of the ranks that came before.
  std::shared_ptr<const SlowReduction> begin_slowly(std::span<const std::uint64_t> values,
                                                    ReduceOp op);
  // Blocks until all ranks have begun it.
  Status wait_for(int rank, const SlowReduction& reduction);
  Status check(const SlowReduction& reduction) const;

  bool may_post(int rank) const { return posts_.may_post(rank); }
  void post(int from, int to, Bytes data) {
    posts_.post(from, to, std::move(data));
    bell_.ring();
  }
  std::optional<Post> take_post(int rank) { return posts_.take(rank); }
  // Blocks until there is one.
  Result<Bytes> await_post(int rank, int sender);

  // `rank` will call no more.
  void leave(int rank);
  bool is_broken() const { return left_.load() >= 0; }
  // On the thread of `rank`, before its first meeting.
  void enter(int rank) { spread_.settle(rank); }

 private:
  template <typename Done>
  void wait(int rank, Done&& done) {
    const auto cores = spread_.is_crowded(rank) ? Bell::Cores::kCrowded : Bell::Cores::kOwn;
    // Who was woken may be on another core now.
    if (bell_.wait(cores, std::forward<Done>(done))) spread_.settle(rank);
  }
  Status check_calls() const;
  Status broken_status(int rank, const Call& call) const;

  std::vector<const Call*> calls_;
  std::atomic<int> arrived_ = 0;
  std::atomic<int> reading_ = 0;
  std::atomic<std::uint64_t> meeting_ = 0;  // counts meetings that all ranks reached
  std::atomic<int> left_ = -1;  // the first rank that returned
  std::atomic<int> without_room_ = -1;  // a rank that had none for what arrived in this meeting
  Status verdict_;  // of the current meeting
  std::vector<std::uint64_t> reduced_;
  std::vector<LaidParcel> parcels_;
  std::vector<std::size_t> first_parcel_;  // by receiver, size() + 1
  std::mutex slow_mutex_;
  std::shared_ptr<SlowReduction> slow_;  // that some ranks have begun
  SimPosts posts_;
  Bell bell_;
  CoreSpread spread_;
};

Status SimWorld::check_calls() const {
  const Call& first = *calls_[0];
  for (int r = 1; r < size(); ++r) {
    const Call& other = *calls_[static_cast<std::size_t>(r)];
    if (std::strcmp(first.name, other.name) != 0)
      return Status::ranks_disagree(
          fmt::format("rank 0 calls {} while rank {} calls {}; all ranks must make the same "
                      "collective calls in "
                      "the same order",
                      first.name, r, other.name));
    if (first.agreed_on != other.agreed_on)
      return Status::ranks_disagree(fmt::format(
          "rank 0 and rank {} call {} with different roots, lengths or operations ({} and {})", r,
          first.name, first.agreed_on, other.agreed_on));
  }
  return Status::ok();
}

Status SimWorld::broken_status(int rank, const Call& call) const {
  return Status::ranks_disagree(fmt::format("rank {} waits in {}, but rank {} has already returned",
                                            rank, call.name, left_.load()));
}

void SimWorld::reduce(std::span<const Call* const> calls, ReduceOp op) {
  reduced_.assign(calls[0]->words.begin(), calls[0]->words.end());
  for (const Call* other : calls.subspan(1))
    for (std::size_t i = 0; i < reduced_.size(); ++i)
      reduced_[i] = fold(reduced_[i], other->words[i], op);
}

void SimWorld::sort_parcels(std::span<const Call* const> calls) {
  first_parcel_.assign(calls.size() + 1, 0);
  for (const Call* sender : calls)
    for (const Parcel& parcel : sender->parcels)
      ++first_parcel_[static_cast<std::size_t>(parcel.rank) + 1];
  std::partial_sum(first_parcel_.begin(), first_parcel_.end(), first_parcel_.begin());
  parcels_.resize(first_parcel_.back());
  std::vector<std::size_t> next = first_parcel_;
  for (std::size_t s = 0; s < calls.size(); ++s) {
    std::uint64_t from = 0;
    for (const Parcel& parcel : calls[s]->parcels) {
      parcels_[next[static_cast<std::size_t>(parcel.rank)]++] = {
          .sender = static_cast<int>(s), .bytes = calls[s]->data.subspan(from, parcel.bytes)};
      from += parcel.bytes;
    }
  }
}

template <typename Read, typename Prepare>
Status SimWorld::meet(int rank, const Call& call, Read&& read, Prepare&& prepare) {
  if (is_broken()) return broken_status(rank, call);
  spread_.settle(rank);
  const std::uint64_t mine = meeting_.load();
  calls_[static_cast<std::size_t>(rank)] = &call;
  if (arrived_.fetch_add(1) + 1 == size()) {
    arrived_.store(0);
    reading_.store(size());
    without_room_.store(-1);
    verdict_ = check_calls();
    if (verdict_.is_ok())
      verdict_ = or_no_space("not enough memory to reduce what ranks bring", [&] {
        prepare(std::span<const Call* const>(calls_));
        return Status::ok();
      });
    meeting_.store(mine + 1);
    bell_.ring();
  } else {
    wait(rank, [&] { return meeting_.load() != mine || is_broken(); });
    if (meeting_.load() == mine) return broken_status(rank, call);
  }
  Status verdict = verdict_;
  const Status arrived = or_no_space("", [&]() -> Status {
    if (verdict.is_ok()) read(std::span<const Call* const>(calls_));
    return Status::ok();
  });
  if (!arrived.is_ok()) without_room_.store(rank);
  // Nobody can leave or begin the next meeting in between: that takes all ranks, and each waits for
  // the last reader.
  if (reading_.fetch_sub(1) == 1)
    bell_.ring();
  else
    wait(rank, [&] { return reading_.load() == 0; });
  const int poor = without_room_.load();
  if (poor >= 0)
    return Status::no_space(fmt::format("rank {}: not enough memory for what others send", poor));
  return verdict;
}

std::shared_ptr<const SlowReduction> SimWorld::begin_slowly(std::span<const std::uint64_t> values,
                                                            ReduceOp op) {
  std::shared_ptr<SlowReduction> mine;
  bool is_last = false;
  {
    const std::lock_guard guard(slow_mutex_);
    if (!slow_) {
      slow_ = std::make_shared<SlowReduction>();
      slow_->values.assign(values.begin(), values.end());
      slow_->op = op;
    } else if (slow_->op != op || slow_->values.size() != values.size()) {
      slow_->is_alike = false;
    } else {
      for (std::size_t i = 0; i < values.size(); ++i)
        slow_->values[i] = fold(slow_->values[i], values[i], op);
    }
    mine = slow_;
    is_last = ++slow_->begun_by == size();
    if (is_last) slow_.reset();
  }
  if (is_last) {
    mine->is_done.store(true);
    bell_.ring();
  }
  return mine;
}

Status SimWorld::check(const SlowReduction& reduction) const {
  if (reduction.is_alike) return Status::ok();
  return Status::ranks_disagree(
      "ranks begin a reduction with different lengths or operations; all ranks must make the same "
      "collective calls in the same order");
}

Status SimWorld::wait_for(int rank, const SlowReduction& reduction) {
  wait(rank, [&] { return reduction.is_done.load() || is_broken(); });
  if (reduction.is_done.load()) return check(reduction);
  return broken_status(rank, {.name = "a reduction"});
}

Result<Bytes> SimWorld::await_post(int rank, int sender) {
  std::optional<Bytes> data;
  wait(rank, [&] {
    data = posts_.take_from(rank, sender);
    return data.has_value() || is_broken();
  });
  // It may have come before somebody left.
  if (!data) data = posts_.take_from(rank, sender);
  if (!data) return broken_status(rank, {.name = "await_post"});
  return std::move(*data);
}

void SimWorld::leave(int rank) {
  int nobody = -1;
  left_.compare_exchange_strong(nobody, rank);
  bell_.ring();
}

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

  Status barrier() override {
    return world_.meet(rank_, {.name = "barrier"}, [](std::span<const Call* const>) {});
  }

  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    const Call call{.name = "allreduce",
                    .agreed_on = (values.size() << 8U) | static_cast<std::uint64_t>(op),
                    .words = values};
    return world_.meet(
        rank_, call,
        [&](std::span<const Call* const>) { std::ranges::copy(world_.reduced(), values.begin()); },
        [&](std::span<const Call* const> calls) { world_.reduce(calls, op); });
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
    const Call call{
        .name = "broadcast", .agreed_on = static_cast<std::uint64_t>(root), .data = data};
    STRATALOG_RETURN_IF_ERROR(world_.meet(rank_, call, [&](std::span<const Call* const> calls) {
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
                    [&](std::span<const Call* const> calls) { collect(calls, received); }));
    return received;
  }

  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    const Status valid = check_root(root, size());
    Received received;
    const Call call{.name = "gather", .agreed_on = static_cast<std::uint64_t>(root), .data = mine};
    STRATALOG_RETURN_IF_ERROR(world_.meet(rank_, call, [&](std::span<const Call* const> calls) {
      if (rank_ == root) collect(calls, received);
    }));
    STRATALOG_RETURN_IF_ERROR(valid);
    if (rank_ != root) received.counts.assign(static_cast<std::size_t>(size()), 0);
    return received;
  }

  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    const Status valid = check_exchange(data.size(), counts, size());
    Call call{.name = "exchange", .data = data};
    call.offsets.assign(static_cast<std::size_t>(size()) + 1, 0);
    if (valid.is_ok()) std::partial_sum(counts.begin(), counts.end(), call.offsets.begin() + 1);
    Received received;
    STRATALOG_RETURN_IF_ERROR(world_.meet(rank_, call, [&](std::span<const Call* const> calls) {
      const auto me = static_cast<std::size_t>(rank_);
      std::uint64_t bytes = 0;
      for (const Call* sender : calls) bytes += sender->offsets[me + 1] - sender->offsets[me];
      received.data.reserve(bytes);
      for (const Call* sender : calls) {
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
    Call call{.name = "exchange_parcels", .data = data};
    if (valid.is_ok()) call.parcels = parcels;
    ReceivedParcels received;
    STRATALOG_RETURN_IF_ERROR(world_.meet(
        rank_, call,
        [&](std::span<const Call* const>) {
          std::uint64_t bytes = 0;
          for (const LaidParcel& parcel : world_.parcels_for(rank_)) bytes += parcel.bytes.size();
          received.data.reserve(bytes);
          for (const auto& [sender, part] : world_.parcels_for(rank_)) {
            received.data.insert(received.data.end(), part.begin(), part.end());
            received.parcels.push_back({.rank = sender, .bytes = part.size()});
          }
        },
        [&](std::span<const Call* const> calls) { world_.sort_parcels(calls); }));
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

  static void collect(std::span<const Call* const> calls, Received& received) {
    std::uint64_t bytes = 0;
    for (const Call* call : calls) bytes += call->data.size();
    received.data.reserve(bytes);
    for (const Call* call : calls) append(call->data, received);
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
