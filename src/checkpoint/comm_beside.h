// SPDX-License-Identifier: Apache-2.0
// CommBeside: the collective calls of a thread that packs beside its rank's caller. Calls of a
// group are its callers' to make, and they have others to make meanwhile; so a call of the threads
// waits until the callers of all ranks meet, at a safe point, and make it for them. Before that
// begins, and when it is over, calls go straight to the group.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "comm/comm.h"

namespace stratalog {

class CommBeside final : public Comm {
 public:
  // `comm` outlives it.
  explicit CommBeside(Comm& comm) : comm_(comm) {}

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  bool shares_memory() const override { return comm_.shares_memory(); }
  Status barrier() override;
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override;
  Status broadcast(Bytes& data, int root) override;
  Result<Received> allgather(std::span<const std::byte> mine) override;
  Result<Received> gather(std::span<const std::byte> mine, int root) override;
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override;
  Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                           std::span<const Parcel> parcels) override;
  Result<Topology> topology() override { return comm_.topology(); }

  // The caller's, where all ranks have a thread: it may begin.
  void let_begin();
  // The caller's. Whether the thread waits for a call, or has ended.
  bool is_ready() const;
  // The caller's: returns when is_ready().
  void wait_until_ready();
  // The caller's. Collective, where all ranks are ready. A rank whose thread has ended while
  // others' still call ends theirs with an error.
  void meet();
  // The caller's. Whether no rank needs to meet any more; the same on all.
  bool is_over() const { return over_; }
  // The caller's: nobody will meet (again). The thread's calls are cancelled; where it has not
  // begun, it is not to.
  void give_up();

  // The thread's, before anything else: waits for one of the two. Whether it may begin.
  bool may_begin();
  // The thread's last word.
  void end();

 private:
  enum class Thread : std::uint8_t { kNone, kAtWork, kCalls, kEnded };

  // Makes the call, or has it made by the caller.
  Status pass(const std::function<Status()>& call);
  // The same, with what comes of it.
  template <typename Value>
  Result<Value> pass_for(const std::function<Result<Value>()>& call);
  void reply(Status answer);
  // Under the mutex.
  bool is_thread_ready() const { return thread_ == Thread::kCalls || thread_ == Thread::kEnded; }

  Comm& comm_;
  bool over_ = false;  // the caller's
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Thread thread_ = Thread::kNone;
  bool is_given_up_ = false;
  const std::function<Status()>* call_ = nullptr;  // while the thread calls
  Status answer_;
};

}  // namespace stratalog
