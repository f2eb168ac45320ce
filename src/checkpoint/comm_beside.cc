// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/comm_beside.h"

#include <chrono>
#include <utility>

#include "base/memory_end.h"
#include "checkpoint/phase_times.h"

namespace stratalog {
namespace {

constexpr std::chrono::microseconds kBackAtOnce{100};

// Adds the time of its life to what this thread has waited.
class WaitedForCallers {
 public:
  WaitedForCallers() : since_(now_ns()) {}
  WaitedForCallers(const WaitedForCallers&) = delete;
  WaitedForCallers& operator=(const WaitedForCallers&) = delete;
  ~WaitedForCallers() { waited_for_callers_ns += now_ns() - since_; }

 private:
  std::uint64_t since_;
};

}  // namespace

Status CommBeside::pass(const std::function<Status()>& call) {
  std::unique_lock lock(mutex_);
  if (thread_ != Thread::kAtWork) {
    lock.unlock();
    return call();
  }
  const WaitedForCallers waiting;
  call_ = &call;
  thread_ = Thread::kCalls;
  changed_.notify_all();
  changed_.wait(lock, [&] { return thread_ != Thread::kCalls || is_given_up_; });
  if (thread_ != Thread::kCalls) return std::move(answer_);
  thread_ = Thread::kAtWork;
  return Status::cancelled("the checkpoint was given up");
}

Status CommBeside::barrier() {
  return pass([&] { return comm_.barrier(); });
}

Status CommBeside::allreduce(std::span<std::uint64_t> values, ReduceOp op) {
  return pass([&] { return comm_.allreduce(values, op); });
}

Status CommBeside::broadcast(Bytes& data, int root) {
  return pass([&] { return comm_.broadcast(data, root); });
}

template <typename Value>
Result<Value> CommBeside::pass_for(const std::function<Result<Value>()>& call) {
  Value value;
  STRATALOG_RETURN_IF_ERROR(pass([&]() -> Status {
    STRATALOG_ASSIGN_OR_RETURN(value, call());
    return {};
  }));
  return value;
}

Result<Received> CommBeside::allgather(std::span<const std::byte> mine) {
  return pass_for<Received>([&] { return comm_.allgather(mine); });
}

Result<Received> CommBeside::gather(std::span<const std::byte> mine, int root) {
  return pass_for<Received>([&] { return comm_.gather(mine, root); });
}

Result<Received> CommBeside::exchange(std::span<const std::byte> data,
                                      std::span<const std::uint64_t> counts) {
  return pass_for<Received>([&] { return comm_.exchange(data, counts); });
}

Result<ReceivedParcels> CommBeside::exchange_parcels(std::span<const std::byte> data,
                                                     std::span<const Parcel> parcels) {
  return pass_for<ReceivedParcels>([&] { return comm_.exchange_parcels(data, parcels); });
}

bool CommBeside::is_ready() const {
  const std::lock_guard guard(mutex_);
  return is_thread_ready();
}

void CommBeside::wait_until_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_thread_ready(); });
}

// Calls come in bursts: as long as all threads are back with the next one at once, it is made, too.
void CommBeside::meet() {
  for (bool goes_on = true; goes_on;) {
    const std::function<Status()>* call = nullptr;
    bool has_ended = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kBackAtOnce, [&] { return is_thread_ready(); });
      if (thread_ == Thread::kCalls) call = call_;
      has_ended = thread_ == Thread::kEnded;
    }
    std::uint64_t sums[] = {call == nullptr ? 0U : 1U, has_ended ? 1U : 0U};
    Status answer = comm_.allreduce(sums, ReduceOp::kSum);
    const auto ranks = static_cast<std::uint64_t>(size());
    over_ = !answer.is_ok() || sums[1] == ranks;
    goes_on = !over_ && sums[0] == ranks;
    if (!over_ && sums[0] + sums[1] < ranks) return;  // a thread is at work
    if (goes_on)
      answer = or_no_space("not enough memory for what others send", *call);
    else if (!over_)
      answer = Status::ranks_disagree("some ranks have ended a checkpoint while others still call");
    if (call != nullptr)
      reply(std::move(answer));
    else if (!answer.is_ok())
      give_up();
  }
}

// To the thread's call. Without a working group no caller of another rank comes any more, which the
// thread's next calls find out by themselves.
void CommBeside::reply(Status answer) {
  const std::lock_guard guard(mutex_);
  answer_ = std::move(answer);
  thread_ = over_ ? Thread::kNone : Thread::kAtWork;
  changed_.notify_all();
}

void CommBeside::let_begin() {
  const std::lock_guard guard(mutex_);
  thread_ = Thread::kAtWork;
  changed_.notify_all();
}

void CommBeside::give_up() {
  const std::lock_guard guard(mutex_);
  is_given_up_ = true;
  changed_.notify_all();
}

bool CommBeside::may_begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return thread_ == Thread::kAtWork || is_given_up_; });
  return !is_given_up_;
}

void CommBeside::end() {
  const std::lock_guard guard(mutex_);
  thread_ = Thread::kEnded;
  changed_.notify_all();
}

}  // namespace stratalog
