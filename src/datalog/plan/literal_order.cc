// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/literal_order.h"

#include <algorithm>
#include <utility>

#include "datalog/partial_functors.h"
#include "datalog/plan/body_facts.h"
#include "datalog/plan/bound_values.h"
#include "datalog/plan/bounded_column.h"
#include "datalog/plan/index_selection.h"
#include "datalog/plan/variable_set.h"

namespace stratalog::datalog {
namespace {

// So many beginnings of an order are looked at for a rule: all of them up to five atoms, and the
// more promising ones beyond.
constexpr std::size_t kMostOrders = 600;
// To sort a tuple into an index takes as long as so many intermediate tuples.
constexpr double kTuplesToIndex = 4;

// To begin elsewhere than with new tuples must promise so many times less work. Costs are those of
// one round, of which there are no more than new tuples.
constexpr double kWorthAllRounds = 2;
bool is_free_variable(const Expression& e, const VariableSet& bound) {
  return e.kind == ExpressionKind::kVariable && !bound.contains(e.variable);
}

enum class Keeps : std::uint8_t { kCost, kOrder };

// The beginning of an order, and what it costs.
class Beginning {
 public:
  Beginning(const BodyFacts& common, Keeps keeps)
      : common_(&common), known_(common), keeps_(keeps), used_(common.literals.size(), 0) {}

  void place_atom(std::uint32_t l, StepKind kind) {
    const Atom& atom = body()[l].atom;
    const bool begins_with_delta = kind == StepKind::kScanDelta && is_empty_;
    const double bindings = tuples_;
    if (begins_with_delta)
      tuples_ = std::max(1.0, known_.rows(atom.relation) / 16);
    else
      tuples_ *= growth(l);
    cost_ += tuples_ + 1;
    if (kind == StepKind::kScan && common_->relations != nullptr) cost_ += cost_of_index(atom);
    atoms_.push_back(l);
    note({.literal = l, .kind = kind, .bound = {}, .target = 0, .assign_from_left = false},
         [&](OrderedLiteral& placed) {
           placed.bindings = bindings;
           if (!begins_with_delta) placed.bound = known_.columns_of(atom);
         });
    used_[l] = 1;
    known_.bind_atom(l);
  }

  // Tests without functors go before whatever computes, so that `y != 0` guards `x / y` wherever it
  // is written. So do atoms that hold what a computation which can fail is made of: `nonzero(y)`.
  void place_ready_constraints() {
    while (place_one_constraint(Computing::kNone) || place_one_constraint(Computing::kAllowed)) {
    }
  }

  // Atoms that are not placed yet, the one with the fewest expected tuples first; ties as in the
  // source.
  std::vector<std::uint32_t> atoms_left() const {
    std::vector<std::uint32_t> atoms;
    std::vector<double> tuples(body().size(), 0);
    for (std::uint32_t l = 0; l < body().size(); ++l) {
      if (used_[l] != 0 || body()[l].kind != LiteralKind::kAtom) continue;
      atoms.push_back(l);
      tuples[l] = growth(l);
    }
    std::stable_sort(atoms.begin(), atoms.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return tuples[a] < tuples[b]; });
    return atoms;
  }

  // False at the end if some literal can never be evaluated (the language stage rules that out).
  bool is_complete() const {
    return std::all_of(used_.begin(), used_.end(), [](char u) { return u != 0; });
  }

  double cost() const { return cost_; }
  const std::vector<std::uint32_t>& atoms() const { return atoms_; }
  std::vector<OrderedLiteral> take_order() { return std::move(order_); }

 private:
  const std::vector<Literal>& body() const { return common_->literals; }

  // A search for an order needs no more of it than its atoms.
  template <typename Fill>
  void note(OrderedLiteral placed, const Fill& fill) {
    is_empty_ = false;
    if (keeps_ == Keeps::kCost) return;
    fill(placed);
    order_.push_back(std::move(placed));
  }

  // Shared with whoever else searches in it.
  double cost_of_index(const Atom& atom) const {
    const RelationPlan& relation = (*common_->relations)[atom.relation];
    const std::vector<std::uint32_t> bound = known_.columns_of(atom);
    if (!relation.needs_indices || bound.empty() || bound.size() == atom.arguments.size()) return 0;
    std::uint32_t readers = 1;
    for (std::size_t i = 0; i < relation.indices.size(); ++i) {
      const IndexPlan& index = relation.indices[i];
      if (!serves_search(relation, index, bound)) continue;
      if (i == relation.primary || index.is_there) return 0;
      readers = std::max(readers, index.readers);
    }
    return kTuplesToIndex * known_.rows(atom.relation) / readers;
  }

  // Times as many bindings there are behind an atom. Behind one that nobody reads anything of there
  // are no more than before it, however many tuples it has.
  double growth(std::uint32_t l) const {
    const double tuples = known_.fanout(l);
    return tuples > 1 && only_tests(l) ? 1 : tuples;
  }

  // Whether nobody reads what the atom would bind.
  bool only_tests(std::uint32_t l) const {
    if (!common_->read_after) return false;
    const std::vector<Argument>& arguments = body()[l].atom.arguments;
    for (std::uint32_t c = 0; c < arguments.size(); ++c) {
      if (arguments[c].kind != ArgumentKind::kVariable ||
          known_.variables().contains(arguments[c].variable))
        continue;
      const VariableId v = arguments[c].variable;
      if (common_->read_after->contains(v)) return false;
      for (std::uint32_t other = c + 1; other < arguments.size(); ++other)
        if (arguments[other].kind == ArgumentKind::kVariable && arguments[other].variable == v)
          return false;
      for (std::uint32_t other = 0; other < body().size(); ++other)
        if (other != l && used_[other] == 0 && common_->uses[other].contains(v)) return false;
    }
    return true;
  }

  bool may_assign(const Expression& e) const {
    return is_free_variable(e, known_.variables()) && !common_->computed.contains(e.variable);
  }

  // The operand of a sum or difference of whole numbers that is its only unknown: as these wrap
  // around, one value of it gives any result.
  std::optional<std::size_t> unknown_operand(const Expression& e) const {
    if (e.kind != ExpressionKind::kFunctor || !is_integer(e) || e.arguments.size() != 2 ||
        (e.functor != Functor::kAdd && e.functor != Functor::kSubtract))
      return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i)
      if (may_assign(e.arguments[i]) &&
          variable_set_of(e.arguments[1 - i]).is_within(known_.variables()))
        return i;
    return std::nullopt;
  }

  // Solves `sum = value` for the unknown operand of `sum`, if that is all that is unknown.
  bool place_solved(const Expression& sum, const Expression& value, OrderedLiteral& placed) const {
    const auto unknown = unknown_operand(sum);
    if (!unknown) return false;
    const Expression& other = sum.arguments[1 - *unknown];
    placed.target = sum.arguments[*unknown].variable;
    if (keeps_ == Keeps::kCost) return true;
    Expression solved;
    solved.kind = ExpressionKind::kFunctor;
    solved.value_kind = sum.value_kind;
    const bool is_taken_off = sum.functor == Functor::kSubtract && *unknown == 1;
    solved.functor =
        sum.functor == Functor::kAdd || is_taken_off ? Functor::kSubtract : Functor::kAdd;
    solved.arguments = {is_taken_off ? other : value, is_taken_off ? value : other};
    placed.solved = std::move(solved);
    return true;
  }

  enum class Computing : std::uint8_t { kNone, kAllowed };

  bool place_one_constraint(Computing computing) {
    for (std::uint32_t l = 0; l < body().size(); ++l)
      if (used_[l] == 0 && (computing == Computing::kAllowed || is_plain_test(body()[l])) &&
          place_constraint(l))
        return true;
    return false;
  }

  static bool is_plain_test(const Literal& literal) {
    return literal.kind == LiteralKind::kNegatedAtom ||
           (literal.kind == LiteralKind::kComparison &&
            literal.left.kind != ExpressionKind::kFunctor &&
            literal.right.kind != ExpressionKind::kFunctor);
  }

  // A known record is taken apart, also where all its fields are known.
  bool place_unpack(const Literal& literal, OrderedLiteral& placed) {
    const auto equation = record_equation(literal);
    if (!equation || !known_.variables().contains(equation->variable)) return false;
    const std::vector<Expression>& fields = equation->record->arguments;
    for (const Expression& field : fields)
      if (field.kind == ExpressionKind::kFunctor || (is_free_variable(field, known_.variables()) &&
                                                     common_->computed.contains(field.variable)))
        return false;
    for (std::uint32_t f = 0; f < fields.size(); ++f)
      if (!is_free_variable(fields[f], known_.variables())) placed.bound.push_back(f);
    for (const Expression& field : fields)
      if (field.kind == ExpressionKind::kVariable) known_.bind(field.variable);
    placed.kind = StepKind::kUnpack;
    return true;
  }

  // Whether an atom that is not placed yet may leave no values for which it fails.
  bool waits_for_atoms(std::uint32_t l) const {
    const Risk& risk = common_->risks[l];
    if (risk.variables.empty() && !risk.is_constant) return false;
    for (std::uint32_t a = 0; a < body().size(); ++a) {
      if (used_[a] != 0 || body()[a].kind != LiteralKind::kAtom) continue;
      if (risk.is_constant) return true;
      for (const Argument& argument : body()[a].atom.arguments)
        if (argument.kind == ArgumentKind::kVariable && risk.variables.contains(argument.variable))
          return true;
    }
    return false;
  }

  bool place_constraint(std::uint32_t l) {
    if (waits_for_atoms(l)) return false;
    const Literal& literal = body()[l];
    OrderedLiteral placed{.literal = l,
                          .kind = StepKind::kFilter,
                          .bound = {},
                          .target = 0,
                          .assign_from_left = false};
    const bool is_known = common_->read[l].is_within(known_.variables());
    switch (literal.kind) {
      case LiteralKind::kAtom:
        return false;
      case LiteralKind::kNegatedAtom:
        if (!is_known) return false;
        placed.kind = StepKind::kAbsent;
        placed.bound = known_.columns_of(literal.atom);
        break;
      case LiteralKind::kComparison:
        if (place_unpack(literal, placed)) break;
        if (is_known) break;
        if (literal.comparison != Comparison::kEqual) return false;
        if (may_assign(literal.left) && common_->right[l].is_within(known_.variables())) {
          placed.target = literal.left.variable;
        } else if (may_assign(literal.right) && common_->left[l].is_within(known_.variables())) {
          placed.target = literal.right.variable;
          placed.assign_from_left = true;
        } else if ((!common_->right[l].is_within(known_.variables()) ||
                    !place_solved(literal.left, literal.right, placed)) &&
                   (!common_->left[l].is_within(known_.variables()) ||
                    !place_solved(literal.right, literal.left, placed))) {
          return false;
        }
        placed.kind = StepKind::kAssign;
        placed.pairs_zeros = literal.left.value_kind == ValueKind::kFloat &&
                             !equates_variables(literal) && common_->held.contains(placed.target);
        known_.bind(placed.target);
        break;
      case LiteralKind::kAggregate:
        if (!is_known) return false;
        placed.kind = StepKind::kAggregate;
        placed.target = literal.aggregate->result;
        break;
      case LiteralKind::kRange:
        if (!is_known) return false;
        placed.kind = StepKind::kRange;
        placed.target = literal.range->variable;
        break;
    }
    if (placed.kind == StepKind::kAggregate || placed.kind == StepKind::kRange)
      known_.bind(placed.target);
    note(std::move(placed), [](const OrderedLiteral&) {});
    used_[l] = 1;
    return true;
  }

  const BodyFacts* common_;
  BoundValues known_;
  Keeps keeps_;
  bool is_empty_ = true;
  std::vector<char> used_;
  std::vector<std::uint32_t> atoms_;  // in order
  std::vector<OrderedLiteral> order_;
  double tuples_ = 1;
  double cost_ = 0;
};

// Branch and bound over the orders of the atoms: the greedy order first, then whatever may be
// cheaper.
class OrderSearch {
 public:
  // `anywhere`: an atom of which only new tuples are meant, and which may come in any place.
  explicit OrderSearch(std::optional<std::uint32_t> anywhere = {}) : anywhere_(anywhere) {}

  void explore(Beginning beginning) {
    beginning.place_ready_constraints();
    const std::vector<std::uint32_t> atoms = beginning.atoms_left();
    if (atoms.empty() && beginning.is_complete() && (!best_ || beginning.cost() < best_cost_)) {
      best_cost_ = beginning.cost();
      best_ = beginning.atoms();
    }
    for (const std::uint32_t atom : atoms) {
      if (best_ && ++orders_ > kMostOrders) return;
      Beginning next = beginning;
      next.place_atom(atom, atom == anywhere_ ? StepKind::kScanDelta : StepKind::kScan);
      if (!best_ || next.cost() < best_cost_) explore(std::move(next));
    }
  }

  // The atoms; nothing if there is no order.
  const std::optional<std::vector<std::uint32_t>>& best() const { return best_; }

 private:
  std::optional<std::uint32_t> anywhere_;
  std::optional<std::vector<std::uint32_t>> best_;
  double best_cost_ = 0;
  std::size_t orders_ = 0;
};

// Of an atom behind the first: all of its relation comes for each binding, or all that has some
// constants.
bool reads_all(const OrderedLiteral& placed, const std::vector<Literal>& literals,
               const VariableSet& constant) {
  const Literal& literal = literals[placed.literal];
  return literal.kind == LiteralKind::kAtom && placed.kind == StepKind::kScan &&
         placed.bound.size() < literal.atom.arguments.size() && !placed.bounded &&
         std::ranges::all_of(
             placed.bound,
             [&](std::uint32_t column) {
               return is_constant(literal.atom.arguments[column], constant);
             });
}

// What grows is taken to become as large as the largest finished relation of the body: of each of
// its tuples may well come one. What is known of it by now may be where it begins.
std::vector<RelationStatistics> grown_statistics(const BodyToOrder& body, const Stratum& growing) {
  std::vector<RelationStatistics> statistics = body.statistics;
  std::uint64_t rows = 0;
  for (const Literal& literal : body.literals)
    if (literal.kind == LiteralKind::kAtom && !growing.holds(literal.atom.relation))
      rows = std::max(rows, statistics[literal.atom.relation].rows);
  for (const RelationId r : growing.relations) {
    RelationStatistics& size = statistics[r];
    if (size.rows >= rows) continue;
    const std::uint64_t times = rows / std::max<std::uint64_t>(size.rows, 1);
    for (std::uint64_t& distinct : size.distinct) distinct *= times;
    size.rows = rows;
  }
  return statistics;
}

Beginning placed_as_given(const BodyFacts& body, const std::vector<std::uint32_t>& atoms,
                          std::optional<std::uint32_t> delta_literal, Keeps keeps) {
  Beginning beginning(body, keeps);
  for (const std::uint32_t atom : atoms) {
    // New tuples that come first are scanned, whatever is known of their columns.
    const bool begins_with_delta = atom == delta_literal && atom == atoms.front();
    if (!begins_with_delta) beginning.place_ready_constraints();
    beginning.place_atom(atom, atom == delta_literal ? StepKind::kScanDelta : StepKind::kScan);
  }
  beginning.place_ready_constraints();
  return beginning;
}

}  // namespace

std::optional<RecordEquation> record_equation(const Literal& literal) {
  if (literal.kind != LiteralKind::kComparison || literal.comparison != Comparison::kEqual)
    return std::nullopt;
  const auto is_record = [](const Expression& e) {
    return e.kind == ExpressionKind::kFunctor && e.functor == Functor::kPack;
  };
  if (literal.left.kind == ExpressionKind::kVariable && is_record(literal.right))
    return RecordEquation{.variable = literal.left.variable, .record = &literal.right};
  if (literal.right.kind == ExpressionKind::kVariable && is_record(literal.left))
    return RecordEquation{.variable = literal.right.variable, .record = &literal.left};
  return std::nullopt;
}

BodyToOrder body_of(const Rule& rule, const std::vector<RelationStatistics>& statistics) {
  BodyToOrder body{
      .literals = rule.body, .statistics = statistics, .bound = {}, .read_after = std::nullopt};
  if (rule.role != RuleRole::kDerives) return body;
  body.read_after.emplace();
  for (const Expression& e : rule.head_arguments) collect_variables(e, *body.read_after);
  return body;
}

BodyToOrder body_of(const Aggregate& aggregate, const std::vector<RelationStatistics>& statistics) {
  return {.literals = aggregate.body,
          .statistics = statistics,
          .bound = {aggregate.outer.begin(), aggregate.outer.end()},
          .read_after = std::nullopt};
}

Result<std::vector<OrderedLiteral>> order_literals(const BodyToOrder& body,
                                                   std::optional<std::uint32_t> delta_literal) {
  const BodyFacts common(body);
  Beginning beginning(common, Keeps::kCost);
  if (delta_literal) beginning.place_atom(*delta_literal, StepKind::kScanDelta);
  OrderSearch search;
  search.explore(std::move(beginning));
  if (!search.best()) return Status::internal("a literal of the rule can never be evaluated");
  auto order = placed_as_given(common, *search.best(), delta_literal, Keeps::kOrder).take_order();
  note_bounded_columns(order, body.literals, body.bound);
  return order;
}

Result<std::vector<OrderedLiteral>> order_as_given(const BodyToOrder& body,
                                                   const std::vector<std::uint32_t>& atoms,
                                                   std::optional<std::uint32_t> delta_literal) {
  const BodyFacts common(body);
  Beginning whole = placed_as_given(common, atoms, delta_literal, Keeps::kOrder);
  if (!whole.is_complete()) return Status::internal("a literal of the rule can never be evaluated");
  auto order = whole.take_order();
  note_bounded_columns(order, body.literals, body.bound);
  return order;
}

std::vector<std::uint32_t> atoms_in_order(const std::vector<Literal>& literals,
                                          const std::vector<OrderedLiteral>& order) {
  std::vector<std::uint32_t> atoms;
  for (const OrderedLiteral& placed : order)
    if (literals[placed.literal].kind == LiteralKind::kAtom) atoms.push_back(placed.literal);
  return atoms;
}

std::optional<std::vector<OrderedLiteral>> order_from_elsewhere(
    const BodyToOrder& body, const std::vector<OrderedLiteral>& first, std::uint32_t delta_literal,
    const Stratum& growing) {
  const VariableSet constant = constant_variables(body.literals);
  const auto reads_all_later = [&](const std::vector<OrderedLiteral>& order) {
    const auto begin = std::ranges::find_if(order, [&](const OrderedLiteral& placed) {
      return body.literals[placed.literal].kind == LiteralKind::kAtom;
    });
    return begin != order.end() &&
           std::any_of(begin + 1, order.end(), [&](const OrderedLiteral& placed) {
             return reads_all(placed, body.literals, constant);
           });
  };
  if (first.size() < 3 || !reads_all_later(first)) return {};
  const std::vector<RelationStatistics> statistics = grown_statistics(body, growing);
  const BodyToOrder grown{.literals = body.literals,
                          .statistics = statistics,
                          .bound = body.bound,
                          .read_after = body.read_after,
                          .relations = body.relations,
                          .growing = &growing};
  const BodyFacts common(grown);
  OrderSearch search(delta_literal);
  search.explore(Beginning(common, Keeps::kCost));
  if (!search.best() || search.best()->size() < 2) return {};
  const std::vector<std::uint32_t>& atoms = *search.best();
  if (growing.holds(body.literals[atoms.front()].atom.relation)) return {};
  auto order = order_as_given(body, atoms, delta_literal);
  if (!order.is_ok() || reads_all_later(order.value())) return {};
  const double before = cost_of_order(grown, atoms_in_order(body.literals, first), delta_literal);
  if (cost_of_order(grown, atoms, delta_literal) * kWorthAllRounds >= before) return {};
  return std::move(order).value();
}

double cost_of_order(const BodyToOrder& body, const std::vector<std::uint32_t>& atoms,
                     std::optional<std::uint32_t> delta_literal) {
  const BodyFacts common(body);
  return placed_as_given(common, atoms, delta_literal, Keeps::kCost).cost();
}

}  // namespace stratalog::datalog
