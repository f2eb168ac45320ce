// SPDX-License-Identifier: Apache-2.0
// In which order somebody who knows the head checks the body of a rule: as it is written, but a
// test that needs a value waits for it, and what the compiler lifted out of an atom is known before
// the atom. Pure; local.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "datalog/prove/query_program.h"

namespace stratalog::datalog {

struct ReadingOrder {
  std::vector<std::uint32_t> literals;  // of the open rule's body
  // Of these: equations that nobody wrote and that only give a name to something.
  std::set<std::uint32_t> silent;
};

ReadingOrder reading_order(const OpenRule& open);

}  // namespace stratalog::datalog
