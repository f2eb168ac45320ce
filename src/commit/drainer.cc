// SPDX-License-Identifier: Apache-2.0
#include "commit/drainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/memory_end.h"
#include "commit/drain.h"
#include "commit/generations.h"
#include "commit/retention.h"
#include "commit/store_file.h"
#include "place/checkpoint_names.h"

namespace stratalog {
namespace {

// How often rank 0 looks for what other nodes copy.
constexpr std::chrono::milliseconds kBetweenLooks{20};
// Network file systems remember for a minute that a name was not there.
constexpr std::chrono::seconds kPatience{100};

}  // namespace

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

// An epoch may be claimed, and is told again with every generation, while the thread drains.
void Drainer::set_epoch(std::uint32_t epoch) {
  const std::lock_guard guard(mutex_);
  rules_.epoch = epoch;
}

// With the lock.
void Drainer::start() {
  if (draining_ != Draining::kBeside || thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    draining_ = Draining::kInSettle;  // the system has no thread to give
  }
}

void Drainer::add_generation(Store& stage, const GenerationId& id) {
  {
    const std::lock_guard guard(mutex_);
    start();
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
  if (seat_.spans_nodes()) patience_ends_ = Clock::now() + kPatience;
  changed_.notify_all();
  const auto is_over = [&] {
    return (most == 0 ? steps_.size() : waiting()) <= most || !failure_.is_ok();
  };
  if (draining_ == Draining::kBeside) {
    changed_.wait(lock, is_over);
  } else {
    while (!is_over()) carry_out_front(lock);
  }
  patience_ends_.reset();
  return failure_;
}

std::vector<std::string> Drainer::take_notes() {
  const std::lock_guard guard(mutex_);
  return std::exchange(notes_, {});
}

void Drainer::add_note(std::string note) {
  const std::lock_guard guard(mutex_);
  notes_.push_back(std::move(note));
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
  Step step = steps_.front();
  const CommitRules rules = rules_;
  lock.unlock();
  Progress progress = Progress::kOver;
  Status status = or_no_space("not enough memory to drain a checkpoint",
                              [&] { return carry_out(step, rules, progress); });
  lock.lock();
  if (status.is_ok() && progress == Progress::kWaitsForOthers) {
    if (!patience_ends_ || Clock::now() < *patience_ends_) {
      steps_.front().arrived = step.arrived;
      changed_.wait_for(lock, kBetweenLooks, [&] { return stops_; });
      return;
    }
    status = Status::corruption(
        "files of other nodes do not appear in the checkpoint folder, which all nodes must share");
  }
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

Status Drainer::carry_out(Step& step, const CommitRules& rules, Progress& progress) const {
  if (!step.id) return step.change();
  Status drained;
  if (!seat_.spans_nodes())
    drained = drain_generation(*step.stage, home_, *step.id, rules);
  else
    drained = drain_own_part(step, rules);
  if (drained.is_ok() && seat_.spans_nodes() && seat_.role == StageRole::kPublishes)
    drained = publish_all_parts(step, rules, progress);
  if (drained.code() == StatusCode::kNotFound)
    return Status::corruption(fmt::format("something of it is missing: {}", drained.message()));
  if (drained.is_ok() && progress == Progress::kOver) free_stage(*step.stage, *step.id, rules);
  return drained;
}

// What lies in this node's stage.
Status Drainer::drain_own_part(const Step& step, const CommitRules& rules) const {
  if (is_drained(home_, *step.id)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const auto files, data_files_in(*step.stage, *step.id));
  return drain_files(*step.stage, home_, *step.id, files, seat_.node, rules);
}

Status Drainer::publish_all_parts(Step& step, const CommitRules& rules, Progress& progress) const {
  if (is_drained(home_, *step.id)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 store_id, read_store_id(home_));
  STRATALOG_ASSIGN_OR_RETURN(const ManifestOnDisk staged,
                             read_manifest(*step.stage, *step.id, store_id, rules.steps));
  const std::vector<StagedFile> files = own_files_of(staged.manifest);
  STRATALOG_ASSIGN_OR_RETURN(step.arrived, first_not_arrived(home_, *step.id, files, step.arrived));
  if (step.arrived == files.size()) return publish_drained(home_, staged, rules);
  progress = Progress::kWaitsForOthers;
  return Status::ok();
}

// Older generations that have arrived need no room in the stage; the newest stays, for a restart.
// What is older than one that has arrived was drained, too, and has perhaps gone since, or was
// given up: what has to be drained is drained in order.
void Drainer::free_stage(Store& stage, const GenerationId& newest, const CommitRules& rules) const {
  const auto ids = list_generation_ids(stage);
  if (!ids.is_ok()) return;
  bool is_superseded = false;
  for (const GenerationId& id : ids.value()) {
    if (id < newest && (is_superseded || is_drained(home_, id)))
      (void)remove_generation(stage, {.id = id, .keep = {}}, rules);
    is_superseded = is_superseded || is_drained(home_, id);
  }
}

}  // namespace stratalog
