// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/rule_expansion.h"

#include <fmt/format.h>

#include <iterator>

namespace stratalog::datalog::language {
namespace {

// All conjunctions of one rule together: bounds the memory, not only the count.
constexpr std::size_t kMaxTotalGoals = 1U << 18U;

class Expander {
 public:
  bool expand(const Formula& formula, bool is_negated, std::vector<Conjunction>& result) {
    switch (formula.kind) {
      case FormulaKind::kAtom:
        result.push_back({{is_negated ? GoalKind::kNegatedAtom : GoalKind::kAtom, &formula, {}}});
        return true;
      case FormulaKind::kComparison:
        result.push_back({{GoalKind::kComparison, &formula,
                           is_negated ? negated(formula.comparison) : formula.comparison}});
        return true;
      case FormulaKind::kTruth:
        result.emplace_back();
        if (formula.truth == is_negated) result.back().push_back({GoalKind::kFalse, &formula, {}});
        return true;
      case FormulaKind::kNot:
        return expand(formula.children[0], !is_negated, result);
      case FormulaKind::kAnd:
      case FormulaKind::kOr:
        break;
    }
    const bool is_or = (formula.kind == FormulaKind::kOr) != is_negated;  // de Morgan
    if (is_or) {
      for (const Formula& child : formula.children) {
        if (!expand(child, is_negated, result) || result.size() > kMaxConjunctions) return false;
      }
      return true;
    }
    std::vector<Conjunction> product(1);
    for (const Formula& child : formula.children) {
      std::vector<Conjunction> factor;
      if (!expand(child, is_negated, factor) || !multiply(product, factor)) return false;
    }
    std::move(product.begin(), product.end(), std::back_inserter(result));
    return result.size() <= kMaxConjunctions;
  }

 private:
  static bool multiply(std::vector<Conjunction>& product, const std::vector<Conjunction>& factor) {
    if (factor.size() == 1) {
      for (Conjunction& conjunction : product) {
        conjunction.insert(conjunction.end(), factor[0].begin(), factor[0].end());
        if (conjunction.size() > kMaxGoals) return false;
      }
      return true;
    }
    if (product.size() * factor.size() > kMaxConjunctions) return false;
    std::vector<Conjunction> next;
    std::size_t total = 0;
    for (const Conjunction& left : product) {
      for (const Conjunction& right : factor) {
        Conjunction& both = next.emplace_back(left);
        both.insert(both.end(), right.begin(), right.end());
        total += both.size();
        if (both.size() > kMaxGoals || total > kMaxTotalGoals) return false;
      }
    }
    product = std::move(next);
    return true;
  }
};

}  // namespace

Comparison negated(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return Comparison::kNotEqual;
    case Comparison::kNotEqual:
      return Comparison::kEqual;
    case Comparison::kLess:
      return Comparison::kGreaterEqual;
    case Comparison::kLessEqual:
      return Comparison::kGreater;
    case Comparison::kGreater:
      return Comparison::kLessEqual;
    case Comparison::kGreaterEqual:
      return Comparison::kLess;
    case Comparison::kMatch:
      return Comparison::kNotMatch;
    case Comparison::kNotMatch:
      return Comparison::kMatch;
    case Comparison::kContains:
      return Comparison::kNotContains;
    case Comparison::kNotContains:
      return Comparison::kContains;
  }
  return comparison;
}

bool expand_body(const Formula& body, DiagnosticSink& sink, std::vector<Conjunction>& result) {
  if (Expander().expand(body, false, result)) return true;
  sink.error(body.span, fmt::format("this body is too large once its disjunctions are written out "
                                    "(more than {} rules, or {} literals in one)",
                                    kMaxConjunctions, kMaxGoals))
      .hint = "give parts of it a relation of their own";
  return false;
}

}  // namespace stratalog::datalog::language
