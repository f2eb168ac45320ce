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
#include "datalog/prove/made_relations.h"
#include "datalog/prove/proof_graph.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

class WhySearch {
 public:
  WhySearch(const StoredGoal& goal, StoredQuery& query, const ProveOptions& options)
      : goal_(goal),
        program_(goal.program),
        query_(query),
        options_(options),
        text_(program_, query.values()),
        chains_(graph_),
        derived_(program_.relations.size(), false),
        has_bounds_(program_.relations.size(), false),
        facts_(program_.relations.size()),
        budget_(options.max_instances) {
    const auto& forward = query.query().forward;
    if (forward && forward->joins_itself) budget_ = std::min(budget_, kBackwardsFirst);
  }

  Result<Proof> run(std::span<const Cell> tuple) {
    STRATALOG_RETURN_IF_ERROR(prepare());
    STRATALOG_RETURN_IF_ERROR(refuse_mixed_classes());
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
    return write_proof();
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
    STRATALOG_RETURN_IF_ERROR(heights.run(goal_.relation, tuple, tuples_of_height_zero(),
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

  // What is read or stands in the program.
  std::vector<TupleColumns> tuples_of_height_zero() {
    std::vector<TupleColumns> tuples(program_.relations.size());
    const auto& reached = query_.query().forward->reached;
    for (RelationId r = 0; r < reached.size(); ++r) {
      if (!reached[r]) continue;
      tuples[r].columns.resize(program_.relations[r].attributes.size());
      const auto add = [&](std::span<const Cell> tuple) {
        for (std::size_t c = 0; c < tuples[r].columns.size(); ++c)
          tuples[r].columns[c].push_back(tuple[c]);
        ++tuples[r].rows;
      };
      // Bounds are above what rules give from the front, and all rules start from the bounds.
      if (!derived_[r] || has_bounds_[r]) query_.for_each_tuple(r, add);
      for (const auto& [tuple, rule] : facts_[r]) add(tuple);
    }
    return tuples;
  }

  Status prepare() {
    for (std::uint32_t r = 0; r < program_.rules.size(); ++r) {
      const Rule& rule = program_.rules[r];
      if (rule.unites_values) has_bounds_[rule.head] = true;
      if (rule.role == RuleRole::kSubsumes) continue;
      if (!rule.body.empty()) derived_[rule.head] = true;
      if (!rule.body.empty()) continue;
      std::vector<Cell> tuple;
      for (const Expression& e : rule.head_arguments) {
        STRATALOG_ASSIGN_OR_RETURN(const Cell cell, query_.cell_of(e));
        tuple.push_back(cell);
      }
      facts_[rule.head].emplace(std::move(tuple), r);
    }
    const QueryProgram& query = query_.query();
    for (std::size_t q = 0; q < query.queries.size(); ++q)
      queries_of_[query.rules[query.queries[q].open_rule].rule.head].push_back(q);
    return {};
  }

  // The classes that a checkpoint keeps do not say which of their pairs were read.
  Status refuse_mixed_classes() const {
    for (RelationId r = 0; r < program_.relations.size(); ++r) {
      const Relation& relation = program_.relations[r];
      if (is_equivalence(relation) && is_read_from_files(relation) && query_.is_loaded(r) &&
          (derived_[r] || !facts_[r].empty()))
        return Status::not_supported(fmt::format(
            "the equivalence relation `{}` has both rules and .input, and the checkpoint does not "
            "say which of its pairs were read; read them into a relation of their own and add a "
            "rule",
            relation.name));
    }
    return {};
  }

  bool is_leaf(RelationId relation, std::span<const Cell> tuple) const {
    if (is_equivalence(program_.relations[relation]))
      return is_read_from_files(program_.relations[relation]);
    return !derived_[relation] || facts_[relation].contains({tuple.begin(), tuple.end()});
  }

  // New tuples are facts, or wait for the next layer.
  NodeId node(RelationId relation, std::span<const Cell> tuple) {
    const std::size_t known = graph_.nodes();
    const NodeId n = graph_.node(relation, tuple);
    if (n < known) return n;
    if (is_leaf(relation, tuple))
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
    for (const auto& [tuple, rule] : facts_[r]) {
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
      if (!has_bounds_[graph_.relation(n)] || graph_.height(n) != ProofGraph::kUnproved) continue;
      if (n != root_) bounds.push_back(n);
      if (!graph_.has_instances(n)) underived.push_back(n);
    }
    if (!underived.empty()) bounds = std::move(underived);
    if (bounds.empty() && has_bounds_[goal_.relation] &&
        graph_.height(root_) == ProofGraph::kUnproved)
      bounds.push_back(root_);
    for (const NodeId n : bounds) graph_.mark_fact(n);
    bounds_.insert(bounds.begin(), bounds.end());
    return !bounds.empty();
  }

  Status no_proof() const {
    const std::string tuple = text_.tuple(goal_.relation, graph_.tuple(root_));
    std::string mixed;
    for (NodeId n = 0; n < graph_.nodes() && mixed.empty(); ++n)
      if (is_read_from_files(program_.relations[graph_.relation(n)]) &&
          derived_[graph_.relation(n)])
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

  Proof write_proof() {
    Proof proof;
    proof.is_lowest = is_lowest_;
    std::map<NodeId, std::uint32_t> number;
    std::vector<NodeId> order;
    const auto number_of = [&](NodeId n) {
      const auto [at, is_new] = number.try_emplace(n, static_cast<std::uint32_t>(order.size()));
      if (is_new) order.push_back(n);
      return at->second;
    };
    number_of(root_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const NodeId n = order[i];
      ProofNode entry = describe(n);
      if (graph_.best(n) != ProofGraph::kNone)
        for (const NodeId premise : graph_.premises(graph_.best(n)))
          entry.premises.push_back(number_of(premise));
      proof.nodes.push_back(std::move(entry));
    }
    std::vector<bool> is_made;
    is_made.reserve(order.size());
    for (const NodeId n : order)
      is_made.push_back(is_made_relation(program_.relations[graph_.relation(n)]));
    return without_made_relations(std::move(proof), is_made);
  }

  // Stated like other aggregates: which of its terms were there first is not stored.
  bool is_sum(const Atom& atom) const { return program_.relations[atom.relation].sums.has_value(); }

  // What stands for a rule where the declaration itself gives a tuple.
  RuleMention declaration_that(RelationId relation, const char* says) const {
    const Relation& declared = program_.relations[relation];
    return {.text = fmt::format("{} {}", declared.name, says),
            .file = declared.place.file,
            .line = declared.place.line};
  }

  ProofNode describe(NodeId n) {
    ProofNode entry;
    const RelationId relation = graph_.relation(n);
    entry.tuple = text_.tuple(relation, graph_.tuple(n));
    entry.height = graph_.height(n);
    if (graph_.best(n) == ProofGraph::kNone) {
      const auto tuple = graph_.tuple(n).first(program_.relations[relation].attributes.size());
      const auto fact = facts_[relation].find({tuple.begin(), tuple.end()});
      if (bounds_.contains(n)) {
        entry.kind = ProofKind::kLeastUpperBound;
        entry.rule = declaration_that(relation, "keeps the least upper bound for each key");
        return entry;
      }
      if (fact == facts_[relation].end()) return entry;
      entry.kind = ProofKind::kFact;
      entry.rule = mention_of(program_.rules[fact->second]);
      return entry;
    }
    const InstanceId best = graph_.best(n);
    if (graph_.rule(best) == EquivalenceChains::kChain) {
      entry.kind = ProofKind::kEquivalent;
      entry.rule = declaration_that(relation, "is an equivalence relation");
      return entry;
    }
    const Query& query = query_.query().queries[graph_.rule(best)];
    const OpenRule& open = query_.query().rules[query.open_rule];
    entry.kind = ProofKind::kDerived;
    entry.rule = mention_of(open.rule);
    const Bindings bindings = bindings_of(open, query, n, graph_.premises(best));
    for (std::uint32_t l = 0; l < open.written; ++l)
      if (const Literal& literal = open.rule.body[l]; literal.kind == LiteralKind::kAtom
                                                          ? is_sum(literal.atom)
                                                          : literal.record_use != RecordUse::kFound)
        entry.conditions.push_back(text_.literal(open.rule, literal, bindings));
    if (program_.relations[relation].numbering)
      entry.conditions.push_back(text_.number(relation, graph_.tuple(n).back()));
    add_choice(relation, entry);
    return entry;
  }

  void add_choice(RelationId relation, ProofNode& entry) const {
    const Relation& declared = program_.relations[relation];
    for (const std::vector<std::uint32_t>& key : declared.choice_keys) {
      std::string columns;
      for (const std::uint32_t c : key)
        columns += (columns.empty() ? "" : ", ") + declared.attributes[c].name;
      entry.conditions.push_back(fmt::format("chosen for its ({})", columns));
    }
  }

  // What the tuples of an instance say about the rule's variables.
  Bindings bindings_of(const OpenRule& open, const Query& query, NodeId head,
                       std::span<const NodeId> premises) const {
    Bindings bindings(open.rule.variables.size());
    const auto bind = [&](const std::vector<Argument>& arguments, NodeId n) {
      for (std::size_t c = 0; c < arguments.size(); ++c)
        if (arguments[c].kind == ArgumentKind::kVariable)
          bindings[arguments[c].variable] = graph_.tuple(n)[c];
    };
    bind(open.goal, head);
    std::size_t next = 0;
    for (const std::uint32_t l : query.literals)
      if (open.rule.body[l].kind == LiteralKind::kAtom)
        bind(open.rule.body[l].atom.arguments, premises[next++]);
    // `t = n` of a head column that an aggregate or a range fills: the other way round.
    for (std::size_t l = open.written; l < open.rule.body.size(); ++l) {
      const Literal& check = open.rule.body[l];
      if (check.right.kind == ExpressionKind::kVariable)
        bindings[check.right.variable] = bindings[check.left.variable];
    }
    return bindings;
  }

  const StoredGoal& goal_;
  const Program& program_;
  StoredQuery& query_;
  const ProveOptions& options_;
  TupleText text_;
  ProofGraph graph_;
  EquivalenceChains chains_;
  std::vector<bool> derived_;  // by relation: whether rules with bodies fill it
  std::vector<bool> has_bounds_;  // by relation: whether its values are joined
  std::set<NodeId> bounds_;  // taken for leaves
  std::vector<std::map<std::vector<Cell>, std::uint32_t>> facts_;  // of the program, to their rules
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
  return WhySearch(parsed, *search, options).run(tuple);
}

}  // namespace stratalog::datalog
