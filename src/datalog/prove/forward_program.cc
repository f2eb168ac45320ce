// SPDX-License-Identifier: Apache-2.0
// QueryProgram::add_forward: the rules of all relations that a goal can need, over relations that
// grow from nothing. See query_program.h.
#include <algorithm>
#include <set>
#include <utility>

#include "datalog/prove/query_program.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// The goal's relation and all that rules read positively for it.
std::set<RelationId> needed_for(const Program& program, RelationId goal) {
  std::set<RelationId> needed{goal};
  for (std::size_t before = 0; before != needed.size();) {
    before = needed.size();
    for (const Rule& rule : program.rules) {
      if (!is_proof_rule(rule) || !needed.contains(rule.head)) continue;
      for (const Literal& literal : rule.body)
        if (literal.kind == LiteralKind::kAtom) needed.insert(literal.atom.relation);
    }
  }
  return needed;
}

bool is_member_of(const Stratum& stratum, RelationId relation) {
  return std::binary_search(stratum.relations.begin(), stratum.relations.end(), relation);
}

// Whether a rule has several atoms of the recursion that it belongs to.
bool joins_own_recursion(const Program& program, const Rule& rule) {
  return std::any_of(program.strata.begin(), program.strata.end(), [&](const Stratum& stratum) {
    return stratum.is_recursive && is_member_of(stratum, rule.head) &&
           std::count_if(rule.body.begin(), rule.body.end(), [&](const Literal& literal) {
             return literal.kind == LiteralKind::kAtom &&
                    is_member_of(stratum, literal.atom.relation);
           }) > 1;
  });
}

// Columns of each relation in which every tuple that the goal asks for has the same value; cells
// are stand-ins, since only the pattern counts.
Demand pattern_of(const QueryProgram& query, RelationId goal) {
  constexpr Cell kFirstConstant = 1U << 16U;
  std::vector<Cell> tuple(query.program.relations[goal].attributes.size());
  for (std::size_t c = 0; c < tuple.size(); ++c) tuple[c] = static_cast<Cell>(c);
  Cell next = kFirstConstant;
  return demand_of(query, goal, tuple, Reach::kProofs, [&](const Expression&) { return next++; });
}

// Whether only stored tuples may be derived: where something other than the rules decides which
// ones stay, where the rules do not say all, or where the goal asks for few of them.
bool is_guarded(const Program& program, RelationId relation, const Demand& pattern) {
  const Relation& declared = program.relations[relation];
  return !declared.choice_keys.empty() || declared.size_limit || declared.numbering ||
         shrinks(declared) ||
         (pattern[relation] &&
          std::any_of(pattern[relation]->begin(), pattern[relation]->end(),
                      [](const std::optional<Cell>& cell) { return cell.has_value(); }));
}

Literal atom_of(RelationId relation, std::vector<Argument> arguments, const SourcePlace& place) {
  Literal literal;
  literal.kind = LiteralKind::kAtom;
  literal.atom = {.relation = relation, .arguments = std::move(arguments), .place = place};
  literal.place = place;
  return literal;
}

}  // namespace

void QueryProgram::add_forward(const Program& original, RelationId goal) {
  const std::set<RelationId> needed = needed_for(original, goal);
  for (const RelationId r : needed) {
    const bool has_rules = std::any_of(original.rules.begin(), original.rules.end(),
                                       [&](const Rule& rule) { return rule.head == r; });
    if (is_equivalence(original.relations[r]) ||
        (has_rules && is_read_from_files(original.relations[r])))
      return;
  }
  ForwardProgram made;
  made.reached.resize(original.relations.size());
  Stratum stratum;
  stratum.is_recursive = true;
  const auto add_relation = [&](Relation relation) {
    const auto id = static_cast<RelationId>(program.relations.size());
    program.relations.push_back(std::move(relation));
    stratum.relations.push_back(id);
    return id;
  };
  for (const RelationId r : needed) {
    Relation reached;
    reached.name = "reached " + original.relations[r].name;
    reached.attributes = original.relations[r].attributes;
    reached.structures = original.relations[r].structures;
    reached.place = original.relations[r].place;
    made.reached[r] = add_relation(std::move(reached));
  }
  Relation start;
  start.name = "start of all proofs";
  made.start = add_relation(std::move(start));

  const Demand pattern = pattern_of(*this, goal);
  for (std::uint32_t r = 0; r < original.rules.size(); ++r) {
    if (!is_proof_rule(original.rules[r]) || !needed.contains(original.rules[r].head)) continue;
    OpenRule open = open_rule(original, r, Wildcards::kKeep);
    Rule& rule = open.rule;
    made.joins_itself |= joins_own_recursion(original, rule);
    bool has_premise = false;
    for (Literal& literal : rule.body) {
      if (literal.kind != LiteralKind::kAtom) continue;
      literal.atom.relation = *made.reached[literal.atom.relation];
      has_premise = true;
    }
    if (!has_premise) rule.body.push_back(atom_of(made.start, {}, rule.place));
    if (is_guarded(original, rule.head, pattern))
      rule.body.push_back(atom_of(rule.head, open.goal, rule.place));
    rule.head = *made.reached[rule.head];
    stratum.rules.push_back(static_cast<std::uint32_t>(program.rules.size()));
    program.rules.push_back(std::move(rule));
  }
  made.stratum = static_cast<std::uint32_t>(program.strata.size());
  program.strata.push_back(std::move(stratum));
  forward = std::move(made);
}

}  // namespace stratalog::datalog
