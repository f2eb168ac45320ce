// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/aggregate_projections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace stratalog::datalog::language {

std::vector<BoundRule> AggregateProjections::apply(BoundRule& rule) {
  std::vector<BoundRule> added;
  visit(rule.body, nullptr, added);
  return added;
}

// `around`: the aggregate whose body the literals are; null outside.
void AggregateProjections::visit(std::vector<BoundLiteral>& literals, const BoundAggregate* around,
                                 std::vector<BoundRule>& added) {
  // The least and the greatest value are the same however often they are met.
  const bool counts = around != nullptr && around->function != AggregateFunction::kMin &&
                      around->function != AggregateFunction::kMax;
  for (BoundLiteral& literal : literals) {
    if (literal.aggregate) visit(literal.aggregate->body, literal.aggregate.get(), added);
    const bool has_wildcard =
        std::any_of(literal.atom.arguments.begin(), literal.atom.arguments.end(),
                    [](const BoundTerm& term) { return term.kind == BoundTermKind::kWildcard; });
    if (counts && literal.kind == LiteralKind::kAtom && has_wildcard) project(literal, added);
  }
}

void AggregateProjections::project(BoundLiteral& literal, std::vector<BoundRule>& added) {
  BoundAtom& atom = literal.atom;
  std::vector<std::size_t> kept;
  for (std::size_t c = 0; c < atom.arguments.size(); ++c) {
    if (atom.arguments[c].kind != BoundTermKind::kWildcard) kept.push_back(c);
  }
  const std::string key = fmt::format("{}:{}", atom.relation, fmt::join(kept, ","));
  const auto [entry, is_new] = known_.try_emplace(key, 0);
  if (is_new) {
    entry->second = declare(literal, kept);
    BoundRule& rule = added.emplace_back();
    rule.head = entry->second;
    rule.head_span = literal.span;
    rule.span = literal.span;
    BoundLiteral& read = rule.body.emplace_back();
    read.span = literal.span;
    read.atom.relation = atom.relation;
    read.atom.span = literal.span;
    for (std::size_t c = 0; c < atom.arguments.size(); ++c) {
      BoundTerm& term = read.atom.arguments.emplace_back();
      term.span = literal.span;
      if (!std::binary_search(kept.begin(), kept.end(), c)) continue;
      term.kind = BoundTermKind::kVariable;
      term.variable = static_cast<VariableId>(rule.variables.size());
      const std::string& name = declarations_.relations[atom.relation].attributes[c].name;
      rule.variables.push_back({name, literal.span, false});
      rule.head_arguments.push_back(term);
    }
  }
  atom.relation = entry->second;
  std::vector<BoundTerm> arguments;
  arguments.reserve(kept.size());
  for (const std::size_t c : kept) arguments.push_back(std::move(atom.arguments[c]));
  atom.arguments = std::move(arguments);
}

RelationId AggregateProjections::declare(const BoundLiteral& literal,
                                         const std::vector<std::size_t>& kept) {
  const std::string& name = declarations_.relations[literal.atom.relation].name;
  const RelationId id =
      add_made_relation(name.substr(0, name.find('#')), literal.span, declarations_);
  const Relation& source = declarations_.relations[literal.atom.relation];
  for (const std::size_t c : kept) {
    declarations_.relations[id].attributes.push_back(source.attributes[c]);
    declarations_.attribute_spans[id].push_back(
        declarations_.attribute_spans[literal.atom.relation][c]);
  }
  return id;
}

}  // namespace stratalog::datalog::language
