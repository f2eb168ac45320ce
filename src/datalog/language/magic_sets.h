// SPDX-License-Identifier: Apache-2.0
// Magic sets: relations are computed only as far as the outputs ask for them. Each way in which a
// relation is asked for (with which columns known) gets a relation of what is asked, its demand;
// rules of the relation get an atom of it; rules made of the beginnings of other rules fill it
// (Tekle and Liu, More efficient Datalog queries, 2011: relations are not copied for each way).
// Which tuples the outputs have does not change. Pure; local.
#pragma once

#include <optional>
#include <vector>

#include "datalog/language/compile.h"
#include "datalog/language/declarations.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/plan_checks.h"
#include "datalog/language/stratify.h"
#include "datalog/language/syntax.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// Restricts what may be (magic_wishes.h), but not what somebody asks for with no column known, or
// in too many ways. Rules of relations that are not `needed` (needed_relations.h) go, save those
// with plans, which have been checked. `dependencies` gets those of the rules that are made;
// `planned` follows its rules. Returns which relations may lack tuples; with MagicSets::kMark it
// does nothing else. Requires a program without errors.
std::vector<bool> restrict_to_demand(const std::vector<bool>& wished,
                                     const std::vector<bool>& needed, const ProgramSyntax& syntax,
                                     const CompileOptions& options, std::vector<Rule>& rules,
                                     Declarations& declarations,
                                     std::vector<Dependency>& dependencies,
                                     std::vector<PlannedRule>& planned);

}  // namespace stratalog::datalog::language
