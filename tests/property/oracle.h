// SPDX-License-Identifier: Apache-2.0
// The oracle: what a checked program means, written down as plainly as possible. Naive bottom-up
// evaluation, stratum by stratum, over std::set of rows of values; every round evaluates every rule
// on everything. It shares nothing with the engine but the Program: no cells, no indices, no plans,
// no batches. Slow on purpose; a budget of steps ends programs that are too large for it. Local.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datalog/program.h"
#include "property/exact_sum_of.h"
#include "property/oracle_values.h"

namespace stratalog::datalog::oracle {

using Row = std::vector<Value>;
using Rows = std::set<Row>;

struct Answer {
  std::vector<Rows> relations;  // by RelationId
  std::vector<std::vector<std::uint64_t>>
      new_rows;  // by stratum: of each round that found something
};

class Oracle {
 public:
  // `facts` are rows from files, by RelationId, on top of the facts in the program.
  Oracle(const Program& program, std::vector<Rows> facts, std::uint64_t budget)
      : program_(program), relations_(std::move(facts)), budget_(budget) {
    relations_.resize(program.relations.size());
  }

  Answer run() {
    Answer answer;
    for (const Stratum& stratum : program_.strata) answer.new_rows.push_back(run_stratum(stratum));
    answer.relations = std::move(relations_);
    return answer;
  }

 private:
  using Bindings = std::vector<std::optional<Value>>;

  std::vector<std::uint64_t> run_stratum(const Stratum& stratum) {
    std::vector<std::uint64_t> rounds;
    // Rows from files belong to the first round, like facts in the program.
    std::vector<Rows> from_files(relations_.size());
    for (const RelationId r : stratum.relations) from_files[r].swap(relations_[r]);
    for (;;) {
      std::vector<Rows> derived(relations_.size());
      if (rounds.empty()) derived = from_files;
      for (const std::uint32_t r : stratum.rules) derive(program_.rules[r], derived);
      std::uint64_t found = 0;
      for (const RelationId r : stratum.relations)
        for (const Row& row : derived[r]) found += relations_[r].insert(row).second ? 1 : 0;
      if (found == 0) return rounds;
      rounds.push_back(found);
      if (!stratum.is_recursive) return rounds;
    }
  }

  void derive(const Rule& rule, std::vector<Rows>& into) {
    Bindings bindings(rule.variables.size());
    std::vector<char> done(rule.body.size(), 0);
    solve(rule.body, done, bindings, [&] {
      Row row;
      for (const Expression& e : rule.head_arguments) row.push_back(evaluate(e, bindings));
      into[rule.head].insert(std::move(row));
    });
  }

  // Calls `found` once for every combination of rows (and numbers of ranges) that satisfies the
  // rest of the body.
  void solve(const std::vector<Literal>& body, std::vector<char>& done, Bindings& bindings,
             const std::function<void()>& found) {
    if (budget_ == 0) throw GaveUp("too many steps");
    --budget_;
    std::size_t next = body.size();
    for (std::size_t l = 0; l < body.size() && next == body.size(); ++l)
      if (done[l] == 0 && body[l].kind != LiteralKind::kAtom && is_ready(body[l], body, bindings))
        next = l;
    for (std::size_t l = 0; l < body.size() && next == body.size(); ++l)
      if (done[l] == 0 && body[l].kind == LiteralKind::kAtom) next = l;
    if (next == body.size()) {
      for (const char d : done)
        if (d == 0) throw std::logic_error("a literal can never be evaluated");
      found();
      return;
    }
    done[next] = 1;
    const auto go_on = [&] { solve(body, done, bindings, found); };
    const Literal& literal = body[next];
    switch (literal.kind) {
      case LiteralKind::kAtom:
        for_each_match(literal.atom, bindings, go_on);
        break;
      case LiteralKind::kNegatedAtom: {
        bool there = false;
        for_each_match(literal.atom, bindings, [&] { there = true; });
        if (!there) go_on();
        break;
      }
      case LiteralKind::kComparison:
        compare_or_bind(literal, bindings, go_on);
        break;
      case LiteralKind::kAggregate:
        if (const auto value = fold(*literal.aggregate, bindings))
          bind(literal.aggregate->result, *value, bindings, go_on);
        break;
      case LiteralKind::kRange:
        for (const Value& value : numbers_of(*literal.range, bindings))
          bind(literal.range->variable, value, bindings, go_on);
        break;
    }
    done[next] = 0;
  }

  static bool is_free_variable(const Expression& e, const Bindings& bindings) {
    return e.kind == ExpressionKind::kVariable && !bindings[e.variable];
  }
  static bool is_bound(const Expression& e, const Bindings& bindings) {
    if (is_free_variable(e, bindings)) return false;
    for (const Expression& argument : e.arguments)
      if (!is_bound(argument, bindings)) return false;
    return true;
  }

  static bool equates_variables(const Literal& literal) {
    return literal.comparison == Comparison::kEqual &&
           literal.left.kind == ExpressionKind::kVariable &&
           literal.right.kind == ExpressionKind::kVariable;
  }

  // Whether it is a variable that a positive atom holds, by itself or by way of equations.
  static bool is_held(const Expression& e, const std::vector<Literal>& body) {
    if (e.kind != ExpressionKind::kVariable) return false;
    std::set<VariableId> same{e.variable};
    for (std::size_t round = 0; round < body.size(); ++round)
      for (const Literal& literal : body) {
        if (literal.kind != LiteralKind::kComparison || !equates_variables(literal)) continue;
        if (same.contains(literal.left.variable)) same.insert(literal.right.variable);
        if (same.contains(literal.right.variable)) same.insert(literal.left.variable);
      }
    for (const Literal& literal : body) {
      if (literal.kind != LiteralKind::kAtom) continue;
      for (const Argument& a : literal.atom.arguments)
        if (a.kind == ArgumentKind::kVariable && same.contains(a.variable)) return true;
    }
    return false;
  }

  static bool is_ready(const Literal& literal, const std::vector<Literal>& body,
                       const Bindings& bindings) {
    switch (literal.kind) {
      case LiteralKind::kAtom:
        return true;
      case LiteralKind::kNegatedAtom:
        for (const Argument& a : literal.atom.arguments)
          if (a.kind == ArgumentKind::kVariable && !bindings[a.variable]) return false;
        return true;
      case LiteralKind::kComparison: {
        const bool left = is_bound(literal.left, bindings);
        const bool right = is_bound(literal.right, bindings);
        // What atoms hold is compared as a float, not computed.
        if (literal.left.value_kind == ValueKind::kFloat && !equates_variables(literal) &&
            (is_held(literal.left, body) || is_held(literal.right, body)))
          return left && right;
        if (literal.comparison != Comparison::kEqual) return left && right;
        return (left && right) || (left && is_free_variable(literal.right, bindings)) ||
               (right && is_free_variable(literal.left, bindings));
      }
      case LiteralKind::kAggregate:
        for (const VariableId v : literal.aggregate->outer)
          if (!bindings[v]) return false;
        return true;
      case LiteralKind::kRange:
        return is_bound(literal.range->from, bindings) && is_bound(literal.range->to, bindings) &&
               (!literal.range->has_step || is_bound(literal.range->step, bindings));
    }
    return false;
  }

  static void bind(VariableId variable, const Value& value, Bindings& bindings,
                   const std::function<void()>& go_on) {
    if (bindings[variable]) {
      if (*bindings[variable] == value) go_on();
      return;
    }
    bindings[variable] = value;
    go_on();
    bindings[variable].reset();
  }

  // Rows are sorted, so those that begin with what is known already stand together.
  void for_each_match(const Atom& atom, Bindings& bindings, const std::function<void()>& go_on) {
    Row known;
    for (const Argument& a : atom.arguments) {
      if (a.kind == ArgumentKind::kConstant)
        known.push_back(evaluate(a.constant, bindings));
      else if (a.kind == ArgumentKind::kVariable && bindings[a.variable])
        known.push_back(*bindings[a.variable]);
      else
        break;
    }
    const Rows& rows = relations_[atom.relation];
    for (auto row = rows.lower_bound(known); row != rows.end(); ++row) {
      if (!std::equal(known.begin(), known.end(), row->begin())) break;
      match(atom, *row, bindings, go_on);
    }
  }

  void match(const Atom& atom, const Row& row, Bindings& bindings,
             const std::function<void()>& go_on) {
    if (budget_ == 0) throw GaveUp("too many steps");
    --budget_;
    std::vector<VariableId> bound_here;
    bool fits = true;
    for (std::size_t c = 0; c < row.size() && fits; ++c) {
      const Argument& a = atom.arguments[c];
      if (a.kind == ArgumentKind::kWildcard) continue;
      if (a.kind == ArgumentKind::kConstant) {
        fits = evaluate(a.constant, bindings) == row[c];
      } else if (bindings[a.variable]) {
        fits = *bindings[a.variable] == row[c];
      } else {
        bindings[a.variable] = row[c];
        bound_here.push_back(a.variable);
      }
    }
    if (fits) go_on();
    for (const VariableId v : bound_here) bindings[v].reset();
  }

  void compare_or_bind(const Literal& literal, Bindings& bindings,
                       const std::function<void()>& go_on) {
    if (is_free_variable(literal.left, bindings)) {
      bind(literal.left.variable, evaluate(literal.right, bindings), bindings, go_on);
    } else if (is_free_variable(literal.right, bindings)) {
      bind(literal.right.variable, evaluate(literal.left, bindings), bindings, go_on);
    } else if (literal.left.value_kind == ValueKind::kFloat && equates_variables(literal)) {
      if (*bindings[literal.left.variable] == *bindings[literal.right.variable]) go_on();
    } else if (holds(literal.comparison, literal.left.value_kind, evaluate(literal.left, bindings),
                     evaluate(literal.right, bindings))) {
      go_on();
    }
  }

  // ---- values ----

  Value evaluate(const Expression& e, const Bindings& bindings) const {
    switch (e.kind) {
      case ExpressionKind::kVariable:
        return bindings[e.variable].value();
      case ExpressionKind::kConstant:
        return e.value_kind == ValueKind::kSymbol ? of(e.text) : of(e.bits);
      case ExpressionKind::kFunctor:
        break;
    }
    std::vector<Value> arguments;
    arguments.reserve(e.arguments.size());
    for (const Expression& argument : e.arguments)
      arguments.push_back(evaluate(argument, bindings));
    switch (e.functor) {
      case Functor::kCat: {
        std::string all;
        for (const Value& v : arguments) all += v.text;
        return of(all);
      }
      case Functor::kStrlen:
        return of(std::uint64_t{arguments[0].text.size()});
      case Functor::kSubstr: {
        const std::string& whole = arguments[0].text;
        const std::int64_t from = number(arguments[1]);
        const std::int64_t length = number(arguments[2]);
        std::string part;
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(whole.size()); ++i)
          if (from >= 0 && i >= from && (length < 0 || i - from < length))
            part += whole[static_cast<std::size_t>(i)];
        return of(part);
      }
      case Functor::kOrd:
        throw GaveUp("ord depends on the engine");
      case Functor::kToNumber:
      case Functor::kToUnsigned:
      case Functor::kToFloat:
      case Functor::kToString:
        return convert(e.arguments[0].value_kind, e.value_kind, arguments[0]);
      case Functor::kReinterpret:
        if (e.arguments[0].value_kind == e.value_kind) return arguments[0];
        if (e.arguments[0].value_kind == ValueKind::kSymbol || e.value_kind == ValueKind::kSymbol)
          throw GaveUp("as(symbol) depends on the engine");
        return arguments[0];
      case Functor::kNegate:
        return e.value_kind == ValueKind::kFloat ? of(-real(arguments[0]))
                                                 : of(0 - arguments[0].bits);
      case Functor::kBitNot:
        return of(~arguments[0].bits);
      case Functor::kLogicalNot:
        return of(arguments[0].bits == 0);
      default:
        break;
    }
    Value result = arguments[0];
    for (std::size_t i = 1; i < arguments.size(); ++i)
      result = combine(e.functor, e.value_kind, result, arguments[i]);
    return result;
  }

  // ---- aggregates and ranges ----

  std::optional<Value> fold(const Aggregate& aggregate, const Bindings& outside) {
    Bindings bindings(outside.size());
    for (const VariableId v : aggregate.outer) bindings[v] = outside[v];
    std::vector<char> done(aggregate.body.size(), 0);
    std::vector<Value> values;
    solve(aggregate.body, done, bindings, [&] {
      values.push_back(aggregate.function == AggregateFunction::kCount
                           ? Value{}
                           : evaluate(aggregate.target, bindings));
    });
    const ValueKind kind = aggregate.target.value_kind;
    switch (aggregate.function) {
      case AggregateFunction::kCount:
        if (aggregate.result_kind == ValueKind::kFloat)
          return of(static_cast<double>(values.size()));
        return of(std::uint64_t{values.size()});
      case AggregateFunction::kSum: {
        if (kind == ValueKind::kFloat) return of(sum_of_reals(kind, values));
        Value sum = of(std::uint64_t{0});
        for (const Value& v : values) sum = combine(Functor::kAdd, kind, sum, v);
        return sum;
      }
      case AggregateFunction::kMin:
      case AggregateFunction::kMax: {
        if (values.empty()) return std::nullopt;
        const bool is_least = aggregate.function == AggregateFunction::kMin;
        Value best = values.front();
        for (const Value& v : values) {
          const bool are_zeros = kind == ValueKind::kFloat && real(v) == 0 && real(best) == 0;
          if (are_zeros && std::signbit(real(v)) == is_least) best = v;
          best = combine(is_least ? Functor::kMin : Functor::kMax, kind, best, v);
        }
        return best;
      }
      case AggregateFunction::kMean: {
        if (values.empty()) return std::nullopt;
        return of(sum_of_reals(kind, values) / static_cast<double>(values.size()));
      }
      case AggregateFunction::kFold:
        break;  // the oracle knows no libraries
    }
    return std::nullopt;
  }

  static double sum_of_reals(ValueKind kind, const std::vector<Value>& values) {
    std::vector<double> reals;
    for (const Value& v : values) reals.push_back(real(convert(kind, ValueKind::kFloat, v)));
    return exact_sum_of(reals);
  }

  // from, from + step, ... before `to`; without a step one upwards or downwards; a step of zero
  // yields the start once.
  std::vector<Value> numbers_of(const Range& range, const Bindings& bindings) {
    const ValueKind kind = range.value_kind;
    const Value to = evaluate(range.to, bindings);
    Value at = evaluate(range.from, bindings);
    const Value zero = kind == ValueKind::kFloat ? of(0.0) : of(std::uint64_t{0});
    const Value one = kind == ValueKind::kFloat ? of(1.0) : of(std::uint64_t{1});
    Value step = one;
    bool upwards = order(kind, at, to) <= 0;
    if (range.has_step) {
      step = evaluate(range.step, bindings);
      if (step == zero)
        return order(kind, at, to) == 0 ? std::vector<Value>{} : std::vector<Value>{at};
      upwards = order(kind, step, zero) > 0;
    } else if (!upwards) {
      step = combine(Functor::kSubtract, kind, zero, one);
    }
    std::vector<Value> numbers;
    while (upwards ? order(kind, at, to) < 0 : order(kind, at, to) > 0) {
      if (budget_ == 0) throw GaveUp("too many steps");
      --budget_;
      numbers.push_back(at);
      const Value next = combine(Functor::kAdd, kind, at, step);
      if (upwards ? order(kind, next, at) <= 0 : order(kind, next, at) >= 0)
        break;  // wrapped around
      at = next;
    }
    return numbers;
  }

  const Program& program_;
  std::vector<Rows> relations_;
  std::uint64_t budget_;
};

// A row as a line of an output file (symbols without tabs and line breaks).
inline std::string line_of(const Relation& relation, const Row& row) {
  if (row.empty()) return "()";
  std::string line;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (c > 0) line += '\t';
    switch (relation.attributes[c].kind) {
      case ValueKind::kNumber:
        line += std::to_string(static_cast<std::int64_t>(row[c].bits));
        break;
      case ValueKind::kUnsigned:
        line += std::to_string(row[c].bits);
        break;
      case ValueKind::kFloat:
        line += fmt::format("{:.17g}", std::bit_cast<double>(row[c].bits));
        break;
      case ValueKind::kSymbol:
        line += row[c].text;
        break;
      case ValueKind::kRecord:
        break;
    }
  }
  return line;
}

}  // namespace stratalog::datalog::oracle
