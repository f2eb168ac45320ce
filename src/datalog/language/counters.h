// SPDX-License-Identifier: Apache-2.0
// `autoinc()`: a rule `h(autoinc(), x) :- body.` becomes three steps that give the same numbers at
// any number of ranks: a relation gathers the values of all variables of the body, the engine
// numbers its tuples in order of their values (Relation::numbering), and the rule reads the
// numbered tuples. Local.
#pragma once

#include "datalog/language/bound_rule.h"
#include "datalog/language/declarations.h"
#include "datalog/language/diagnostic_sink.h"

namespace stratalog::datalog::language {

// The two relations made for a rule. Their names end in `#` and a number, which no program can
// write; their columns are known only when the rule's kinds are.
struct CounterRelations {
  RelationId gathered = 0;
  RelationId numbered = 0;
};

// Whether the head counts. Reports counters elsewhere.
bool has_counter(const BoundRule& rule, DiagnosticSink& sink);
CounterRelations declare_counter_relations(const BoundRule& rule, Declarations& declarations);

// The rule that gathers; `rule` becomes the one that reads.
Rule split_counters(Rule& rule, const CounterRelations& relations, Declarations& declarations);

}  // namespace stratalog::datalog::language
