// SPDX-License-Identifier: Apache-2.0
// Program text to checked program and plan, for tests of the planner; literals and steps as short
// text. Local.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "datalog/language/compile.h"
#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

inline Program compiled(const std::string& text, MagicSets use = MagicSets::kApply) {
  CompileOptions options;
  options.magic_sets = use;
  options.preprocessor = PreprocessorUse::kNever;
  CompileOutcome outcome = compile({.name = "test.dl", .text = text}, options);
  EXPECT_TRUE(outcome.is_ok()) << render_all(outcome.diagnostics);
  return outcome.program ? *std::move(outcome.program) : Program();
}

inline ProgramPlan planned(const Program& program, const PlanOptions& options = {}) {
  Result<ProgramPlan> plan = plan_program(program, options);
  EXPECT_TRUE(plan.is_ok()) << plan.status().to_string();
  return plan.is_ok() ? std::move(plan).value() : ProgramPlan();
}

inline RelationId relation_named(const Program& program, const std::string& name) {
  for (RelationId r = 0; r < program.relations.size(); ++r)
    if (program.relations[r].name == name) return r;
  ADD_FAILURE() << "no relation " << name;
  return 0;
}

inline std::size_t stratum_of(const Program& program, const std::string& name) {
  const RelationId wanted = relation_named(program, name);
  for (std::size_t s = 0; s < program.strata.size(); ++s)
    for (const RelationId r : program.strata[s].relations)
      if (r == wanted) return s;
  ADD_FAILURE() << "no stratum of " << name;
  return 0;
}

}  // namespace stratalog::datalog
