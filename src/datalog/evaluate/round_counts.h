// SPDX-License-Identifier: Apache-2.0
// RoundCounts: how many tuples a stratum that runs by rounds has and how many its last round found,
// over all ranks, and how evenly they lie. Every rank appends its numbers to a sum that the round
// makes anyway, and takes them back added up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

class RoundCounts {
 public:
  RoundCounts(EngineState& state, std::uint32_t stratum)
      : state_(state), members_(state.program.strata[stratum]) {}

  std::uint64_t iteration() const { return iteration_; }  // rounds that found something
  std::uint64_t new_tuples() const { return new_tuples_; }  // of the last round, of all ranks
  std::uint64_t total_tuples() const { return total_tuples_; }
  // The part of the tuples that the fullest rank holds; -1 if it was not measured.
  double largest_share() const { return largest_share_; }
  // For who watches; `memory_bytes` of all ranks.
  Progress progress(std::uint64_t memory_bytes) const;

  // Local. Goes on from a checkpoint; its delta counts as one new tuple until the next round.
  void restore(std::uint64_t iteration);
  // Local. One number for each relation: the tuples that this rank counts, of a nullary relation
  // whether it holds. Returns how many tuples are new.
  std::uint64_t append_local_rows(std::vector<std::uint64_t>& rows) const;
  // Local. What the round found on all ranks, and the same numbers summed over all.
  void take_round(std::uint64_t new_tuples, std::span<const std::uint64_t> rows);
  // Collective. Rounds alone stand on all ranks doing the same; what they count says whether they
  // have. Internal if not.
  Status check_alike() const;
  // Collective. Unknown of equivalence relations, which all ranks have as classes.
  Status measure_share();

 private:
  EngineState& state_;
  const Stratum& members_;
  std::uint64_t iteration_ = 0;
  std::uint64_t new_tuples_ = 0;
  std::uint64_t total_tuples_ = 0;
  double largest_share_ = -1;
};

}  // namespace stratalog::datalog
