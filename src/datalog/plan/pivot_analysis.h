// SPDX-License-Identifier: Apache-2.0
// Finds columns that a recursion carries unchanged (decomposable, or pivoting, programs: Wolfson
// and Ozeri; Seib and Lausen). If every recursive rule of a stratum has the same variable in the
// pivot column of its head and of all its recursive body atoms, relations dealt by that column
// never need to exchange a tuple. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

struct PivotFinding {
  std::optional<PivotPlan> pivot;
  bool is_linear =
      false;  // one recursive atom a rule and nothing that the slot graph cannot express
  // By rule (of the program): literals of its body that test the pivot of a tuple that is derived,
  // with values that the rest of the body knows. Only where is_linear.
  std::map<std::uint32_t, std::vector<std::uint32_t>> masks;
  std::string reason;  // for a person: why, or why not
};

PivotFinding find_pivot(const Program& program, const Stratum& stratum);

}  // namespace stratalog::datalog
