// SPDX-License-Identifier: Apache-2.0
// How often to write a checkpoint when the user says how often the machine fails: Daly's refinement
// of Young's rule (J. T. Daly, "A higher order estimate of the optimum checkpoint interval for
// restart dumps", 2006), fed with what checkpoints of this run have cost. Pure; local.
#pragma once

#include <cstdint>

namespace stratalog::datalog {

// The time to compute between two checkpoints, in seconds, if one costs `cost_seconds` and the
// machine fails every `mtbf_seconds` on average. Both positive.
double optimal_interval(double cost_seconds, double mtbf_seconds);

// Follows the cost of checkpoints and gives the interval. Rank 0 asks it.
class IntervalRule {
 public:
  // 0: no rule, interval_seconds() is 0.
  explicit IntervalRule(double mtbf_seconds) : mtbf_seconds_(mtbf_seconds) {}

  bool is_on() const { return mtbf_seconds_ > 0; }
  // What a checkpoint held the run up.
  void note_cost(double seconds);
  // Until the first cost is known, one second is assumed.
  double interval_seconds() const;
  double mtbf_seconds() const { return mtbf_seconds_; }
  double cost_seconds() const { return cost_seconds_; }

 private:
  double mtbf_seconds_;
  double cost_seconds_ = 1;
  bool is_measured_ = false;
};

}  // namespace stratalog::datalog
