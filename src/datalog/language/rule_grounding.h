// SPDX-License-Identifier: Apache-2.0
// Groundedness: every variable of a rule must get its value from a positive atom, an equality with
// something evaluable, an aggregate or a range. Equations are turned so that the variable they bind
// stands on the left. Local.
#pragma once

#include "datalog/language/bound_rule.h"
#include "datalog/language/diagnostic_sink.h"

namespace stratalog::datalog::language {

// Returns false after reporting all ungrounded variables of the rule.
bool check_grounding(BoundRule& rule, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
