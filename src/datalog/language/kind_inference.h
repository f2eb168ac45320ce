// SPDX-License-Identifier: Apache-2.0
// Kinds: which of number, unsigned, float, symbol and record every variable, constant and
// expression of a rule is. All operands that must agree are united into classes; every use narrows
// its class; a class that runs empty is a clash, reported with both uses. Integer constants adapt
// to their class. Local.
#pragma once

#include <string_view>
#include <vector>

#include "datalog/language/bound_rule.h"
#include "datalog/language/declarations.h"

namespace stratalog::datalog::language {

struct InferredKinds {
  bool is_ok = true;
  std::vector<ValueKind> kinds;  // by KindNode; the variables of the rule come first
  std::vector<StructureId> structures;  // by KindNode: the types of structured values
};

// Sets BoundTerm::node in the rule. `text` is the expanded program, to quote from.
InferredKinds infer_kinds(BoundRule& rule, const Declarations& declarations, const TypeTable& types,
                          std::string_view text, DiagnosticSink& sink);

// The 64 bits of a numeric constant. Returns false and sets `problem` when the digits do not fit
// the kind.
bool constant_bits(const Term& constant, ValueKind kind, std::uint64_t& bits, std::string& problem);

}  // namespace stratalog::datalog::language
