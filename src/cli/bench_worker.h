// SPDX-License-Identifier: Apache-2.0
// The ranks of `stratalog bench`: they make or take the data, save it with every strategy through
// the real writers, restart, verify, and rank 0 prints one line of JSON for each measurement.
// Collective over the world.
#pragma once

#include "cli/bench_spec.h"
#include "cli/world.h"

namespace stratalog::cli {

// A case that fails is a line of its own, and the others go on; the error of the group otherwise.
Status run_bench(World& world, const BenchSpec& spec);

}  // namespace stratalog::cli
