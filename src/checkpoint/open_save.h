// SPDX-License-Identifier: Apache-2.0
// OpenSave: one save from its beginning to its commit, and what it cost in the end. Its parts refer
// to each other: it stays where it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "checkpoint/chain_base.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/save_layout.h"
#include "checkpoint/save_plan.h"
#include "policy/learning.h"

namespace stratalog {

struct OpenSave {
  OpenSave() = default;
  OpenSave(const OpenSave&) = delete;
  OpenSave& operator=(const OpenSave&) = delete;
  ~OpenSave() {
    if (thread.joinable()) thread.join();
  }

  SaveRequest owned;  // of begin()
  std::vector<std::uint64_t> rows;
  SaveLayout layout;
  CarriedOver carried;
  LayoutOption option;
  std::optional<AutoFacts> facts;  // of mode auto
  std::optional<SaveContext> context;
  Manifest manifest;
  LocalOutput out;
  Status written;
  std::uint64_t written_ns = 0;  // what the writing took
  std::uint64_t held_ns = 0;  // for how long the caller was held up
  std::thread thread;
  std::atomic<bool> is_written = false;
};

// Collective: fills in times, sizes and counts of the report, over all ranks.
Status sum_up(Comm& comm, const OpenSave& open, SaveReport& report);

}  // namespace stratalog
