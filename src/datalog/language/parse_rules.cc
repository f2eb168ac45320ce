// SPDX-License-Identifier: Apache-2.0
// Facts, rules and their bodies: heads, conjunction, disjunction, negation, atoms and constraints.
#include <fmt/format.h>

#include "datalog/language/parser.h"

namespace stratalog::datalog::language {
namespace {

bool comparison_of(TokenKind kind, Comparison& comparison) {
  switch (kind) {
    case TokenKind::kEqual:
      comparison = Comparison::kEqual;
      return true;
    case TokenKind::kNotEqual:
      comparison = Comparison::kNotEqual;
      return true;
    case TokenKind::kLess:
      comparison = Comparison::kLess;
      return true;
    case TokenKind::kLessEqual:
      comparison = Comparison::kLessEqual;
      return true;
    case TokenKind::kGreater:
      comparison = Comparison::kGreater;
      return true;
    case TokenKind::kGreaterEqual:
      comparison = Comparison::kGreaterEqual;
      return true;
    default:
      return false;
  }
}

bool continues_a_term(TokenKind kind) {
  switch (kind) {
    case TokenKind::kPlus:
    case TokenKind::kMinus:
    case TokenKind::kStar:
    case TokenKind::kSlash:
    case TokenKind::kPercent:
    case TokenKind::kCaret:
    case TokenKind::kEqual:
    case TokenKind::kNotEqual:
    case TokenKind::kLess:
    case TokenKind::kLessEqual:
    case TokenKind::kGreater:
    case TokenKind::kGreaterEqual:
      return true;
    default:
      return kind >= TokenKind::kBand && kind <= TokenKind::kLxor && kind != TokenKind::kBnot;
  }
}

}  // namespace

bool Parser::parse_clause() {
  RuleSyntax rule;
  const Token start = token_;
  if (!is_at(TokenKind::kIdentifier)) {
    if (is_at(TokenKind::kDot)) {
      const Token after = peek_after();
      const bool is_joined = after.kind == TokenKind::kIdentifier || is_directive(after.kind) ||
                             is_reserved_word(after.kind);
      if (is_joined && after.span.begin == token_.span.end) return report_unknown_directive();
    }
    std::string hint;
    if (is_at(TokenKind::kIf))
      hint = "a rule begins with its head, as in `path(x,y) :- edge(x,y).`";
    const bool is_dot = is_at(TokenKind::kDot);
    fail("a directive, a fact or a rule", hint);
    if (is_dot) advance();  // otherwise recovery would stop at once and read the rest as a clause
    return false;
  }
  do {
    AtomSyntax head;
    if (!skip_annotations() || !parse_atom(head)) return false;
    rule.heads.push_back(std::move(head));
  } while (accept(TokenKind::kComma));

  if (is_at(TokenKind::kLessEqual)) {
    if (!parse_subsumption(rule)) return false;
  } else if (accept(TokenKind::kIf)) {
    if (!skip_inner_annotations()) return false;
    rule.body.emplace();
    if (!parse_disjunction(*rule.body)) return false;
  } else if (rule.heads.size() > 1) {
    return fail("`:-`", "several facts are written one by one, each with its own `.`");
  }
  rule.span = {start.span.begin, token_.span.end};
  if (!accept(TokenKind::kDot) && !report_missing_dot()) return false;
  program_.rules.push_back(std::move(rule));
  rule_end_ = previous_.end;
  return true;
}

// At `<=`, after the dominated atom. The body becomes: dominated, dominating, and what is written.
bool Parser::parse_subsumption(RuleSyntax& rule) {
  if (rule.heads.size() > 1) return fail("`:-`", "a rule that subsumes has one atom before `<=`");
  rule.role = RuleRole::kSubsumes;
  advance();
  Formula dominated;
  dominated.kind = FormulaKind::kAtom;
  Formula dominating = dominated;
  Formula rest;
  if (!parse_atom(dominating.atom)) return false;
  if (!expect(TokenKind::kIf, "`:-` and what must hold")) return false;
  if (!skip_inner_annotations() || !parse_disjunction(rest)) return false;
  AtomSyntax& head = rule.heads[0];
  if (head.relation.name != dominating.atom.relation.name)
    sink_.error(dominating.atom.span, "subsumption compares tuples of one relation")
        .notes.push_back({head.span, fmt::format("the other one is of `{}`", head.relation.name)});
  // `_` is any value: a variable with a name that no program can write.
  std::uint32_t unnamed = 0;
  for (AtomSyntax* atom : {&head, &dominating.atom}) {
    for (Term& argument : atom->arguments) {
      if (argument.kind != TermKind::kWildcard) continue;
      argument.kind = TermKind::kVariable;
      argument.text = fmt::format("_#{}", ++unnamed);
    }
  }
  dominated.atom = head;
  dominated.span = head.span;
  dominating.span = dominating.atom.span;
  Formula& body = rule.body.emplace();
  body.kind = FormulaKind::kAnd;
  body.span = {head.span.begin, previous_.end};
  body.children.push_back(std::move(dominated));
  body.children.push_back(std::move(dominating));
  body.children.push_back(std::move(rest));
  return true;
}

// The clause should end here. When what follows looks like the next clause, the dot was forgotten
// and nothing is lost.
bool Parser::report_missing_dot() {
  const bool starts_clause =
      is_directive(token_.kind) || is_at(TokenKind::kEnd) ||
      (is_at(TokenKind::kIdentifier) && peek_after().kind == TokenKind::kLeftParen);
  const std::string_view between = lexer_.text_of({previous_.end, token_.span.begin});
  if (starts_clause && (is_at(TokenKind::kEnd) || between.find('\n') != std::string_view::npos)) {
    const Span end{previous_.end == 0 ? 0 : previous_.end - 1, previous_.end};
    DiagnosticDraft& draft = sink_.error(end, "the `.` that ends this clause is missing");
    draft.expected = "`,` and more of the clause, or `.`";
    program_.is_complete = false;
    return true;  // go on with the token at hand
  }
  return fail("`,` `;` or `.`");
}

bool Parser::parse_atom(AtomSyntax& atom) {
  if (!parse_qualified_name(atom.relation, "the name of a relation")) return false;
  atom.span = atom.relation.span;
  if (!is_at(TokenKind::kLeftParen)) {
    return fail("`(` and the arguments",
                fmt::format("a relation without columns is written `{}()`", atom.relation.name));
  }
  if (!parse_arguments(atom.arguments)) return false;
  atom.span.end = previous_.end;
  return true;
}

bool Parser::parse_disjunction(Formula& formula) {
  const Nesting nesting(*this);
  if (!nesting.ok()) return false;
  if (!parse_conjunction(formula)) return false;
  if (!is_at(TokenKind::kSemicolon)) return true;
  Formula either;
  either.kind = FormulaKind::kOr;
  either.span = formula.span;
  either.children.push_back(std::move(formula));
  while (accept(TokenKind::kSemicolon)) {
    if (!parse_conjunction(either.children.emplace_back())) return false;
  }
  either.span.end = previous_.end;
  formula = std::move(either);
  return true;
}

bool Parser::parse_conjunction(Formula& formula) {
  if (!parse_literal(formula)) return false;
  if (!is_at(TokenKind::kComma)) return true;
  Formula both;
  both.kind = FormulaKind::kAnd;
  both.span = formula.span;
  both.children.push_back(std::move(formula));
  while (accept(TokenKind::kComma)) {
    if (!parse_literal(both.children.emplace_back())) return false;
  }
  both.span.end = previous_.end;
  formula = std::move(both);
  return true;
}

bool Parser::parse_literal(Formula& formula) {
  formula.span = token_.span;
  switch (token_.kind) {
    case TokenKind::kExclamation: {
      const Nesting nesting(*this);
      if (!nesting.ok()) return false;
      advance();
      formula.kind = FormulaKind::kNot;
      if (!parse_literal(formula.children.emplace_back())) return false;
      formula.span.end = previous_.end;
      return true;
    }
    case TokenKind::kTrue:
    case TokenKind::kFalse:
      formula.kind = FormulaKind::kTruth;
      formula.truth = is_at(TokenKind::kTrue);
      advance();
      return true;
    case TokenKind::kMatch:
    case TokenKind::kContains:
      return parse_text_constraint(formula);
    case TokenKind::kLeftParen: {
      if (is_parenthesised_term()) return parse_comparison(formula);
      advance();
      return parse_disjunction(formula) && expect(TokenKind::kRightParen, "`,` `;` or `)`");
    }
    case TokenKind::kIdentifier: {
      const Token after = peek_after();
      if (after.kind == TokenKind::kLeftParen) {
        formula.kind = FormulaKind::kAtom;
        if (!parse_atom(formula.atom)) return false;
        formula.span = formula.atom.span;
        if (continues_a_term(token_.kind)) {
          return fail("`,` `;` or `.` after an atom",
                      "a relation has no value; compare its arguments, or use an aggregate such as "
                      "`count : ...`");
        }
        return true;
      }
      if (is_qualified_atom()) {
        formula.kind = FormulaKind::kAtom;
        if (!parse_atom(formula.atom)) return false;
        formula.span = formula.atom.span;
        return true;
      }
      return parse_comparison(formula);
    }
    default:
      return parse_comparison(formula);
  }
}

// At the first name of `outer.inner.relation(`: names, and dots that follow on their line.
bool Parser::is_qualified_atom() const {
  Lexer ahead = lexer_;
  Token name = token_;
  for (std::size_t names = 1;; ++names) {
    Token next = ahead.next();
    if (names > 1 && next.kind == TokenKind::kLeftParen) return true;
    if (next.kind != TokenKind::kDot || !follows_on_line(name.span, next.span)) return false;
    name = ahead.next();
    if (name.kind != TokenKind::kIdentifier || name.span.begin != next.span.end) return false;
  }
}

// At `(`: a term when an operator follows the matching `)`, otherwise a formula. Looks no further
// than that.
bool Parser::is_parenthesised_term() const {
  Lexer ahead = lexer_;
  std::uint32_t depth = 1;
  while (depth > 0) {
    const Token token = ahead.next();
    switch (token.kind) {
      case TokenKind::kLeftParen:
        ++depth;
        break;
      case TokenKind::kRightParen:
        --depth;
        break;
      case TokenKind::kEnd:
      case TokenKind::kIf:
      case TokenKind::kBad:
        return false;
      default:
        if (is_directive(token.kind)) return false;
        break;
    }
  }
  return continues_a_term(ahead.next().kind);
}

bool Parser::parse_comparison(Formula& formula) {
  formula.kind = FormulaKind::kComparison;
  const Span start = token_.span;
  const bool is_name = is_at(TokenKind::kIdentifier);
  Term left;
  if (!parse_term(left)) return false;
  if (!comparison_of(token_.kind, formula.comparison)) {
    std::string hint;
    if (is_name && left.kind == TermKind::kVariable) {
      hint = fmt::format("a relation without columns is written `{}()`", left.text);
    }
    return fail("a comparison: = != < <= > >=", std::move(hint));
  }
  advance();
  Term right;
  if (!parse_term(right)) return false;
  formula.operands.push_back(std::move(left));
  formula.operands.push_back(std::move(right));
  formula.span = {start.begin, previous_.end};
  return true;
}

// match("a.*", x), contains("a", x)
bool Parser::parse_text_constraint(Formula& formula) {
  formula.kind = FormulaKind::kComparison;
  formula.comparison = is_at(TokenKind::kMatch) ? Comparison::kMatch : Comparison::kContains;
  const Token name = token_;
  advance();
  if (!is_at(TokenKind::kLeftParen)) return fail("`(` and two arguments");
  if (!parse_arguments(formula.operands)) return false;
  formula.span = {name.span.begin, previous_.end};
  if (formula.operands.size() == 2) return true;
  sink_
      .error(formula.span,
             fmt::format("`{}` takes 2 arguments, not {}", text_of(name), formula.operands.size()))
      .expected =
      name.kind == TokenKind::kMatch ? "`match(pattern, text)`" : "`contains(part, text)`";
  return false;
}

}  // namespace stratalog::datalog::language
