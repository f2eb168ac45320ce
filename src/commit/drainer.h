// SPDX-License-Identifier: Apache-2.0
// Drainer: does to a checkpoint directory ("home") what has to be done in order: staged generations
// arrive, and what they replace goes. One step at a time, by a thread of its own or by whoever
// waits. A step that fails holds up those behind it until it is tried again. Where stages lie on
// several nodes each has a Drainer, which copies what lies there; rank 0's then waits for the files
// of the others to appear at home, and publishes. Local; thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "commit/publish.h"
#include "commit/staged_store.h"
#include "place/stage_plan.h"
#include "write/store.h"

namespace stratalog {

class Drainer {
 public:
  Drainer(Store& home, Draining draining, const StageSeat& seat)
      : home_(home), seat_(seat), draining_(draining) {}
  Drainer(const Drainer&) = delete;
  Drainer& operator=(const Drainer&) = delete;
  ~Drainer();

  void set_epoch(std::uint32_t epoch);
  void add_generation(Store& stage, const GenerationId& id);
  // Carried out at once if nothing waits, else in its turn.
  Status in_order(std::function<Status()> change);
  // Until at most `most` generations wait. What failed before is tried again. Of several nodes
  // rank 0 calls this when the others have copied theirs; what does not appear then is given up.
  Status wait_for(std::size_t most);
  std::vector<std::string> take_notes();
  void add_note(std::string note);

 private:
  using Clock = std::chrono::steady_clock;

  struct Step {
    std::optional<GenerationId> id;  // that is to be drained; else:
    std::function<Status()> change;
    Store* stage = nullptr;
    std::size_t arrived = 0;  // of the files of all nodes, the first so many
  };
  enum class Progress : std::uint8_t { kOver, kWaitsForOthers };
  std::size_t waiting() const;
  void start();
  void run();
  void carry_out_front(std::unique_lock<std::mutex>& lock);
  // Without the lock; `rules` as they were when the step was taken.
  Status carry_out(Step& step, const CommitRules& rules, Progress& progress) const;
  Status drain_own_part(const Step& step, const CommitRules& rules) const;
  Status publish_all_parts(Step& step, const CommitRules& rules, Progress& progress) const;
  void free_stage(Store& stage, const GenerationId& newest, const CommitRules& rules) const;

  Store& home_;
  const StageSeat seat_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All that follows is guarded by mutex_.
  Draining draining_;
  CommitRules rules_;
  std::deque<Step> steps_;  // the front one stays until it is done
  Status failure_;  // of the front one: nothing goes on
  std::vector<std::string> notes_;
  std::optional<Clock::time_point> patience_ends_;  // while somebody waits for what others drained
  bool stops_ = false;
};

}  // namespace stratalog
