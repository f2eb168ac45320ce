// SPDX-License-Identifier: Apache-2.0
// Structured values: record types and algebraic data types, and the terms nil, [a, b] and
// $Branch(a, b).
#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/parser.h"

namespace stratalog::datalog::language {

// At `[` of `.type T = [x: number, rest: T]`.
bool Parser::parse_record_type(TypeSyntax& type) {
  type.form = TypeForm::kRecord;
  advance();
  BranchSyntax fields;
  if (!accept(TokenKind::kRightBracket)) {
    if (!parse_fields(fields.fields)) return false;
    if (!expect(TokenKind::kRightBracket, "`,` or `]`")) return false;
  }
  type.branches.push_back(std::move(fields));
  return true;
}

// At `{` of `.type T = Branch { x: number } | Other {}`; `branch` was read already.
bool Parser::parse_branches(TypeSyntax& type, NameSyntax branch) {
  type.form = TypeForm::kAlgebraic;
  for (;;) {
    BranchSyntax next;
    next.name = std::move(branch);
    if (!expect(TokenKind::kLeftBrace, "`{` and the fields of the branch")) return false;
    if (!skip_inner_annotations()) return false;
    if (!accept(TokenKind::kRightBrace)) {
      if (!parse_fields(next.fields)) return false;
      if (!expect(TokenKind::kRightBrace, "`,` or `}`")) return false;
    }
    type.branches.push_back(std::move(next));
    if (!accept(TokenKind::kPipe)) return true;
    if (!skip_annotations()) return false;
    if (!parse_name(branch, "the name of a branch, as in `Branch { x: number }`")) return false;
  }
}

bool Parser::parse_fields(std::vector<AttributeSyntax>& fields) {
  do {
    AttributeSyntax& field = fields.emplace_back();
    if (!skip_annotations()) return false;
    if (!parse_name(field.name, "the name of a field, as in `x: number`")) return false;
    if (!expect(TokenKind::kColon, "`:` and the type of the field")) return false;
    if (!parse_qualified_name(field.type,
                              "a type: number, unsigned, float, symbol or a declared one")) {
      return false;
    }
  } while (accept(TokenKind::kComma));
  return true;
}

// At `nil`, `[` or a `$` that a name follows.
bool Parser::parse_record_term(Term& term) {
  if (is_at(TokenKind::kNil)) {
    term.kind = TermKind::kNil;
    term.span = token_.span;
    advance();
    return true;
  }
  const Nesting nesting(*this);
  if (!nesting.ok()) return false;
  Term result;
  const Span start = token_.span;
  if (is_at(TokenKind::kLeftBracket)) {
    result.kind = TermKind::kRecord;
    if (!parse_listed_arguments(result.arguments, TokenKind::kRightBracket, "`,` or `]`"))
      return false;
  } else {
    result.kind = TermKind::kBranch;
    advance();
    if (!parse_qualified_name(result.type, "the name of a branch")) return false;
    if (!is_at(TokenKind::kLeftParen)) {
      return fail("`(` and the fields of the branch",
                  fmt::format("a branch without fields is written `${}()`", result.type.name));
    }
    if (!parse_arguments(result.arguments)) return false;
  }
  result.span = {start.begin, previous_.end};
  for (const Term& argument : result.arguments)
    result.depth = std::max(result.depth, argument.depth + 1);
  term = std::move(result);
  return check_depth(term);
}

}  // namespace stratalog::datalog::language
