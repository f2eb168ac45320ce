// SPDX-License-Identifier: Apache-2.0
// why: breadth-first search backwards from the goal, one layer of tuples at a time, until a proof
// is known that nothing deeper can undercut. Where that asks for too much, as rules with several
// atoms of their own recursion do, heights are found forwards first, and then the best instance of
// each tuple on the way is all that is looked for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "datalog/prove/equivalence_chains.h"
#include "datalog/prove/forward_heights.h"
#include "datalog/prove/proof_graph.h"
#include "datalog/prove/proof_leaves.h"
#include "datalog/prove/proof_writer.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

class WhySearch {
 public:
  WhySearch(const StoredGoal& goal, StoredQuery& query, const ProofLeaves& leaves,
            const ProveOptions& options)
      : goal_(goal),
        program_(goal.program),
        query_(query),
        leaves_(leaves),
        options_(options),
        chains_(graph_),
        budget_(options.max_instances) {
    const QueryProgram& program = query.query();
    for (std::size_t q = 0; q < program.queries.size(); ++q)
      queries_of_[program.rules[program.queries[q].open_rule].rule.head].push_back(q);
    const auto& forward = query.query().forward;
    if (forward && forward->joins_itself) budget_ = std::min(budget_, kBackwardsFirst);
  }

  Result<Proof> run(std::span<const Cell> tuple) {
    const Status backwards = search_backwards(tuple);
    const bool gave_up = !is_lowest_ || backwards.code() == StatusCode::kNoSpace;
    if (gave_up && query_.query().forward) {
      const Status forwards = search_forwards(tuple);
      // What was found before is still a proof.
      if (!forwards.is_ok() && (forwards.code() != StatusCode::kNoSpace || !backwards.is_ok()))
        return forwards;
    } else if (!backwards.is_ok()) {
      return backwards;
    }
    if (graph_.height(root_) == ProofGraph::kUnproved) return no_proof();
    ProofWriter writer(program_, query_, graph_, leaves_, bounds_);
    STRATALOG_ASSIGN_OR_RETURN(Proof proof, writer.write(root_));
    proof.is_lowest = is_lowest_;
    return proof;
  }

 private:
  // With several atoms of one recursion in a rule, so many instances are tried before heights are
  // found forwards.
  static constexpr std::uint64_t kBackwardsFirst = 200'000;
  // For each instance that a search may look at, so many tuples may be found forwards.
  static constexpr std::uint64_t kTuplesForInstance = 16;

  Status search_backwards(std::span<const Cell> tuple) {
    root_ = node(goal_.relation, tuple);
    std::vector<NodeId> layer = std::exchange(fresh_, {});
    // After k layers every proof of height <= k is known.
    for (std::uint32_t k = 0; graph_.height(root_) > k; ++k) {
      if (layer.empty() && !give_inputs() && !give_bounds()) break;
      const Status expanded = expand(layer);
      chains_.connect();
      const bool gave_up = expanded.code() == StatusCode::kNoSpace;
      if (!expanded.is_ok() && (!gave_up || graph_.height(root_) == ProofGraph::kUnproved))
        return expanded;
      is_lowest_ = !gave_up;
      if (gave_up) break;
      layer = std::exchange(fresh_, {});
    }
    return {};
  }

  // Heights of all tuples up to the goal's, then down from the goal along the lowest instances.
  Status search_forwards(std::span<const Cell> tuple) {
    ForwardHeights heights(query_);
    STRATALOG_RETURN_IF_ERROR(heights.run(goal_.relation, tuple,
                                          leaves_.tuples_of_height_zero(query_),
                                          options_.max_instances * kTuplesForInstance));
    is_lowest_ = true;
    graph_ = ProofGraph();
    fresh_.clear();
    root_ = node(goal_.relation, tuple);
    for (std::vector<NodeId> layer = std::exchange(fresh_, {}); !layer.empty();
         layer = std::exchange(fresh_, {})) {
      lowest_.clear();
      heights_ = &heights;
      const Status expanded = expand(layer);
      heights_ = nullptr;
      STRATALOG_RETURN_IF_ERROR(expanded);
      std::vector<NodeId> premises;
      for (const auto& [head, best] : lowest_) {
        if (best.height == ForwardHeights::kNotReached) continue;
        premises.clear();
        for (const auto& [relation, cells] : best.premises)
          premises.push_back(node(relation, cells));
        graph_.add_instance(head, static_cast<std::uint32_t>(best.query), premises);
      }
    }
    while (graph_.height(root_) == ProofGraph::kUnproved && give_bounds()) {
    }
    return {};
  }

  // New tuples are facts, or wait for the next layer.
  NodeId node(RelationId relation, std::span<const Cell> tuple) {
    const std::size_t known = graph_.nodes();
    const NodeId n = graph_.node(relation, tuple);
    if (n < known) return n;
    if (leaves_.is_leaf(relation, tuple))
      graph_.mark_fact(n);
    else
      fresh_.push_back(n);
    return n;
  }

  Status expand(const std::vector<NodeId>& layer) {
    std::map<RelationId, std::vector<Cell>> goals;
    std::map<RelationId, std::size_t> counts;
    for (const NodeId n : layer) {
      const RelationId r = graph_.relation(n);
      if (is_equivalence(program_.relations[r])) {
        expand_class(n, goals[r], counts[r]);
        continue;
      }
      const auto tuple = graph_.tuple(n).first(program_.relations[r].attributes.size());
      goals[r].insert(goals[r].end(), tuple.begin(), tuple.end());
      ++counts[r];
    }
    for (const auto& [relation, count] : counts)
      for (const std::size_t q : queries_of_[relation])
        STRATALOG_RETURN_IF_ERROR(query_.answer(
            q, goals[relation], count, [&](const Batch& batch) { return take(q, batch); }));
    return {};
  }

  // A pair of a class may follow from all pairs that are given in it: those of rules are asked for
  // by their first elements, those of facts are known.
  void expand_class(NodeId pair, std::vector<Cell>& elements, std::size_t& count) {
    const RelationId r = graph_.relation(pair);
    const IntSet* members = query_.class_of(r, graph_.tuple(pair)[0]);
    const bool is_new = chains_.open(members);
    chains_.ask(members, pair);
    if (!is_new) return;
    members->walk([&](Cell cell) { elements.push_back(cell); });
    count += members->size();
    for (const auto& [tuple, rule] : leaves_.facts(r)) {
      if (query_.class_of(r, tuple[0]) != members) continue;
      const NodeId fact = graph_.node(r, tuple);
      graph_.mark_fact(fact);
      chains_.give(members, fact);
    }
  }

  Status take(std::size_t q, const Batch& batch) {
    const Query& query = query_.query().queries[q];
    const OpenRule& open = query_.query().rules[query.open_rule];
    if (heights_ != nullptr) return take_lowest(q, batch);
    std::vector<NodeId> premises;
    std::vector<Cell> tuple;
    for (std::uint32_t row = 0; row < batch.rows; ++row) {
      if (graph_.instances() >= budget_)
        return Status::no_space(
            fmt::format("the search for a proof found {} ways to apply rules and gave up; --limit "
                        "N allows more (about 100 bytes each)",
                        graph_.instances()));
      STRATALOG_RETURN_IF_ERROR(cells_of(open.goal, batch, row, tuple));
      const bool is_pair = is_equivalence(program_.relations[open.rule.head]);
      // The run may not have come to it yet.
      if (is_pair && !query_.contains(open.rule.head, tuple)) continue;
      const NodeId head = graph_.node(open.rule.head, tuple);
      if (is_pair) chains_.give(query_.class_of(open.rule.head, tuple[0]), head);
      premises.clear();
      for (const std::uint32_t l : query.literals) {
        const Literal& literal = open.rule.body[l];
        if (literal.kind != LiteralKind::kAtom) continue;
        STRATALOG_RETURN_IF_ERROR(cells_of(literal.atom.arguments, batch, row, tuple));
        premises.push_back(node(literal.atom.relation, tuple));
      }
      graph_.add_instance(head, static_cast<std::uint32_t>(q), premises);
    }
    return {};
  }

  // Of each goal, keeps the instance with the lowest premises.
  Status take_lowest(std::size_t q, const Batch& batch) {
    const Query& query = query_.query().queries[q];
    const OpenRule& open = query_.query().rules[query.open_rule];
    std::vector<Cell> tuple;
    for (std::uint32_t row = 0; row < batch.rows; ++row) {
      STRATALOG_RETURN_IF_ERROR(cells_of(open.goal, batch, row, tuple));
      LowestInstance& best = lowest_[graph_.node(open.rule.head, tuple)];
      LowestInstance found{.height = 0, .query = q, .premises = {}};
      for (const std::uint32_t l : query.literals) {
        const Literal& literal = open.rule.body[l];
        if (literal.kind != LiteralKind::kAtom) continue;
        STRATALOG_RETURN_IF_ERROR(cells_of(literal.atom.arguments, batch, row, tuple));
        found.height = std::max(found.height, heights_->height(literal.atom.relation, tuple));
        if (found.height >= best.height) break;
        found.premises.emplace_back(literal.atom.relation, tuple);
      }
      if (found.height < best.height) best = std::move(found);
    }
    return {};
  }

  Status cells_of(const std::vector<Argument>& arguments, const Batch& batch, std::uint32_t row,
                  std::vector<Cell>& tuple) {
    tuple.clear();
    for (const Argument& a : arguments) {
      if (a.kind == ArgumentKind::kVariable) {
        tuple.push_back(batch.columns[a.variable][row]);
        continue;
      }
      STRATALOG_ASSIGN_OR_RETURN(const Cell cell, query_.cell_of(a.constant));
      tuple.push_back(cell);
    }
    return {};
  }

  // Relations that have both rules and inputs: what no rule derives must have been read. False if
  // there is nothing of the kind.
  bool give_inputs() {
    bool gave = false;
    for (NodeId n = 0; n < graph_.nodes(); ++n) {
      if (graph_.height(n) != ProofGraph::kUnproved || graph_.has_instances(n)) continue;
      const Relation& relation = program_.relations[graph_.relation(n)];
      if (!is_read_from_files(relation) || is_equivalence(relation)) continue;
      graph_.mark_fact(n);
      gave = true;
    }
    return gave;
  }

  // Values of lattices that rules give together only, or that went through lower ones which are not
  // stored any more: first those that no rule gives, then all but the goal, then the goal itself.
  // False if there is nothing more of the kind.
  bool give_bounds() {
    std::vector<NodeId> bounds;
    std::vector<NodeId> underived;
    for (NodeId n = 0; n < graph_.nodes(); ++n) {
      if (!leaves_.has_bounds(graph_.relation(n)) || graph_.height(n) != ProofGraph::kUnproved)
        continue;
      if (n != root_) bounds.push_back(n);
      if (!graph_.has_instances(n)) underived.push_back(n);
    }
    if (!underived.empty()) bounds = std::move(underived);
    if (bounds.empty() && leaves_.has_bounds(goal_.relation) &&
        graph_.height(root_) == ProofGraph::kUnproved)
      bounds.push_back(root_);
    for (const NodeId n : bounds) graph_.mark_fact(n);
    bounds_.insert(bounds.begin(), bounds.end());
    return !bounds.empty();
  }

  Status no_proof() const {
    const std::string tuple =
        TupleText(program_, query_.values()).tuple(goal_.relation, graph_.tuple(root_));
    std::string mixed;
    for (NodeId n = 0; n < graph_.nodes() && mixed.empty(); ++n)
      if (is_read_from_files(program_.relations[graph_.relation(n)]) &&
          leaves_.is_derived(graph_.relation(n)))
        mixed = program_.relations[graph_.relation(n)].name;
    if (!mixed.empty())
      return Status::not_supported(fmt::format(
          "{} is there, but `{}` has both rules and .input, and the checkpoint does not say which "
          "of its tuples were read; read them into a relation of their own and add a rule",
          tuple, mixed));
    return Status::not_supported(fmt::format(
        "{} is there, but no proof is found among the tuples that are stored (it may stem from "
        "tuples that others have subsumed since)",
        tuple));
  }

  const StoredGoal& goal_;
  const Program& program_;
  StoredQuery& query_;
  const ProofLeaves& leaves_;
  const ProveOptions& options_;
  ProofGraph graph_;
  EquivalenceChains chains_;
  std::set<NodeId> bounds_;  // taken for leaves
  std::map<RelationId, std::vector<std::size_t>> queries_of_;
  struct LowestInstance {
    std::uint32_t height = ForwardHeights::kNotReached;  // of the highest premise
    std::size_t query = 0;
    std::vector<std::pair<RelationId, std::vector<Cell>>> premises;
  };
  std::uint64_t budget_ = 0;  // of instances, for the search backwards
  const ForwardHeights* heights_ = nullptr;  // while instances are looked for by height
  std::map<NodeId, LowestInstance> lowest_;
  NodeId root_ = 0;
  bool is_lowest_ = true;
  std::vector<NodeId> fresh_;
};

}  // namespace

RuleMention mention_of(const Rule& rule) {
  return {.text = rule.written.empty() ? rule.text : rule.written,
          .file = rule.place.file,
          .line = rule.place.line};
}

Result<Proof> why(Store& store, const StoredState& stored, const std::string& goal,
                  const ProveOptions& options) {
  STRATALOG_ASSIGN_OR_RETURN(const StoredGoal parsed,
                             parse_goal(stored, goal, options.program_name));
  QueryProgram query = QueryProgram::over(parsed.program, EquivalenceGoal::kElement);
  for (std::uint32_t r = 0; r < parsed.program.rules.size(); ++r) {
    if (!is_proof_rule(parsed.program.rules[r])) continue;
    query.rules.push_back(open_rule(parsed.program, r, Wildcards::kName));
    std::vector<std::uint32_t> all(query.rules.back().rule.body.size());
    for (std::uint32_t l = 0; l < all.size(); ++l) all[l] = l;
    query.add_query(static_cast<std::uint32_t>(query.rules.size() - 1), std::move(all));
  }
  query.add_forward(parsed.program, parsed.relation);
  STRATALOG_ASSIGN_OR_RETURN(
      const auto search,
      StoredQuery::open(store, stored, parsed.program, std::move(query), options.externals));
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<Cell> tuple,
                             search->load_for(parsed, Reach::kProofs));
  if (!search->contains(parsed.relation, tuple))
    return Status::not_found(
        fmt::format("{} is not in {}; `why-not` says where its rules fail",
                    TupleText(parsed.program, search->values()).tuple(parsed.relation, tuple),
                    stored.generation));
  STRATALOG_ASSIGN_OR_RETURN(const ProofLeaves leaves, ProofLeaves::of(parsed.program, *search));
  STRATALOG_RETURN_IF_ERROR(leaves.refuse_mixed_classes(*search));
  return WhySearch(parsed, *search, leaves, options).run(tuple);
}

}  // namespace stratalog::datalog
