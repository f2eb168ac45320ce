// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/proof_writer.h"

#include <fmt/format.h>

#include <utility>

#include "datalog/prove/equivalence_chains.h"
#include "datalog/prove/made_relations.h"
#include "datalog/prove/written_body.h"

namespace stratalog::datalog {
namespace {

// Tells instances of one query apart: values of variables of the goal, then of the atoms.
using InstanceKey = std::vector<Cell>;

void append_cells(const std::vector<Argument>& arguments, std::span<const Cell> tuple,
                  InstanceKey& key) {
  for (std::size_t c = 0; c < arguments.size(); ++c)
    if (arguments[c].kind == ArgumentKind::kVariable) key.push_back(tuple[c]);
}

void append_cells(const std::vector<Argument>& arguments, const Batch& batch, std::uint32_t row,
                  InstanceKey& key) {
  for (const Argument& a : arguments)
    if (a.kind == ArgumentKind::kVariable) key.push_back(batch.columns[a.variable][row]);
}

InstanceKey key_of(const OpenRule& open, const Query& query, const ProofGraph& graph, NodeId n) {
  InstanceKey key;
  append_cells(open.goal, graph.tuple(n), key);
  const std::span<const NodeId> premises = graph.premises(graph.best(n));
  std::size_t next = 0;
  for (const std::uint32_t l : query.literals)
    if (open.rule.body[l].kind == LiteralKind::kAtom)
      append_cells(open.rule.body[l].atom.arguments, graph.tuple(premises[next++]), key);
  return key;
}

void set_key(const OpenRule& open, const Query& query, const Batch& batch, std::uint32_t row,
             InstanceKey& key) {
  key.clear();
  append_cells(open.goal, batch, row, key);
  for (const std::uint32_t l : query.literals)
    if (open.rule.body[l].kind == LiteralKind::kAtom)
      append_cells(open.rule.body[l].atom.arguments, batch, row, key);
}

Bindings bindings_of(const Batch& batch, std::uint32_t row, std::size_t variables) {
  Bindings bindings(variables);
  for (VariableId v = 0; v < variables && v < batch.columns.size(); ++v)
    if (!batch.columns[v].empty()) bindings[v] = batch.columns[v][row];
  return bindings;
}

}  // namespace

Result<Proof> ProofWriter::write(NodeId root) {
  std::map<NodeId, std::uint32_t> number = {{root, 0}};
  std::vector<NodeId> order = {root};
  std::vector<std::vector<std::uint32_t>> premises;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::vector<std::uint32_t>& below = premises.emplace_back();
    if (graph_.best(order[i]) == ProofGraph::kNone) continue;
    for (const NodeId premise : graph_.premises(graph_.best(order[i]))) {
      const auto [at, is_new] =
          number.try_emplace(premise, static_cast<std::uint32_t>(order.size()));
      if (is_new) order.push_back(premise);
      below.push_back(at->second);
    }
  }
  STRATALOG_RETURN_IF_ERROR(find_conditions(order));
  Proof proof;
  std::vector<bool> is_made;
  for (std::size_t i = 0; i < order.size(); ++i) {
    proof.nodes.push_back(describe(order[i]));
    proof.nodes.back().premises = std::move(premises[i]);
    is_made.push_back(is_made_relation(program_.relations[graph_.relation(order[i])]));
  }
  return without_made_relations(std::move(proof), is_made);
}

Status ProofWriter::find_conditions(std::span<const NodeId> nodes) {
  std::map<std::size_t, std::vector<NodeId>> derived_by;
  for (const NodeId n : nodes)
    if (graph_.best(n) != ProofGraph::kNone &&
        graph_.rule(graph_.best(n)) != EquivalenceChains::kChain)
      derived_by[graph_.rule(graph_.best(n))].push_back(n);
  for (const auto& [query, derived] : derived_by)
    STRATALOG_RETURN_IF_ERROR(ask_again(query, derived));
  return {};
}

Status ProofWriter::ask_again(std::size_t which, std::span<const NodeId> nodes) {
  const Query& query = query_.query().queries[which];
  const OpenRule& open = query_.query().rules[query.open_rule];
  const std::vector<std::uint32_t> shown = conditions_of(open);
  if (shown.empty()) return {};
  const QueryProgram& program = query_.query();
  const std::size_t width =
      program.program.relations[program.goals[open.rule.head]].attributes.size();
  std::map<InstanceKey, NodeId> wanted;
  std::vector<Cell> goals;
  for (const NodeId n : nodes) {
    wanted.emplace(key_of(open, query, graph_, n), n);
    const auto goal = graph_.tuple(n).first(width);
    goals.insert(goals.end(), goal.begin(), goal.end());
  }
  InstanceKey key;
  const Status status = query_.answer(which, goals, nodes.size(), [&](const Batch& batch) {
    for (std::uint32_t row = 0; row < batch.rows && !wanted.empty(); ++row) {
      set_key(open, query, batch, row, key);
      const auto found = wanted.find(key);
      if (found == wanted.end()) continue;
      // Values that are not stored are known only here.
      const Bindings bindings = bindings_of(batch, row, open.rule.variables.size());
      for (const std::uint32_t l : shown)
        conditions_[found->second].push_back(text_.literal(open.rule, open.rule.body[l], bindings));
      wanted.erase(found);
    }
    return wanted.empty() ? Status::cancelled("all are known") : Status();
  });
  return wanted.empty() ? Status() : status;
}

// Literals that are no premises. Sums are stated like other aggregates: which of their terms were
// there first is not stored.
std::vector<std::uint32_t> ProofWriter::conditions_of(const OpenRule& open) const {
  std::vector<std::uint32_t> conditions;
  const auto written = std::span(open.rule.body).first(open.written);
  for (const WrittenLiteral& each : written_body(written, open.rule.variables)) {
    const Literal& literal = written[each.shown];
    if (literal.kind != LiteralKind::kAtom || program_.relations[literal.atom.relation].sums)
      conditions.push_back(each.shown);
  }
  return conditions;
}

// What stands for a rule where the declaration itself gives a tuple.
RuleMention ProofWriter::declaration_that(RelationId relation, const char* says) const {
  const Relation& declared = program_.relations[relation];
  return {.text = fmt::format("{} {}", declared.name, says),
          .file = declared.place.file,
          .line = declared.place.line};
}

ProofNode ProofWriter::describe(NodeId n) const {
  const InstanceId best = graph_.best(n);
  ProofNode entry;
  if (best == ProofGraph::kNone) {
    entry = describe_leaf(n);
  } else if (graph_.rule(best) == EquivalenceChains::kChain) {
    entry.kind = ProofKind::kEquivalent;
    entry.rule = declaration_that(graph_.relation(n), "is an equivalence relation");
  } else {
    entry = describe_derived(n, graph_.rule(best));
  }
  entry.tuple = text_.tuple(graph_.relation(n), graph_.tuple(n));
  entry.height = graph_.height(n);
  return entry;
}

ProofNode ProofWriter::describe_leaf(NodeId n) const {
  ProofNode entry;
  const RelationId relation = graph_.relation(n);
  if (bounds_.contains(n)) {
    entry.kind = ProofKind::kLeastUpperBound;
    entry.rule = declaration_that(relation, "keeps the least upper bound for each key");
  } else if (const auto fact = leaves_.find_fact(relation, graph_.tuple(n))) {
    entry.kind = ProofKind::kFact;
    entry.rule = mention_of(program_.rules[*fact]);
  }
  return entry;
}

ProofNode ProofWriter::describe_derived(NodeId n, std::size_t query) const {
  ProofNode entry;
  const RelationId relation = graph_.relation(n);
  entry.kind = ProofKind::kDerived;
  entry.rule = mention_of(query_.query().rules[query_.query().queries[query].open_rule].rule);
  if (const auto found = conditions_.find(n); found != conditions_.end())
    entry.conditions = found->second;
  if (program_.relations[relation].numbering)
    entry.conditions.push_back(text_.number(relation, graph_.tuple(n).back()));
  add_choice(relation, entry);
  return entry;
}

void ProofWriter::add_choice(RelationId relation, ProofNode& entry) const {
  const Relation& declared = program_.relations[relation];
  for (const std::vector<std::uint32_t>& key : declared.choice_keys) {
    std::string columns;
    for (const std::uint32_t c : key)
      columns += (columns.empty() ? "" : ", ") + declared.attributes[c].name;
    entry.conditions.push_back(fmt::format("chosen for its ({})", columns));
  }
}

}  // namespace stratalog::datalog
