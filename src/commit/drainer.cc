// SPDX-License-Identifier: Apache-2.0
#include "commit/drainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "commit/drain.h"
#include "commit/generations.h"
#include "commit/retention.h"
#include "place/checkpoint_names.h"

namespace stratalog {

Drainer::~Drainer() {
  {
    const std::lock_guard guard(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::size_t Drainer::waiting() const {
  return static_cast<std::size_t>(std::count_if(
      steps_.begin(), steps_.end(), [](const Step& step) { return step.id.has_value(); }));
}

void Drainer::start() {
  if (draining_ != Draining::kBeside || thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    draining_ = Draining::kInSettle;  // the system has no thread to give
  }
}

void Drainer::add_generation(Store& stage, const GenerationId& id) {
  start();
  {
    const std::lock_guard guard(mutex_);
    steps_.push_back({.id = id, .change = {}, .stage = &stage});
    failure_ = Status::ok();
  }
  changed_.notify_all();
}

Status Drainer::in_order(std::function<Status()> change) {
  {
    const std::lock_guard guard(mutex_);
    if (!steps_.empty()) {
      steps_.push_back({.id = std::nullopt, .change = std::move(change)});
      return Status::ok();
    }
  }
  return change();
}

Status Drainer::wait_for(std::size_t most) {
  std::unique_lock lock(mutex_);
  failure_ = Status::ok();
  changed_.notify_all();
  const auto is_over = [&] {
    return (most == 0 ? steps_.size() : waiting()) <= most || !failure_.is_ok();
  };
  if (draining_ == Draining::kBeside) {
    changed_.wait(lock, is_over);
  } else {
    while (!is_over()) carry_out_front(lock);
  }
  return failure_;
}

std::vector<std::string> Drainer::take_notes() {
  const std::lock_guard guard(mutex_);
  return std::exchange(notes_, {});
}

void Drainer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stops_ || (!steps_.empty() && failure_.is_ok()); });
    if (stops_) return;
    carry_out_front(lock);
  }
}

void Drainer::carry_out_front(std::unique_lock<std::mutex>& lock) {
  const Step step = steps_.front();
  lock.unlock();
  Status status;
  // The containers report want of memory by an exception; it must not leave the thread.
  try {
    status = carry_out(step);
  } catch (const std::bad_alloc&) {
    status = Status::no_space("not enough memory to drain a checkpoint");
  }
  lock.lock();
  // What is damaged will not get better; what could not be removed is only in the way.
  const bool goes_on = status.is_ok() || !step.id || status.code() == StatusCode::kCorruption;
  if (!status.is_ok() && status.code() != StatusCode::kNotFound)
    notes_.push_back(
        step.id ? fmt::format("{} was not drained from the stage: {}", generation_name(*step.id),
                              status.to_string())
                : fmt::format("an old checkpoint could not be removed: {}", status.to_string()));
  if (goes_on)
    steps_.pop_front();
  else
    failure_ = status;
  changed_.notify_all();
}

Status Drainer::carry_out(const Step& step) const {
  if (!step.id) return step.change();
  Status drained = drain_generation(*step.stage, home_, *step.id, rules_);
  if (drained.code() == StatusCode::kNotFound)
    return Status::corruption(fmt::format("something of it is missing: {}", drained.message()));
  if (drained.is_ok()) free_stage(*step.stage, *step.id);
  return drained;
}

// Older generations that have arrived need no room in the stage; the newest stays, for a restart.
void Drainer::free_stage(Store& stage, const GenerationId& newest) const {
  const auto ids = list_generation_ids(stage);
  if (!ids.is_ok()) return;
  for (const GenerationId& id : ids.value())
    if (id < newest && is_drained(home_, id))
      (void)remove_generation(stage, {.id = id, .keep = {}}, rules_);
}

}  // namespace stratalog
