// SPDX-License-Identifier: Apache-2.0
// Terms: constants, variables, operators by precedence climbing, functor calls, casts, ranges and
// aggregates. Precedence as in Soufflé, weakest first: lor, lxor, land, bor, bxor, band, shifts, +
// -, * / %, unary, ^ (to the right).
#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/parser.h"

namespace stratalog::datalog::language {
namespace {

struct BinaryOperator {
  Functor functor;
  int level;
};

constexpr int kPowerLevel = 11;

bool binary_operator(TokenKind kind, BinaryOperator& op) {
  switch (kind) {
    case TokenKind::kLor:
      op = {Functor::kLogicalOr, 1};
      return true;
    case TokenKind::kLxor:
      op = {Functor::kLogicalXor, 2};
      return true;
    case TokenKind::kLand:
      op = {Functor::kLogicalAnd, 3};
      return true;
    case TokenKind::kBor:
      op = {Functor::kBitOr, 4};
      return true;
    case TokenKind::kBxor:
      op = {Functor::kBitXor, 5};
      return true;
    case TokenKind::kBand:
      op = {Functor::kBitAnd, 6};
      return true;
    case TokenKind::kBshl:
      op = {Functor::kShiftLeft, 7};
      return true;
    case TokenKind::kBshr:
      op = {Functor::kShiftRight, 7};
      return true;
    case TokenKind::kBshru:
      op = {Functor::kShiftRightUnsigned, 7};
      return true;
    case TokenKind::kPlus:
      op = {Functor::kAdd, 8};
      return true;
    case TokenKind::kMinus:
      op = {Functor::kSubtract, 8};
      return true;
    case TokenKind::kStar:
      op = {Functor::kMultiply, 9};
      return true;
    case TokenKind::kSlash:
      op = {Functor::kDivide, 9};
      return true;
    case TokenKind::kPercent:
      op = {Functor::kModulo, 9};
      return true;
    case TokenKind::kCaret:
      op = {Functor::kPower, kPowerLevel};
      return true;
    default:
      return false;
  }
}

bool unary_operator(TokenKind kind, Functor& functor) {
  switch (kind) {
    case TokenKind::kMinus:
      functor = Functor::kNegate;
      return true;
    case TokenKind::kBnot:
      functor = Functor::kBitNot;
      return true;
    case TokenKind::kLnot:
      functor = Functor::kLogicalNot;
      return true;
    default:
      return false;
  }
}

struct NamedFunctor {
  TokenKind token;
  Functor functor;
  std::size_t arity;  // 0: any number from 1 on
  std::string_view usage;
};

constexpr NamedFunctor kNamedFunctors[] = {
    {TokenKind::kCat, Functor::kCat, 0, "cat(a, b, ...)"},
    {TokenKind::kOrd, Functor::kOrd, 1, "ord(x)"},
    {TokenKind::kStrlen, Functor::kStrlen, 1, "strlen(text)"},
    {TokenKind::kSubstr, Functor::kSubstr, 3, "substr(text, start, length)"},
    {TokenKind::kToFloat, Functor::kToFloat, 1, "to_float(x)"},
    {TokenKind::kToNumber, Functor::kToNumber, 1, "to_number(x)"},
    {TokenKind::kToString, Functor::kToString, 1, "to_string(x)"},
    {TokenKind::kToUnsigned, Functor::kToUnsigned, 1, "to_unsigned(x)"},
};

// "1.2.3.4" as the number that Soufflé reads it as.
std::string address_as_number(std::string_view text, bool& is_in_range) {
  std::uint64_t number = 0;
  std::uint64_t part = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '.') {
      part = std::min<std::uint64_t>(part * 10 + static_cast<std::uint64_t>(text[i] - '0'), 1000);
      continue;
    }
    is_in_range = is_in_range && part <= 255;
    number = number * 256 + part;
    part = 0;
  }
  return std::to_string(number);
}

bool is_number(TermKind kind) {
  return kind == TermKind::kInteger || kind == TermKind::kUnsigned || kind == TermKind::kFloat;
}

}  // namespace

bool Parser::parse_term(Term& term, int minimum_level) {
  const Nesting nesting(*this);
  if (!nesting.ok()) return false;
  return parse_unary(term) && continue_term(term, minimum_level);
}

// Applies the binary operators of at least `minimum_level` that follow `left`.
bool Parser::continue_term(Term& left, int minimum_level) {
  BinaryOperator op{};
  while (binary_operator(token_.kind, op) && op.level >= minimum_level) {
    advance();
    Term right;
    // `^` groups to the right, all others to the left.
    if (!parse_term(right, op.level == kPowerLevel ? op.level : op.level + 1)) return false;
    const Span span = cover(left.span, right.span);
    std::vector<Term> arguments;
    arguments.push_back(std::move(left));
    arguments.push_back(std::move(right));
    if (!finish_functor(left, op.functor, std::move(arguments), span)) return false;
  }
  return true;
}

bool Parser::finish_functor(Term& term, Functor functor, std::vector<Term> arguments, Span span) {
  Term result;
  result.kind = TermKind::kFunctor;
  result.functor = functor;
  result.span = span;
  for (const Term& argument : arguments) result.depth = std::max(result.depth, argument.depth + 1);
  result.arguments = std::move(arguments);
  term = std::move(result);
  return check_depth(term);
}

bool Parser::check_depth(const Term& term) {
  if (term.depth <= kMaxTermDepth) return true;
  sink_.error(term.span, fmt::format("this nests deeper than {} levels", kMaxTermDepth)).hint =
      "name parts of it with `variable = expression`";
  return false;
}

bool Parser::parse_unary(Term& term) {
  Functor functor{};
  if (!unary_operator(token_.kind, functor)) return parse_primary(term);
  const Nesting nesting(*this);
  if (!nesting.ok()) return false;
  const Span start = token_.span;
  advance();
  Term operand;
  // The operand of a unary operator may be another one; `^` binds tighter than both.
  if (!parse_unary(operand) || !continue_term(operand, kPowerLevel)) return false;
  const Span span = cover(start, operand.span);
  if (functor == Functor::kNegate && is_number(operand.kind) && operand.text[0] != '-') {
    operand.text.insert(operand.text.begin(), '-');
    operand.span = span;
    term = std::move(operand);
    return true;
  }
  std::vector<Term> arguments;
  arguments.push_back(std::move(operand));
  return finish_functor(term, functor, std::move(arguments), span);
}

bool Parser::parse_primary(Term& term) {
  term.span = token_.span;
  if (token_.kind >= TokenKind::kMin && token_.kind <= TokenKind::kSum)
    return parse_aggregate_or_extremum(term);
  for (const NamedFunctor& named : kNamedFunctors) {
    if (is_at(named.token)) return parse_functor_call(term);
  }
  switch (token_.kind) {
    case TokenKind::kIdentifier:
      term.kind = TermKind::kVariable;
      break;
    case TokenKind::kUnderscore:
      term.kind = TermKind::kWildcard;
      break;
    case TokenKind::kInteger:
      term.kind = TermKind::kInteger;
      break;
    case TokenKind::kUnsigned:
      term.kind = TermKind::kUnsigned;
      break;
    case TokenKind::kFloat:
      term.kind = TermKind::kFloat;
      break;
    case TokenKind::kAddress: {
      bool is_in_range = true;
      term.kind = TermKind::kInteger;
      term.text = address_as_number(text_of(token_), is_in_range);
      advance();
      if (is_in_range) return true;
      sink_.error(term.span, "a part of this IPv4 address is larger than 255");
      return false;
    }
    case TokenKind::kString:
      term.kind = TermKind::kString;
      return parse_string(term.text);
    case TokenKind::kRange:
      return parse_functor_call(term);
    case TokenKind::kAs:
      return parse_cast(term);
    case TokenKind::kLeftParen: {
      advance();
      if (!parse_term(term)) return false;
      if (!expect(TokenKind::kRightParen, "an operator or `)`")) return false;
      return true;
    }
    case TokenKind::kNil:
    case TokenKind::kLeftBracket:
      return parse_record_term(term);
    case TokenKind::kDollar:
      if (peek_after().kind == TokenKind::kIdentifier) return parse_record_term(term);
      return parse_counter(term);
    case TokenKind::kAutoinc:
      return parse_counter(term);
    case TokenKind::kAt:
      return parse_external_call(term);
    case TokenKind::kIteration:
      return parse_iteration_count(term);
    default:
      return fail("a variable, a constant or an expression");
  }
  term.text = std::string(text_of(token_));
  advance();
  if (term.kind == TermKind::kVariable && is_at(TokenKind::kLeftParen)) {
    DiagnosticDraft& draft =
        sink_.error(term.span, fmt::format("`{}(...)` is not an expression", term.text));
    draft.hint =
        "relations cannot be used inside expressions; the functors are cat, ord, strlen, substr, "
        "to_float, "
        "to_number, to_string, to_unsigned, min, max and range";
    if (functors_.contains(term.text))
      draft.hint = fmt::format("the functor of `.functor` is called as `@{}(...)`", term.text);
    return false;
  }
  return true;
}

// autoinc(), or `$` as it was written formerly.
bool Parser::parse_counter(Term& term) {
  const Span start = token_.span;
  const bool is_old = is_at(TokenKind::kDollar);
  advance();
  if (is_old)
    sink_.warning(start, "the counter `$` is deprecated").hint = "write `autoinc()`";
  else if (!expect(TokenKind::kLeftParen, "`()`") || !expect(TokenKind::kRightParen, "`)`"))
    return false;
  return finish_functor(term, Functor::kCounter, {}, {start.begin, previous_.end});
}

bool Parser::parse_string(std::string& characters) {
  UnquotedString unquoted = unquote(text_of(token_));
  if (unquoted.bad_escape != std::string_view::npos) {
    const auto begin = static_cast<std::uint32_t>(token_.span.begin + unquoted.bad_escape);
    sink_.error({begin, begin + 2}, "unknown escape sequence in a string").expected =
        R"(one of \" \' \\ \a \b \f \n \r \t \v)";
    return false;
  }
  characters = std::move(unquoted.characters);
  advance();
  return true;
}

// At `(`: the arguments and the closing `)`.
bool Parser::parse_arguments(std::vector<Term>& arguments) {
  return parse_listed_arguments(arguments, TokenKind::kRightParen, "`,` or `)`");
}

bool Parser::parse_listed_arguments(std::vector<Term>& arguments, TokenKind end,
                                    std::string_view expected) {
  advance();
  if (accept(end)) return true;
  do {
    if (!parse_term(arguments.emplace_back())) return false;
  } while (accept(TokenKind::kComma));
  return expect(end, expected);
}

bool Parser::ends_a_term() const {
  switch (token_.kind) {
    case TokenKind::kRightParen:
    case TokenKind::kComma:
    case TokenKind::kDot:
    case TokenKind::kSemicolon:
    case TokenKind::kRightBrace:
    case TokenKind::kIf:
    case TokenKind::kEqual:
    case TokenKind::kNotEqual:
    case TokenKind::kLess:
    case TokenKind::kLessEqual:
    case TokenKind::kGreater:
    case TokenKind::kGreaterEqual:
    case TokenKind::kEnd:
      return true;
    default:
      return false;
  }
}

bool Parser::report_reserved_word(const Token& word, std::string_view usage) {
  DiagnosticDraft& draft = sink_.error(word.span, fmt::format("unexpected {}", describe(word)));
  draft.expected = fmt::format("`{}`, or a variable of another name", usage);
  draft.hint = fmt::format("`{}` is a reserved word and cannot be used as a name", text_of(word));
  return false;
}

bool Parser::parse_functor_call(Term& term) {
  const Token name = token_;
  advance();
  if (ends_a_term()) {
    for (const NamedFunctor& named : kNamedFunctors) {
      if (named.token == name.kind) return report_reserved_word(name, named.usage);
    }
    return report_reserved_word(name, "range(from, to)");
  }
  if (!is_at(TokenKind::kLeftParen)) {
    return fail(fmt::format("`(` and the arguments of `{}`", text_of(name)));
  }
  std::vector<Term> arguments;
  if (!parse_arguments(arguments)) return false;
  const Span span{name.span.begin, previous_.end};
  if (name.kind == TokenKind::kRange) {
    if (arguments.size() != 2 && arguments.size() != 3) {
      sink_.error(span, fmt::format("`range` takes 2 or 3 arguments, not {}", arguments.size()))
          .expected = "`range(from, to)` or `range(from, to, step)`";
      return false;
    }
    if (!finish_functor(term, Functor::kAdd, std::move(arguments), span)) return false;
    term.kind = TermKind::kRange;
    return true;
  }
  for (const NamedFunctor& named : kNamedFunctors) {
    if (named.token != name.kind) continue;
    const bool is_right = named.arity == 0 ? !arguments.empty() : arguments.size() == named.arity;
    if (!is_right) {
      sink_
          .error(span, fmt::format("`{}` takes {} argument{}, not {}", text_of(name),
                                   named.arity == 0 ? "at least 1" : std::to_string(named.arity),
                                   named.arity <= 1 ? "" : "s", arguments.size()))
          .expected = fmt::format("`{}`", named.usage);
      return false;
    }
    return finish_functor(term, named.functor, std::move(arguments), span);
  }
  return false;
}

// recursive_iteration_cnt()
bool Parser::parse_iteration_count(Term& term) {
  const Span start = token_.span;
  advance();
  return expect(TokenKind::kLeftParen, "`()`") && expect(TokenKind::kRightParen, "`)`") &&
         finish_functor(term, Functor::kIteration, {}, {start.begin, previous_.end});
}

// @name(x, ...)
bool Parser::parse_external_call(Term& term) {
  const Span start = token_.span;
  advance();
  if (accept(TokenKind::kAt)) return parse_fold(start, term);
  NameSyntax name;
  if (!parse_name(name, "the name of a functor that `.functor` declares")) return false;
  if (!is_at(TokenKind::kLeftParen))
    return fail(fmt::format("`(` and the arguments of `@{}`", name.name));
  std::vector<Term> arguments;
  if (!parse_arguments(arguments)) return false;
  if (!finish_functor(term, Functor::kExternal, std::move(arguments), {start.begin, previous_.end}))
    return false;
  term.text = std::move(name.name);
  return true;
}

// as(x, T)
bool Parser::parse_cast(Term& term) {
  const Span start = token_.span;
  advance();
  std::vector<Term> arguments(1);
  NameSyntax type;
  if (!expect(TokenKind::kLeftParen, "`(`, as in `as(x, number)`") || !parse_term(arguments[0]) ||
      !expect(TokenKind::kComma, "`,` and a type, as in `as(x, number)`") ||
      !parse_qualified_name(type, "a type") || !expect(TokenKind::kRightParen, "`)`")) {
    return false;
  }
  if (!finish_functor(term, Functor::kReinterpret, std::move(arguments),
                      {start.begin, previous_.end})) {
    return false;
  }
  term.kind = TermKind::kCast;
  term.type = std::move(type);
  return true;
}

}  // namespace stratalog::datalog::language
