// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/literal_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "datalog/partial_functors.h"
#include "datalog/plan/body_facts.h"
#include "datalog/plan/bounded_column.h"
#include "datalog/plan/index_selection.h"
#include "datalog/plan/size_estimate.h"
#include "datalog/plan/variable_set.h"

namespace stratalog::datalog {
namespace {

// So many beginnings of an order are looked at for a rule: all of them up to five atoms, and the
// more promising ones beyond.
constexpr std::size_t kMostOrders = 600;
// A test of known values lets at most one in two pass, and at least one in twenty: values of real
// data go together more often than independent ones would.
constexpr double kMostPassing = 0.5;
constexpr double kLeastPassing = 0.05;
// To sort a tuple into an index takes as long as so many intermediate tuples.
constexpr double kTuplesToIndex = 4;

// To begin elsewhere than with new tuples must promise so many times less work. Costs are those of
// one round, of which there are no more than new tuples.
constexpr double kWorthAllRounds = 2;
// Of what grows, constants that are asked of it may be this part.
constexpr double kCommonConstants = 16;

bool is_free_variable(const Expression& e, const VariableSet& bound) {
  return e.kind == ExpressionKind::kVariable && !bound.contains(e.variable);
}

enum class Keeps : std::uint8_t { kCost, kOrder };

// The beginning of an order, and what it costs.
class Beginning {
 public:
  Beginning(const BodyFacts& common, Keeps keeps)
      : common_(&common), bound_(common.bound), keeps_(keeps), used_(common.literals.size(), 0) {}

  void place_atom(std::uint32_t l, StepKind kind) {
    const Atom& atom = body()[l].atom;
    const bool begins_with_delta = kind == StepKind::kScanDelta && is_empty_;
    const double bindings = tuples_;
    if (begins_with_delta)
      tuples_ = std::max(1.0, rows(atom.relation) / 16);
    else
      tuples_ *= growth(l);
    cost_ += tuples_ + 1;
    if (kind == StepKind::kScan && common_->relations != nullptr) cost_ += cost_of_index(atom);
    atoms_.push_back(l);
    note({.literal = l, .kind = kind, .bound = {}, .target = 0, .assign_from_left = false},
         [&](OrderedLiteral& placed) {
           placed.bindings = bindings;
           if (!begins_with_delta) placed.bound = bound_columns(atom);
         });
    used_[l] = 1;
    for (std::uint32_t c = 0; c < atom.arguments.size(); ++c) {
      const Argument& a = atom.arguments[c];
      if (a.kind != ArgumentKind::kVariable) continue;
      bound_.insert(a.variable);
      if (a.variable >= domains_.size()) domains_.resize(a.variable + 1, kNoDomain);
      double& domain = domains_[a.variable];
      domain = std::min(domain, distinct(atom.relation, c));
      if (a.variable >= frequent_.size()) frequent_.resize(a.variable + 1, nullptr);
      if (frequent_[a.variable] == nullptr) frequent_[a.variable] = common_->frequent_in(l, c);
    }
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
  // Of a variable that no atom has bound.
  static constexpr double kNoDomain = std::numeric_limits<double>::infinity();

  const std::vector<Literal>& body() const { return common_->literals; }

  // A search for an order needs no more of it than its atoms.
  template <typename Fill>
  void note(OrderedLiteral placed, const Fill& fill) {
    is_empty_ = false;
    if (keeps_ == Keeps::kCost) return;
    fill(placed);
    order_.push_back(std::move(placed));
  }

  std::vector<std::uint32_t> bound_columns(const Atom& atom) const {
    std::vector<std::uint32_t> columns;
    for (std::uint32_t c = 0; c < atom.arguments.size(); ++c)
      if (is_bound(atom.arguments[c])) columns.push_back(c);
    return columns;
  }

  bool is_bound(const Argument& a) const {
    return a.kind == ArgumentKind::kConstant ||
           (a.kind == ArgumentKind::kVariable && bound_.contains(a.variable));
  }

  double rows(RelationId relation) const {
    const RelationStatistics& size = common_->statistics[relation];
    return size.known || size.rows > 0 ? static_cast<double>(size.rows)
                                       : static_cast<double>(kUnknownRows);
  }

  double distinct(RelationId relation, std::uint32_t column) const {
    const auto& distinct = common_->statistics[relation].distinct;
    return column < distinct.size() ? std::max(1.0, static_cast<double>(distinct[column]))
                                    : static_cast<double>(kUnknownDistinct);
  }

  // Shared with whoever else searches in it.
  double cost_of_index(const Atom& atom) const {
    const RelationPlan& relation = (*common_->relations)[atom.relation];
    const std::vector<std::uint32_t> bound = bound_columns(atom);
    if (!relation.needs_indices || bound.empty() || bound.size() == atom.arguments.size()) return 0;
    std::uint32_t readers = 1;
    for (std::size_t i = 0; i < relation.indices.size(); ++i) {
      const IndexPlan& index = relation.indices[i];
      if (!serves_search(relation, index, bound)) continue;
      if (i == relation.primary || index.is_there) return 0;
      readers = std::max(readers, index.readers);
    }
    return kTuplesToIndex * rows(atom.relation) / readers;
  }

  // The part of an atom's rows that frequent values of a column let through: of a constant whose
  // value is not known here, as if it was one of the column's rows.
  double meetings(std::uint32_t l, std::uint32_t c) const {
    const std::vector<FrequentValue>* const there = common_->frequent_in(l, c);
    if (there == nullptr) return 0;
    const Argument& a = body()[l].atom.arguments[c];
    if (a.kind == ArgumentKind::kConstant)
      if (const auto bucket = bucket_of_constant(a.constant))
        return frequent_meetings(std::array{FrequentValue{*bucket, kPerMillion}}, *there);
    if (is_constant(a, common_->constant)) return frequent_meetings(*there, *there);
    const bool has_values = a.variable < frequent_.size() && frequent_[a.variable] != nullptr;
    return has_values ? frequent_meetings(*frequent_[a.variable], *there) : 0;
  }

  // A test is of values that come from anywhere.
  std::vector<ConditionalColumn> values_of_columns(const Atom& atom,
                                                   const std::vector<std::uint32_t>& columns,
                                                   bool is_test) const {
    const RelationStatistics& size = common_->statistics[atom.relation];
    std::vector<std::uint64_t> values(atom.arguments.size());
    for (const std::uint32_t c : columns)
      values[c] = static_cast<std::uint64_t>(distinct(atom.relation, c));
    return conditional_values(columns, values,
                              is_test || !size.known ? std::span<const ColumnPair>()
                                                     : std::span<const ColumnPair>(size.pairs));
  }

  // Expected tuples under a prefix, columns taken as independent unless it is known how they depend
  // on each other, the values of a column as a part of those that the variable has had so far: as
  // many of each, but for those that are known to be frequent.
  double fanout(std::uint32_t l) const {
    const Atom& atom = body()[l].atom;
    const double all = rows(atom.relation);
    std::size_t bound = 0;
    double prefixes = 1;
    double met = 1;
    double frequent = all;
    bool has_frequent = false;
    const std::vector<std::uint32_t> columns = bound_columns(atom);
    const bool is_test = columns.size() == atom.arguments.size();
    for (const auto& [c, each, is_free] : values_of_columns(atom, columns, is_test)) {
      const Argument& a = atom.arguments[c];
      ++bound;
      const double values = distinct(atom.relation, c);
      prefixes *= each;
      const double meets = meetings(l, c);
      has_frequent |= meets > 0;
      frequent *= std::max(is_free ? meets : 0, 1 / each);
      // What depends on a column before it is met with that.
      if (!is_free) continue;
      if (a.kind != ArgumentKind::kVariable || a.variable >= domains_.size()) continue;
      const double domain = domains_[a.variable];
      if (domain != kNoDomain) met *= std::min(1.0, values / domain);
    }
    if (bound == atom.arguments.size())
      return std::min(all,
                      std::clamp(all / std::max(prefixes, 1.0) * met, kLeastPassing, kMostPassing));
    double expected = all / std::min(prefixes, std::max(all, 1.0)) * met;
    if (has_frequent) expected = std::max(expected, frequent);
    const bool asks_for_constants = bound > 0 && common_->growing != nullptr &&
                                    common_->growing->holds(atom.relation) &&
                                    knows_only_constants(atom);
    return asks_for_constants ? std::max(expected, all / kCommonConstants) : expected;
  }

  bool knows_only_constants(const Atom& atom) const {
    return std::ranges::all_of(atom.arguments, [&](const Argument& a) {
      return !is_bound(a) || is_constant(a, common_->constant);
    });
  }

  // Times as many bindings there are behind an atom. Behind one that nobody reads anything of there
  // are no more than before it, however many tuples it has.
  double growth(std::uint32_t l) const {
    const double tuples = fanout(l);
    return tuples > 1 && only_tests(l) ? 1 : tuples;
  }

  // Whether nobody reads what the atom would bind.
  bool only_tests(std::uint32_t l) const {
    if (!common_->read_after) return false;
    const std::vector<Argument>& arguments = body()[l].atom.arguments;
    for (std::uint32_t c = 0; c < arguments.size(); ++c) {
      if (arguments[c].kind != ArgumentKind::kVariable || bound_.contains(arguments[c].variable))
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
    return is_free_variable(e, bound_) && !common_->computed.contains(e.variable);
  }

  // The operand of a sum or difference of whole numbers that is its only unknown: as these wrap
  // around, one value of it gives any result.
  std::optional<std::size_t> unknown_operand(const Expression& e) const {
    if (e.kind != ExpressionKind::kFunctor || !is_integer(e) || e.arguments.size() != 2 ||
        (e.functor != Functor::kAdd && e.functor != Functor::kSubtract))
      return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i)
      if (may_assign(e.arguments[i]) && variable_set_of(e.arguments[1 - i]).is_within(bound_))
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
    if (!equation || !bound_.contains(equation->variable)) return false;
    const std::vector<Expression>& fields = equation->record->arguments;
    for (const Expression& field : fields)
      if (field.kind == ExpressionKind::kFunctor ||
          (is_free_variable(field, bound_) && common_->computed.contains(field.variable)))
        return false;
    for (std::uint32_t f = 0; f < fields.size(); ++f)
      if (!is_free_variable(fields[f], bound_)) placed.bound.push_back(f);
    for (const Expression& field : fields)
      if (field.kind == ExpressionKind::kVariable) bound_.insert(field.variable);
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
    const bool is_known = common_->read[l].is_within(bound_);
    switch (literal.kind) {
      case LiteralKind::kAtom:
        return false;
      case LiteralKind::kNegatedAtom:
        if (!is_known) return false;
        placed.kind = StepKind::kAbsent;
        placed.bound = bound_columns(literal.atom);
        break;
      case LiteralKind::kComparison:
        if (place_unpack(literal, placed)) break;
        if (is_known) break;
        if (literal.comparison != Comparison::kEqual) return false;
        if (may_assign(literal.left) && common_->right[l].is_within(bound_)) {
          placed.target = literal.left.variable;
        } else if (may_assign(literal.right) && common_->left[l].is_within(bound_)) {
          placed.target = literal.right.variable;
          placed.assign_from_left = true;
        } else if ((!common_->right[l].is_within(bound_) ||
                    !place_solved(literal.left, literal.right, placed)) &&
                   (!common_->left[l].is_within(bound_) ||
                    !place_solved(literal.right, literal.left, placed))) {
          return false;
        }
        placed.kind = StepKind::kAssign;
        placed.pairs_zeros = literal.left.value_kind == ValueKind::kFloat &&
                             !equates_variables(literal) && common_->held.contains(placed.target);
        bound_.insert(placed.target);
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
      bound_.insert(placed.target);
    note(std::move(placed), [](const OrderedLiteral&) {});
    used_[l] = 1;
    return true;
  }

  const BodyFacts* common_;
  VariableSet bound_;
  Keeps keeps_;
  bool is_empty_ = true;
  std::vector<double> domains_;  // by variable: values that it can have
  // By variable: values that it often has, as the first atom says that knows some. May be null.
  std::vector<const std::vector<FrequentValue>*> frequent_;
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
