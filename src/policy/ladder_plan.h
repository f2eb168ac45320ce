// SPDX-License-Identifier: Apache-2.0
// The ladder's half of the policy: ROMIO hints by size tier (shared-opt and hdf5-opt) and the steps
// O1..O7 (hdf5-opt), each with its reason. Pure; local; for policy/plan_layout.cc.
#pragma once

#include <cstdint>
#include <string>

#include "policy/layout_plan.h"

namespace stratalog {

// "16 MiB", "10 MB", "4096 bytes": whichever is exact and shortest.
std::string bytes_text(std::uint64_t bytes);

// Fills plan.hints. `output` bytes go into each file.
void plan_hints(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
                LayoutPlan& plan);

// Fills everything of a kHdf5Opt plan but files, striping and alignment.
void plan_ladder(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
                 LayoutPlan& plan);

}  // namespace stratalog
