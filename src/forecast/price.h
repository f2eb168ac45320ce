// SPDX-License-Identifier: Apache-2.0
// price: the file-system model. Steps follow each other; within a step everything runs at once and
// the slowest of process, node and server decides. A server's time is its bytes, its requests, and
// a lock for every further client of a stripe (there are none if clients share no stripe). Pure;
// local; O(stripes touched); transfers of a step are disjoint.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "forecast/machine.h"
#include "forecast/steps.h"

namespace stratalog {

struct Price {
  std::array<double, kPhaseCount> seconds = {};  // by Phase
  std::uint64_t moved_bytes = 0;  // to and from servers
  std::uint64_t requests = 0;  // to data servers, small ones left out
  std::uint64_t lock_moves = 0;  // stripes' clients beyond each stripe's first, over all steps
  std::uint64_t creates = 0;
  std::uint64_t opens = 0;

  double total() const;
};

Price price(const Steps& steps, const Machine& machine);

}  // namespace stratalog
