// SPDX-License-Identifier: Apache-2.0
// SimWorld: where ranks that are threads of one process meet. Every collective is a meeting in two
// phases: all ranks lay down views of what they bring, then all read what they need and leave
// together, so that no view dies while it is read. Where there is a core for every rank, they look
// for the others for some microseconds before they sleep. A rank that has returned breaks all later
// meetings, and calls that do not match are refused on all ranks: what would hang or corrupt memory
// under MPI is an error here.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/memory_end.h"
#include "comm/bell.h"
#include "comm/comm.h"
#include "comm/core_spread.h"
#include "comm/sim_posts.h"

namespace stratalog {

// What one rank lays down in a meeting. The views belong to the caller and live until the meeting
// ends.
struct SimCall {
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
  SimWorld(int ranks, AddressSpace space);

  int size() const { return static_cast<int>(calls_.size()); }

  // Blocks until all ranks have laid down their calls, runs read(calls) on every rank, and returns
  // when all have read. Before anybody reads, the rank that comes last runs prepare(calls).
  template <typename Read, typename Prepare>
  Status meet(int rank, const SimCall& call, Read&& read, Prepare&& prepare);
  template <typename Read>
  Status meet(int rank, const SimCall& call, Read&& read) {
    return meet(rank, call, std::forward<Read>(read), [](std::span<const SimCall* const>) {});
  }
  // Of the current meeting: all ranks' words. Once for all, as each rank doing it for itself would
  // cost ranks times ranks.
  void reduce(std::span<const SimCall* const> calls, ReduceOp op);
  std::span<const std::uint64_t> reduced() const { return reduced_; }
  // Of the current meeting: all ranks' parcels by receiver, each in the order of the senders.
  void sort_parcels(std::span<const SimCall* const> calls);
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
  // The same, with the reason for all others, while it still has something that they may look at.
  void give_up(const Status& why);
  bool is_broken() const { return left_.load() >= 0 || is_given_up_.load() || parted_.load() > 0; }
  // Blocks until all ranks have come here, or one has left; until then the world is broken.
  void part(int rank, const Status& done);
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
  Status broken_status(int rank, const SimCall& call) const;

  std::vector<const SimCall*> calls_;
  std::atomic<int> arrived_ = 0;
  std::atomic<int> reading_ = 0;
  std::atomic<std::uint64_t> meeting_ = 0;  // counts meetings that all ranks reached
  std::atomic<int> left_ = -1;  // the first rank that returned
  std::atomic<bool> is_given_up_ = false;
  std::atomic<int> parted_ = 0;  // ranks that wait in part()
  std::atomic<std::uint64_t> partings_ = 0;  // that all ranks came to
  mutable std::mutex leaving_;
  Status why_;  // a rank gave up or parted, under the mutex
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

template <typename Read, typename Prepare>
Status SimWorld::meet(int rank, const SimCall& call, Read&& read, Prepare&& prepare) {
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
      verdict_ = or_no_space("not enough memory for what ranks bring", [&] {
        prepare(std::span<const SimCall* const>(calls_));
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
    if (verdict.is_ok()) read(std::span<const SimCall* const>(calls_));
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

}  // namespace stratalog
