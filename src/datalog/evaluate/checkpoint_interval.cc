// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

namespace stratalog::datalog {
namespace {

// A checkpoint that took no measurable time does not mean one after the other.
constexpr double kLeastCost = 1e-3;
// Relations grow and so does the cost: the newest counts as much as all before.
constexpr double kNewestWeight = 0.5;

}  // namespace

double optimal_interval(double cost_seconds, double mtbf_seconds) {
  if (cost_seconds >= 2 * mtbf_seconds) return mtbf_seconds;
  const double ratio = cost_seconds / (2 * mtbf_seconds);
  return std::sqrt(2 * cost_seconds * mtbf_seconds) * (1 + std::sqrt(ratio) / 3 + ratio / 9) -
         cost_seconds;
}

void IntervalRule::note_cost(double seconds) {
  const double cost = std::max(seconds, kLeastCost);
  spent_seconds_ += cost;
  cost_seconds_ = is_measured_ ? (1 - kNewestWeight) * cost_seconds_ + kNewestWeight * cost : cost;
  is_measured_ = true;
}

double IntervalRule::interval_seconds() const {
  if (basis_.most_share > 0) return cost_seconds_ / basis_.most_share;
  return is_on() ? optimal_interval(cost_seconds_, basis_.mtbf_seconds) : 0;
}

bool IntervalRule::is_due(double seconds_since_last, double run_seconds) const {
  if (seconds_since_last < interval_seconds()) return false;
  return basis_.most_share <= 0 ||
         spent_seconds_ + cost_seconds_ <= basis_.most_share * run_seconds;
}

}  // namespace stratalog::datalog
