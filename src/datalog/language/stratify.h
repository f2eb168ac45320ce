// SPDX-License-Identifier: Apache-2.0
// Stratification: the strongly connected components of the dependency graph, in an order in which
// each depends on earlier ones only. A cycle through a negation or an aggregate is an error that
// shows the cycle. Pure. Local.
#pragma once

#include <vector>

#include "datalog/language/declarations.h"
#include "datalog/language/diagnostic_sink.h"

namespace stratalog::datalog::language {

enum class DependencyKind : std::uint8_t { kPositive, kNegated, kAggregated, kNumbered };

// One use of relation `on` in a rule for relation `head`.
struct Dependency {
  RelationId head = 0;
  RelationId on = 0;
  DependencyKind kind = DependencyKind::kPositive;
  Span span;
};

// The components, each with ascending relations. Ready components come in the order of their
// smallest relation, so the order is the same everywhere. Fills Stratum::relations and
// is_recursive, not the rules.
std::vector<Stratum> stratify(std::size_t relation_count,
                              const std::vector<Dependency>& dependencies);

// Reports each negated or aggregated dependency inside one stratum; returns false if there is one.
bool check_stratification(const std::vector<Stratum>& strata,
                          const std::vector<Dependency>& dependencies,
                          const std::vector<RefusedAggregate>& refused,
                          const Declarations& declarations, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
