// SPDX-License-Identifier: Apache-2.0
// How often to write a checkpoint when the user says how often the machine fails: Daly's refinement
// of Young's rule (J. T. Daly, "A higher order estimate of the optimum checkpoint interval for
// restart dumps", 2006); or what part of the run checkpoints may take. Both are fed with what
// checkpoints of this run have cost. Pure; local.
#pragma once

#include <cstdint>

namespace stratalog::datalog {

// The time to compute between two checkpoints, in seconds, if one costs `cost_seconds` and the
// machine fails every `mtbf_seconds` on average. Both positive.
double optimal_interval(double cost_seconds, double mtbf_seconds);

// What the interval follows from; at most one is above 0.
struct IntervalBasis {
  double mtbf_seconds = 0;
  double most_share = 0;  // of the run, that checkpoints may take: below 1
};

// Follows the cost of checkpoints and gives the interval. Rank 0 asks it.
class IntervalRule {
 public:
  // Nothing above 0: no rule, interval_seconds() is 0.
  explicit IntervalRule(const IntervalBasis& basis) : basis_(basis) {}

  bool is_on() const { return basis_.mtbf_seconds > 0 || basis_.most_share > 0; }
  // Of a rule that is on. By share, what all checkpoints have cost has to fit into the whole run,
  // too: one that took longer than expected is made up for before the next.
  bool is_due(double seconds_since_last, double run_seconds) const;
  // What a checkpoint held the run up.
  void note_cost(double seconds);
  // Until the first cost is known, one second is assumed.
  double interval_seconds() const;
  double cost_seconds() const { return cost_seconds_; }

 private:
  IntervalBasis basis_;
  double spent_seconds_ = 0;
  double cost_seconds_ = 1;
  bool is_measured_ = false;
};

}  // namespace stratalog::datalog
