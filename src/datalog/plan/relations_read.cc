// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/relations_read.h"

#include <cstdint>

namespace stratalog::datalog {
namespace {

void collect_read(const Literal& literal, std::set<RelationId>& read) {
  if (reads_atom(literal)) read.insert(literal.atom.relation);
  if (literal.aggregate)
    for (const Literal& inner : literal.aggregate->body) collect_read(inner, read);
}

}  // namespace

std::set<RelationId> relations_read(const Program& program, const Stratum& stratum) {
  std::set<RelationId> read;
  for (const auto* rules : {&stratum.rules, &stratum.subsumptions})
    for (const std::uint32_t r : *rules)
      for (const Literal& literal : program.rules[r].body) collect_read(literal, read);
  for (const RelationId r : stratum.relations)
    if (program.relations[r].numbering) read.insert(program.relations[r].numbering->source);
  return read;
}

}  // namespace stratalog::datalog
