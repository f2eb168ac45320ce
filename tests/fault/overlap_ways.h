// SPDX-License-Identifier: Apache-2.0
// Every way to write a checkpoint beside the caller, for tests with parameters: each mode that can,
// in each way that it can.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "policy/overlap.h"

namespace stratalog::sample {

struct OverlapCase {
  CheckpointMode mode;
  OverlapWay way;

  // For test names in failures.
  friend std::ostream& operator<<(std::ostream& out, const OverlapCase& c) {
    return out << c.name();
  }

  std::string name() const {
    std::string text = std::string(mode_name(mode)) + "_" + std::string(overlap_name(way));
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
  }
};

// `least`: kNone also those in which the caller waits. Without the learned modes.
inline std::vector<OverlapCase> overlap_cases(OverlapWay least) {
  std::vector<OverlapCase> cases;
  for (const CheckpointMode mode : all_modes())
    for (const OverlapWay way : {OverlapWay::kNone, OverlapWay::kWrite, OverlapWay::kPack})
      if (!is_learned(mode) && most_overlap(mode) != OverlapWay::kNone && way >= least &&
          way <= most_overlap(mode))
        cases.push_back({.mode = mode, .way = way});
  return cases;
}

}  // namespace stratalog::sample
