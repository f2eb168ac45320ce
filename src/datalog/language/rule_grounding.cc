// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/rule_grounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

using Grounded = std::vector<bool>;

bool is_evaluable(const BoundTerm& term, const Grounded& grounded) {
  if (term.kind == BoundTermKind::kVariable) return grounded[term.variable];
  return std::all_of(term.arguments.begin(), term.arguments.end(),
                     [&](const BoundTerm& argument) { return is_evaluable(argument, grounded); });
}

bool mark(VariableId variable, Grounded& grounded) {
  if (grounded[variable]) return false;
  grounded[variable] = true;
  return true;
}

bool is_cast(const BoundTerm& term) {
  return term.kind == BoundTermKind::kFunctor && term.functor == Functor::kReinterpret;
}

// `as(x, T) = known` binds x: the cast moves to the other side, where it turns the bits back.
void move_cast_over(BoundTerm& side, BoundTerm& other) {
  BoundTerm inner = std::move(side.arguments[0]);
  BoundTerm turned;
  turned.kind = BoundTermKind::kFunctor;
  turned.functor = Functor::kReinterpret;
  turned.span = other.span;
  turned.node = inner.node;  // the kind of what is inside; emission needs no type name
  turned.arguments.push_back(std::move(other));
  side = std::move(inner);
  other = std::move(turned);
}

class GroundingCheck {
 public:
  GroundingCheck(BoundRule& rule, DiagnosticSink& sink) : rule_(rule), sink_(sink) {}

  bool run() {
    Grounded grounded(rule_.variables.size(), false);
    is_result_.assign(rule_.variables.size(), false);
    collect_results(rule_.body);
    ground_scope(rule_.body, grounded);
    for (const BoundTerm& term : rule_.head_arguments) require(term, grounded);
    check_scope(rule_.body, grounded);
    if (!is_ok_ && !has_reported_) report_lifted(grounded);
    return is_ok_;
  }

 private:
  // The results of aggregates and ranges get their values there and nowhere else; an equation only
  // compares them.
  void collect_results(const std::vector<BoundLiteral>& literals) {
    for (const BoundLiteral& literal : literals) {
      if (literal.kind == LiteralKind::kRange) is_result_[literal.range->variable] = true;
      if (literal.kind != LiteralKind::kAggregate) continue;
      is_result_[literal.aggregate->result] = true;
      collect_results(literal.aggregate->body);
    }
  }

  void ground_scope(std::vector<BoundLiteral>& literals, Grounded& grounded) {
    reach_fixpoint(literals, grounded);
    // Aggregates that wait for each other: report once, then go on as if they had results.
    std::vector<const BoundLiteral*> waiting;
    for (const BoundLiteral& literal : literals) {
      if (literal.kind != LiteralKind::kAggregate || grounded[literal.aggregate->result]) continue;
      waiting.push_back(&literal);
    }
    if (waiting.empty()) return;
    is_ok_ = false;
    has_reported_ = true;
    DiagnosticDraft& draft = sink_.error(waiting[0]->span, "this aggregate needs its own result");
    if (waiting.size() > 1) draft.message = "aggregates that need each other's results";
    draft.hint = "use different variables inside and outside, or split the rule";
    for (std::size_t i = 1; i < waiting.size() && i < 10; ++i) {
      draft.notes.push_back({waiting[i]->span, "this aggregate takes part"});
    }
    for (const BoundLiteral* literal : waiting) grounded[literal->aggregate->result] = true;
    reach_fixpoint(literals, grounded);
  }

  void reach_fixpoint(std::vector<BoundLiteral>& literals, Grounded& grounded) {
    for (bool changed = true; changed;) {
      changed = false;
      for (BoundLiteral& literal : literals) changed = ground(literal, grounded) || changed;
    }
  }

  // Returns whether the literal binds a variable that was unbound.
  bool ground(BoundLiteral& literal, Grounded& grounded) {
    bool changed = false;
    switch (literal.kind) {
      case LiteralKind::kAtom:
        for (const BoundTerm& argument : literal.atom.arguments) {
          if (argument.kind == BoundTermKind::kVariable)
            changed = mark(argument.variable, grounded) || changed;
        }
        return changed;
      case LiteralKind::kNegatedAtom:
        return false;
      case LiteralKind::kComparison:
        return literal.comparison == Comparison::kEqual && ground_equation(literal, grounded);
      case LiteralKind::kAggregate: {
        const std::vector<VariableId>& outer = literal.aggregate->outer;
        const bool is_ready = std::all_of(outer.begin(), outer.end(),
                                          [&](VariableId variable) { return grounded[variable]; });
        return is_ready && mark(literal.aggregate->result, grounded);
      }
      case LiteralKind::kRange: {
        const std::vector<BoundTerm>& bounds = literal.range->bounds;
        const bool is_ready =
            std::all_of(bounds.begin(), bounds.end(),
                        [&](const BoundTerm& bound) { return is_evaluable(bound, grounded); });
        return is_ready && mark(literal.range->variable, grounded);
      }
    }
    return false;
  }

  bool ground_equation(BoundLiteral& literal, Grounded& grounded) const {
    const bool left_known = is_evaluable(literal.left, grounded);
    const bool right_known = is_evaluable(literal.right, grounded);
    if (left_known == right_known) return false;
    const BoundTerm& unknown = left_known ? literal.right : literal.left;
    if (unknown.kind == BoundTermKind::kFunctor && unknown.functor == Functor::kPack)
      return ground_fields(unknown, grounded);
    if (unknown.kind == BoundTermKind::kVariable && is_result_[unknown.variable]) return false;
    if (left_known) std::swap(literal.left, literal.right);  // now the right side is known
    while (is_cast(literal.left)) move_cast_over(literal.left, literal.right);
    return literal.left.kind == BoundTermKind::kVariable && mark(literal.left.variable, grounded);
  }

  // A known record is taken apart.
  bool ground_fields(const BoundTerm& record, Grounded& grounded) const {
    bool changed = false;
    for (const BoundTerm& field : record.arguments) {
      if (field.kind == BoundTermKind::kVariable && !is_result_[field.variable])
        changed = mark(field.variable, grounded) || changed;
    }
    return changed;
  }

  void check_scope(std::vector<BoundLiteral>& literals, const Grounded& grounded) {
    for (BoundLiteral& literal : literals) {
      switch (literal.kind) {
        case LiteralKind::kAtom:
        case LiteralKind::kNegatedAtom:
          for (const BoundTerm& argument : literal.atom.arguments) require(argument, grounded);
          break;
        case LiteralKind::kComparison:
          require(literal.left, grounded);
          require(literal.right, grounded);
          break;
        case LiteralKind::kRange:
          for (const BoundTerm& bound : literal.range->bounds) require(bound, grounded);
          break;
        case LiteralKind::kAggregate: {
          Grounded inner = grounded;
          ground_scope(literal.aggregate->body, inner);
          check_scope(literal.aggregate->body, inner);
          if (literal.aggregate->target) require(*literal.aggregate->target, inner);
          // A fold begins before there is anything inside.
          if (literal.aggregate->function == AggregateFunction::kFold)
            require(literal.aggregate->target->arguments[0], grounded);
          break;
        }
      }
    }
  }

  void require(const BoundTerm& term, const Grounded& grounded) {
    if (term.kind == BoundTermKind::kVariable && !grounded[term.variable])
      report(term.variable, grounded);
    for (const BoundTerm& argument : term.arguments) require(argument, grounded);
  }

  void report(VariableId id, const Grounded& grounded) {
    is_ok_ = false;
    const BoundVariable& variable = rule_.variables[id];
    // A lifted expression is unbound because something in it is, and that is reported itself.
    if (variable.is_lifted || !reported_.insert(id).second) return;
    has_reported_ = true;
    if (rule_.is_fact) {
      DiagnosticDraft& draft =
          sink_.error(variable.first_use, fmt::format("variable `{}` in a fact", variable.name));
      draft.expected = "constants only";
      draft.hint =
          fmt::format("for a symbol write \"{}\"; for a rule add `:-` and a body", variable.name);
      return;
    }
    DiagnosticDraft& draft =
        sink_.error(variable.first_use, fmt::format("ungrounded variable `{}`", variable.name));
    draft.expected = "a positive atom in the body, or an equation, that gives it a value";
    const auto inside = rule_.names_inside_aggregates.find(variable.name);
    if (inside != rule_.names_inside_aggregates.end() &&
        inside->second.begin != variable.first_use.begin) {
      draft.notes.push_back(
          {inside->second, fmt::format("this `{}` belongs to the aggregate alone", variable.name)});
      return;
    }
    std::vector<std::string> names;
    for (VariableId other = 0; other < rule_.variables.size(); ++other) {
      if (grounded[other] && !rule_.variables[other].is_lifted)
        names.push_back(rule_.variables[other].name);
    }
    draft.hint = suggest(variable.name, names);
    explain(id, draft);
  }

  // Nothing but `_` and what is made of it has no value.
  void report_lifted(const Grounded& grounded) {
    const auto first = std::find(grounded.begin(), grounded.end(), false);
    const Span span =
        first == grounded.end()
            ? rule_.span
            : rule_.variables[static_cast<std::size_t>(first - grounded.begin())].first_use;
    sink_.error(span, "nothing in this rule gives this a value").expected =
        "a positive atom in the body, or an equation, that gives it a value";
  }

  // Why the first literal that mentions the variable does not bind it.
  void explain(VariableId id, DiagnosticDraft& draft) const {
    for (const BoundLiteral& literal : rule_.body) {
      if (literal.kind == LiteralKind::kNegatedAtom) {
        for (const BoundTerm& argument : literal.atom.arguments) {
          if (!mentions(argument, id)) continue;
          draft.notes.push_back({literal.span, "a negated atom gives no values"});
          return;
        }
      } else if (literal.kind == LiteralKind::kComparison &&
                 (mentions(literal.left, id) || mentions(literal.right, id))) {
        const bool is_equation = literal.comparison == Comparison::kEqual;
        draft.notes.push_back(
            {literal.span,
             is_equation ? fmt::format("this is not solved for `{}`", rule_.variables[id].name)
                         : std::string("a comparison gives no values")});
        return;
      }
    }
  }

  static bool mentions(const BoundTerm& term, VariableId id) {
    if (term.kind == BoundTermKind::kVariable && term.variable == id) return true;
    return std::any_of(term.arguments.begin(), term.arguments.end(),
                       [&](const BoundTerm& argument) { return mentions(argument, id); });
  }

  BoundRule& rule_;
  DiagnosticSink& sink_;
  std::set<VariableId> reported_;
  std::vector<bool> is_result_;
  bool is_ok_ = true;
  bool has_reported_ = false;
};

}  // namespace

bool check_grounding(BoundRule& rule, DiagnosticSink& sink) {
  return GroundingCheck(rule, sink).run();
}

}  // namespace stratalog::datalog::language
