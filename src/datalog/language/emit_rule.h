// SPDX-License-Identifier: Apache-2.0
// Emission: a bound, typed and grounded rule becomes a datalog::Rule. Cannot fail. Local.
#pragma once

#include "datalog/language/bound_rule.h"
#include "datalog/language/kind_inference.h"
#include "datalog/language/source_map.h"

namespace stratalog::datalog::language {

// Adds the shapes of records without a declared type to `structures`. Rule::text stays empty;
// compile() fills it in once all relations are known.
Rule emit_rule(const BoundRule& rule, const InferredKinds& kinds, const Declarations& declarations,
               StructureTable& structures, const SourceMap& map);

}  // namespace stratalog::datalog::language
