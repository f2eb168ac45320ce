// SPDX-License-Identifier: Apache-2.0
// In which order somebody who knows the head checks the body of a rule: as it is written, but what
// needs a value waits for it. What the compiler lifted out of a literal is checked together with
// it. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

#include "datalog/prove/query_program.h"

namespace stratalog::datalog {

// Something that holds or fails as a whole.
struct ReadingStep {
  std::vector<std::uint32_t> literals;  // of the open rule's body
  std::uint32_t shown = 0;  // the one among them that somebody wrote
  // So many of `literals` give values to what is shown and do not yet decide it.
  std::uint32_t preparing = 0;
};

struct ReadingOrder {
  std::vector<std::uint32_t> head;  // equations that take records of the goal apart
  std::vector<ReadingStep> steps;

  // The literals of the head and of the first `count` steps.
  std::vector<std::uint32_t> first(std::size_t count) const;
};

ReadingOrder reading_order(const OpenRule& open);

}  // namespace stratalog::datalog
