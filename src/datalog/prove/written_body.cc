// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/written_body.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

bool is_equation(const Literal& literal) {
  return literal.kind == LiteralKind::kComparison && literal.comparison == Comparison::kEqual;
}

// To which literal each one belongs.
class PartsFinder {
 public:
  PartsFinder(std::span<const Literal> body, const std::vector<Variable>& variables)
      : body_(body),
        variables_(variables),
        result_of_(variables.size(), kNobody),
        is_defined_(variables.size(), false),
        owner_(body.size(), kNobody) {
    for (std::uint32_t l = 0; l < body.size(); ++l)
      if (const auto result = result_of(body[l]); result && is_lifted(variables[*result]))
        result_of_[*result] = l;
    for (std::uint32_t l = 0; l < body.size(); ++l)
      if (!find_computing(l)) find_reader(l);
  }

  // The literal that `l` is a part of, itself if nobody lifted it out of another one.
  std::uint32_t shown(std::uint32_t l) const {
    while (owner_[l] != kNobody) l = owner_[l];
    return l;
  }
  // The variable that `l` gives its value, if it is a lifted one.
  std::optional<LiftedVariable> lifted_by(std::uint32_t l) const {
    const Literal& literal = body_[l];
    if (const auto result = result_of(literal); result && result_of_[*result] == l)
      return LiftedVariable{
          .variable = *result, .expression = equal_to(*result, l), .computing = &literal};
    if (owner_[l] == kNobody || result_of(body_[owner_[l]])) return std::nullopt;
    const bool is_left = is_free(literal.left);
    return LiftedVariable{.variable = (is_left ? literal.left : literal.right).variable,
                          .expression = is_left ? &literal.right : &literal.left,
                          .computing = nullptr};
  }

 private:
  // A lifted variable that no aggregate and no range gives its value.
  bool is_free(const Expression& e) const {
    return e.kind == ExpressionKind::kVariable && is_lifted(variables_[e.variable]) &&
           result_of_[e.variable] == kNobody;
  }

  // The `x` of `x = _1`, if there is one.
  const Expression* equal_to(VariableId result, std::uint32_t computing) const {
    for (std::uint32_t l = 0; l < body_.size(); ++l)
      if (owner_[l] == computing && equates_two_variables(body_[l]))
        return body_[l].left.variable == result ? &body_[l].right : &body_[l].left;
    return nullptr;
  }

  // `x = _1` beside `_1 = range(0, 3)`.
  bool find_computing(std::uint32_t l) {
    if (!equates_two_variables(body_[l])) return false;
    const std::uint32_t left = result_of_[body_[l].left.variable];
    const std::uint32_t right = result_of_[body_[l].right.variable];
    if ((left == kNobody) == (right == kNobody)) return false;
    owner_[l] = left == kNobody ? right : left;
    return true;
  }

  // `_1 = x + 5` beside `!n(_1)`. Of several equations for one variable the first one defines it.
  void find_reader(std::uint32_t l) {
    if (!is_equation(body_[l])) return;
    const Expression& side = is_free(body_[l].left) ? body_[l].left : body_[l].right;
    if (!is_free(side) || is_defined_[side.variable]) return;
    for (std::uint32_t m = 0; m < body_.size(); ++m) {
      std::set<VariableId> read;
      if (m != l) collect_variables(body_[m], read);
      if (!read.contains(side.variable) || shown(m) == l) continue;
      owner_[l] = m;
      is_defined_[side.variable] = true;
      return;
    }
  }

  std::span<const Literal> body_;
  const std::vector<Variable>& variables_;
  std::vector<std::uint32_t> result_of_;  // by variable: the literal that computes it
  std::vector<bool> is_defined_;  // by variable
  std::vector<std::uint32_t> owner_;
};

}  // namespace

bool is_lifted(const Variable& variable) {
  return variable.name.size() > 1 && variable.name[0] == '_' &&
         std::isdigit(static_cast<unsigned char>(variable.name[1])) != 0;
}

std::optional<VariableId> result_of(const Literal& literal) {
  if (literal.kind == LiteralKind::kAggregate) return literal.aggregate->result;
  if (literal.kind == LiteralKind::kRange) return literal.range->variable;
  return std::nullopt;
}

bool equates_two_variables(const Literal& literal) {
  return is_equation(literal) && literal.left.kind == ExpressionKind::kVariable &&
         literal.right.kind == ExpressionKind::kVariable;
}

std::vector<WrittenLiteral> written_body(std::span<const Literal> body,
                                         const std::vector<Variable>& variables) {
  const PartsFinder finder(body, variables);
  std::vector<std::vector<std::uint32_t>> parts(body.size());
  for (std::uint32_t l = 0; l < body.size(); ++l)
    if (const std::uint32_t shown = finder.shown(l); shown != l) parts[shown].push_back(l);
  std::vector<WrittenLiteral> written;
  for (std::uint32_t l = 0; l < body.size(); ++l)
    if (finder.shown(l) == l) written.push_back({.shown = l, .parts = std::move(parts[l])});
  return written;
}

std::vector<LiftedVariable> lifted_variables(std::span<const Literal> body,
                                             const std::vector<Variable>& variables) {
  const PartsFinder finder(body, variables);
  std::vector<LiftedVariable> found;
  for (std::uint32_t l = 0; l < body.size(); ++l) {
    if (body[l].kind == LiteralKind::kAggregate) {
      const auto inner = lifted_variables(body[l].aggregate->body, variables);
      found.insert(found.end(), inner.begin(), inner.end());
    }
    if (const auto lifted = finder.lifted_by(l)) found.push_back(*lifted);
  }
  return found;
}

std::vector<const Literal*> shown_without_values(std::span<const Literal> body,
                                                 const std::vector<Variable>& variables) {
  std::vector<const Literal*> shown;
  for (const WrittenLiteral& each : written_body(body, variables)) {
    const auto result = result_of(body[each.shown]);
    if (!result || !is_lifted(variables[*result]) || !each.parts.empty())
      shown.push_back(&body[each.shown]);
  }
  return shown;
}

}  // namespace stratalog::datalog
