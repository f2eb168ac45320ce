// SPDX-License-Identifier: Apache-2.0
// Aggregates, and the functors min and max, which begin alike.
#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/parser.h"

namespace stratalog::datalog::language {
namespace {

bool aggregate_function(TokenKind kind, AggregateFunction& function) {
  switch (kind) {
    case TokenKind::kCount:
      function = AggregateFunction::kCount;
      return true;
    case TokenKind::kSum:
      function = AggregateFunction::kSum;
      return true;
    case TokenKind::kMin:
      function = AggregateFunction::kMin;
      return true;
    case TokenKind::kMax:
      function = AggregateFunction::kMax;
      return true;
    case TokenKind::kMean:
      function = AggregateFunction::kMean;
      return true;
    default:
      return false;
  }
}

// The depth of the deepest term inside; formulas themselves are bounded by the nesting limit.
std::uint32_t depth_of(const Formula& formula) {
  std::uint32_t depth = 0;
  for (const Term& term : formula.atom.arguments) depth = std::max(depth, term.depth);
  for (const Term& term : formula.operands) depth = std::max(depth, term.depth);
  for (const Formula& child : formula.children) depth = std::max(depth, depth_of(child) + 1);
  return depth;
}

}  // namespace

// `min x : { ... }` is an aggregate, `min(x, y)` a functor, `min (x) + 1 : { ... }` an aggregate
// again.
bool Parser::parse_aggregate_or_extremum(Term& term) {
  AggregateFunction function{};
  aggregate_function(token_.kind, function);
  const Token name = token_;
  advance();
  if (is_at(TokenKind::kColon))
    return parse_aggregate_rest(function, name.span, term, std::nullopt);
  if (ends_a_term()) {
    const bool is_count = function == AggregateFunction::kCount;
    return report_reserved_word(
        name, fmt::format("{}{} : {{ body }}", text_of(name), is_count ? "" : " expression"));
  }
  Term first;
  if (!is_at(TokenKind::kLeftParen)) {
    if (!parse_term(first)) return false;
    return parse_aggregate_rest(function, name.span, term, std::move(first));
  }
  advance();
  if (!parse_term(first)) return false;
  if (is_at(TokenKind::kComma)) {
    std::vector<Term> arguments;
    arguments.push_back(std::move(first));
    while (accept(TokenKind::kComma)) {
      if (!parse_term(arguments.emplace_back())) return false;
    }
    if (!expect(TokenKind::kRightParen, "`,` or `)`")) return false;
    const bool is_min = function == AggregateFunction::kMin;
    const Span span{name.span.begin, previous_.end};
    if (!is_min && function != AggregateFunction::kMax) {
      sink_.error(span, fmt::format("`{}` is an aggregate, not a functor", text_of(name)))
          .expected = fmt::format("`{} expression : {{ body }}`", text_of(name));
      return false;
    }
    return finish_functor(term, is_min ? Functor::kMin : Functor::kMax, std::move(arguments), span);
  }
  if (!expect(TokenKind::kRightParen, "`,` or `)`")) return false;
  if (!continue_term(first, 0)) return false;
  return parse_aggregate_rest(function, name.span, term, std::move(first));
}

bool Parser::parse_aggregate_rest(AggregateFunction function, Span start, Term& term,
                                  std::optional<Term> target) {
  const Nesting nesting(*this);
  if (!nesting.ok()) return false;
  const std::string name(lexer_.text_of(start));
  if (!expect(TokenKind::kColon, "`:` and the body of the aggregate")) return false;
  const bool is_count = function == AggregateFunction::kCount;
  if (is_count && target.has_value()) {
    sink_.error(target->span, "`count` takes no expression").expected = "`count : { body }`";
    return false;
  }
  if (!is_count && !target.has_value()) {
    sink_.error(start, fmt::format("`{}` needs an expression", name)).expected =
        fmt::format("`{} expression : {{ body }}`", name);
    return false;
  }
  return finish_aggregate(function, start, term, std::move(target));
}

// Behind `@@`: name value : first, { body }
bool Parser::parse_fold(Span start, Term& term) {
  const Nesting nesting(*this);
  if (!nesting.ok()) return false;
  NameSyntax name;
  std::vector<Term> operands(2);  // of the functor: what there is so far, and the next value
  if (!parse_name(name, "the name of a functor that `.functor` declares") ||
      !parse_term(operands[1]) ||
      !expect(TokenKind::kColon, "`:` and the value to begin with, as in `@@f x : 0, { body }`") ||
      !parse_term(operands[0]) || !expect(TokenKind::kComma, "`,` and the body in braces"))
    return false;
  Term target;
  if (!finish_functor(target, Functor::kExternal, std::move(operands),
                      {start.begin, previous_.end}))
    return false;
  target.text = std::move(name.name);
  return finish_aggregate(AggregateFunction::kFold, start, term, std::move(target));
}

// At the body.
bool Parser::finish_aggregate(AggregateFunction function, Span start, Term& term,
                              std::optional<Term> target) {
  auto aggregate = Boxed<AggregateSyntax>(AggregateSyntax{});
  aggregate->function = function;
  aggregate->target = std::move(target);
  if (accept(TokenKind::kLeftBrace)) {
    if (!parse_disjunction(aggregate->body)) return false;
    if (!expect(TokenKind::kRightBrace, "`,` or `}`")) return false;
  } else {
    if (!is_at(TokenKind::kIdentifier))
      return fail("`{` and the body of the aggregate, or one atom");
    aggregate->body.kind = FormulaKind::kAtom;
    if (!parse_atom(aggregate->body.atom)) return false;
    aggregate->body.span = aggregate->body.atom.span;
  }
  Term result;
  result.kind = TermKind::kAggregate;
  result.span = {start.begin, previous_.end};
  result.depth = depth_of(aggregate->body) + 1;
  if (aggregate->target) result.depth = std::max(result.depth, aggregate->target->depth + 1);
  result.aggregate = std::move(aggregate);
  term = std::move(result);
  if (term.depth <= kMaxTermDepth) return true;
  sink_.error(term.span, fmt::format("this nests deeper than {} levels", kMaxTermDepth)).hint =
      "give the inner aggregate a rule of its own";
  return false;
}

}  // namespace stratalog::datalog::language
