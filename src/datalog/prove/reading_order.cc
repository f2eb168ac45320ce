// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/reading_order.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "datalog/plan/literal_order.h"
#include "datalog/prove/written_body.h"

namespace stratalog::datalog {
namespace {

bool is_bound(const Expression& e, const std::set<VariableId>& bound) {
  std::set<VariableId> variables;
  collect_variables(e, variables);
  return std::includes(bound.begin(), bound.end(), variables.begin(), variables.end());
}

bool gives(const Expression& variable, const Expression& value, const std::set<VariableId>& bound) {
  return variable.kind == ExpressionKind::kVariable && is_bound(value, bound);
}

// Whether a literal can be decided once `bound` have values.
bool is_ready(const Literal& literal, const std::set<VariableId>& bound) {
  std::set<VariableId> read;
  switch (literal.kind) {
    case LiteralKind::kAtom:
      return true;
    case LiteralKind::kNegatedAtom:
      collect_variables(literal, read);
      return std::includes(bound.begin(), bound.end(), read.begin(), read.end());
    case LiteralKind::kComparison:
      if (const auto record = record_equation(literal); record && bound.contains(record->variable))
        return true;
      if (is_bound(literal.left, bound) && is_bound(literal.right, bound)) return true;
      return literal.comparison == Comparison::kEqual &&
             (gives(literal.left, literal.right, bound) ||
              gives(literal.right, literal.left, bound));
    case LiteralKind::kAggregate:
      return std::all_of(literal.aggregate->outer.begin(), literal.aggregate->outer.end(),
                         [&](VariableId v) { return bound.contains(v); });
    case LiteralKind::kRange:
      return is_bound(literal.range->from, bound) && is_bound(literal.range->to, bound) &&
             (!literal.range->has_step || is_bound(literal.range->step, bound));
  }
  return false;
}

class Reader {
 public:
  explicit Reader(const OpenRule& open) : open_(open), used_(open.rule.body.size(), false) {
    for (const Argument& a : open.goal)
      if (a.kind == ArgumentKind::kVariable) bound_.insert(a.variable);
    waiting_ = written_body(std::span(open.rule.body).first(open.written), open.rule.variables);
  }

  ReadingOrder read() {
    while (const auto next = first_record_of_goal()) {
      take(*next);
      order_.head.push_back(*next);
    }
    for (std::uint32_t l = open_.written; l < used_.size(); ++l)
      if (!used_[l]) waiting_.push_back({.shown = l, .parts = {}});
    while (take_step(Parts::kAll) || take_step(Parts::kSome)) {
    }
    return std::move(order_);
  }

 private:
  enum class Parts : std::uint8_t { kAll, kSome };

  const Literal& literal(std::uint32_t l) const { return open_.rule.body[l]; }

  void take(std::uint32_t l) {
    used_[l] = true;
    collect_variables(literal(l), bound_);
  }

  std::optional<std::uint32_t> first_record_of_goal() const {
    for (std::uint32_t l = open_.written; l < used_.size(); ++l)
      if (const auto record = record_equation(literal(l));
          !used_[l] && record && bound_.contains(record->variable))
        return l;
    return std::nullopt;
  }

  // The first literal that can be decided goes next. Parts that wait for values which only others
  // give are literals of their own then.
  bool take_step(Parts parts) {
    for (std::size_t w = 0; w < waiting_.size(); ++w) {
      const WrittenLiteral each = waiting_[w];
      std::set<VariableId> bound = bound_;
      ReadingStep step = step_of(each, bound);
      const bool has_all = step.literals.size() == each.parts.size() + 1;
      const bool has_shown = std::ranges::find(step.literals, each.shown) != step.literals.end();
      if (parts == Parts::kAll ? !has_all : !has_shown) continue;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(w));
      for (const std::uint32_t l : step.literals) take(l);
      for (const std::uint32_t l : each.parts)
        if (!used_[l]) waiting_.push_back({.shown = l, .parts = {}});
      order_.steps.push_back(std::move(step));
      return true;
    }
    return false;
  }

  // As much as can be decided: what gives lifted variables their values before what is shown.
  ReadingStep step_of(const WrittenLiteral& written, std::set<VariableId>& bound) const {
    ReadingStep step{.literals = {}, .shown = written.shown, .preparing = 0};
    std::vector<std::uint32_t> left = written.parts;
    const auto take_next = [&] {
      const auto next =
          std::ranges::find_if(left, [&](std::uint32_t l) { return is_ready(literal(l), bound); });
      if (next == left.end()) return false;
      step.literals.push_back(*next);
      collect_variables(literal(*next), bound);
      left.erase(next);
      return true;
    };
    // The value of an aggregate or a range is known before it is compared.
    const bool is_computed = result_of(literal(written.shown)).has_value();
    while (!is_computed && take_next()) {
    }
    step.preparing = static_cast<std::uint32_t>(step.literals.size());
    if (!is_ready(literal(written.shown), bound)) return step;
    step.literals.push_back(written.shown);
    collect_variables(literal(written.shown), bound);
    if (is_computed && !written.parts.empty()) ++step.preparing;
    while (take_next()) {
    }
    return step;
  }

  const OpenRule& open_;
  std::vector<bool> used_;
  std::set<VariableId> bound_;
  std::vector<WrittenLiteral> waiting_;
  ReadingOrder order_;
};

}  // namespace

std::vector<std::uint32_t> ReadingOrder::first(std::size_t count) const {
  std::vector<std::uint32_t> literals = head;
  for (std::size_t s = 0; s < count; ++s)
    literals.insert(literals.end(), steps[s].literals.begin(), steps[s].literals.end());
  return literals;
}

ReadingOrder reading_order(const OpenRule& open) { return Reader(open).read(); }

}  // namespace stratalog::datalog
