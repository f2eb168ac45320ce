// SPDX-License-Identifier: Apache-2.0
// OpenSave: one save from its beginning to its commit, and what it cost in the end. Its parts refer
// to each other: it stays where it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "checkpoint/chain_base.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/comm_beside.h"
#include "checkpoint/fold.h"
#include "checkpoint/save_layout.h"
#include "checkpoint/save_plan.h"
#include "policy/learning.h"
#include "policy/overlap.h"
#include "write/write_queue.h"

namespace stratalog {

struct OpenSave {
  OpenSave() = default;
  OpenSave(const OpenSave&) = delete;
  OpenSave& operator=(const OpenSave&) = delete;
  ~OpenSave() {
    if (calls) calls->give_up();
    if (thread.joinable()) thread.join();
  }

  SaveRequest owned;  // of begin(), and of what is folded
  std::optional<Fold> fold;  // where something is
  OverlapPlan overlap;
  WriteQueue queue;
  std::vector<std::uint64_t> rows;
  SaveLayout layout;
  CarriedOver carried;
  LayoutOption option;
  std::optional<AutoFacts> facts;  // of a learned mode
  std::optional<SaveContext> context;
  Manifest manifest;
  LocalOutput out;
  // Of a thread that needs other ranks on the way, and whether callers meet to make its calls.
  std::unique_ptr<CommBeside> calls;
  bool meets = false;
  std::function<Status()> write_rest;  // of a save whose files are begun; local
  Status written;
  std::uint64_t held_ns = 0;  // for how long the caller was held up
  std::uint64_t held_beside_ns = 0;  // of these, while a thread went on with the save
  std::uint64_t beside_since_ns = 0;  // since when one does, if any
  std::atomic<std::uint64_t> beside_until_ns = 0;  // 0 until it has ended
  std::thread thread;  // that packs
  std::atomic<bool> is_written = true;  // as far as that thread goes

  // The same on all ranks.
  bool needs_meetings() const { return meets && !calls->is_over(); }
  // Waits for what the caller has packed to be written.
  void finish_queue();
  // From its beginning to its end, without what the caller did meanwhile that no thread of the
  // save was beside.
  std::uint64_t total_ns() const;
};

// The caller is held up for the time of its life.
class HeldUp {
 public:
  explicit HeldUp(OpenSave& open) : open_(open), since_(now_ns()) {}
  HeldUp(const HeldUp&) = delete;
  HeldUp& operator=(const HeldUp&) = delete;
  ~HeldUp();

 private:
  OpenSave& open_;
  std::uint64_t since_;
};

// Collective: fills in times, sizes and counts of the report, over all ranks.
Status sum_up(Comm& comm, const OpenSave& open, SaveReport& report);

}  // namespace stratalog
