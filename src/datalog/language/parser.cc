// SPDX-License-Identifier: Apache-2.0
// The clause loop of the parser, recovery after errors, and the pieces that all its parts share.
#include "datalog/language/parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "datalog/language/foreign_spelling.h"
#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::size_t kMaxSyntaxErrors = 1000;

}  // namespace

Parser::Nesting::Nesting(Parser& parser) : parser_(parser), ok_(++parser.nesting_ <= kMaxNesting) {
  if (ok_) return;
  DiagnosticDraft& draft = parser.sink_.error(
      parser.token_.span, fmt::format("this nests deeper than {} levels", kMaxNesting));
  draft.hint = "name parts of it with `variable = expression` or a relation of their own";
}

ProgramSyntax Parser::parse() {
  parse_items(TokenKind::kEnd);
  return std::move(program_);
}

void Parser::parse_items(TokenKind end) {
  const std::uint32_t braces = braces_;
  while (!is_at(TokenKind::kEnd) && !is_at(end)) {
    nesting_ = 0;
    braces_ = braces;
    const std::uint32_t start = token_.span.begin;
    if (parse_item()) continue;
    program_.is_complete = false;
    if (token_.span.begin == start) advance();  // every round consumes something
    recover(braces);
    if (sink_.error_count() > kMaxSyntaxErrors) break;  // not a Datalog file
  }
}

bool Parser::parse_item() {
  switch (token_.kind) {
    case TokenKind::kDecl:
      return parse_relations();
    case TokenKind::kType:
      return parse_type();
    case TokenKind::kNumberType:
      return parse_legacy_type("number");
    case TokenKind::kSymbolType:
      return parse_legacy_type("symbol");
    case TokenKind::kInput:
      return parse_io(IoAction::kInput);
    case TokenKind::kOutput:
      return parse_io(IoAction::kOutput);
    case TokenKind::kPrintSize:
      return parse_io(IoAction::kPrintSize);
    case TokenKind::kPragma:
      return parse_pragma();
    case TokenKind::kPlan:
      return parse_plan();
    case TokenKind::kLimitSize:
      return parse_size_limit();
    case TokenKind::kComponent:
      return parse_component();
    case TokenKind::kInit:
      return parse_instantiation();
    case TokenKind::kOverride:
      return parse_override();
    case TokenKind::kAt:
    case TokenKind::kAtNot:
      return skip_annotation();
    case TokenKind::kFunctorDecl:
      return parse_functor_declaration();
    case TokenKind::kLattice:
      return parse_lattice();
    case TokenKind::kInclude:
      return parse_unsupported_item();
    case TokenKind::kOnce:
      advance();
      return true;  // each file is included once anyway
    default:
      return parse_clause();
  }
}

// Skips to just after the next `.` outside parentheses, to the next directive, or to the end of the
// component.
void Parser::recover(std::uint32_t braces) {
  for (;;) {
    if (is_at(TokenKind::kEnd) || is_directive(token_.kind)) return;
    if (component_depth_ > 0 && is_at(TokenKind::kRightBrace) && braces_ <= braces) return;
    if (is_at(TokenKind::kDot)) {
      advance();
      return;
    }
    advance();
  }
}

// Skips a `{ ... }` block with its nested blocks; stands on `{`.
void Parser::skip_block() {
  std::uint32_t depth = 0;
  while (!is_at(TokenKind::kEnd)) {
    if (is_at(TokenKind::kLeftBrace)) ++depth;
    if (is_at(TokenKind::kRightBrace) && --depth == 0) {
      advance();
      return;
    }
    advance();
  }
}

void Parser::advance() {
  if (is_at(TokenKind::kLeftBrace)) ++braces_;
  if (is_at(TokenKind::kRightBrace) && braces_ > 0) --braces_;
  previous_ = token_.span;
  token_ = lexer_.next();
}

Token Parser::peek_after() const {
  Lexer ahead = lexer_;
  return ahead.next();
}

bool Parser::accept(TokenKind kind) {
  if (!is_at(kind)) return false;
  advance();
  return true;
}

bool Parser::expect(TokenKind kind, std::string_view expected) {
  return accept(kind) || fail(expected);
}

std::string Parser::describe(const Token& token) const {
  const std::string_view name = token_class_name(token.kind);
  if (token.kind == TokenKind::kEnd) return std::string(name);
  std::string text(text_of(token));
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return name.empty() ? fmt::format("`{}`", text) : fmt::format("{} `{}`", name, text);
}

bool Parser::fail(std::string_view expected, std::string hint) {
  std::string foreign = foreign_spelling_hint(lexer_.text(), token_.span);
  if (is_at(TokenKind::kBad)) {
    sink_.error(token_.span, token_.problem).hint = std::move(foreign);
    return false;
  }
  DiagnosticDraft& draft = sink_.error(token_.span, fmt::format("unexpected {}", describe(token_)));
  draft.expected = std::string(expected);
  draft.hint = foreign.empty() ? std::move(hint) : std::move(foreign);
  if (is_reserved_word(token_.kind) && draft.hint.empty()) {
    draft.hint =
        fmt::format("`{}` is a reserved word and cannot be used as a name", text_of(token_));
  }
  return false;
}

bool Parser::not_supported(Span span, std::string_view feature, std::string hint) {
  DiagnosticDraft& draft = sink_.error(span, fmt::format("not supported yet: {}", feature));
  draft.hint = std::move(hint);
  return false;
}

bool Parser::parse_name(NameSyntax& name, std::string_view expected) {
  if (!is_at(TokenKind::kIdentifier)) return fail(expected);
  name = {std::string(text_of(token_)), token_.span};
  advance();
  return true;
}

// Whether only blanks lie between, as a preprocessor may put them behind the name of a macro.
bool Parser::follows_on_line(Span before, Span after) const {
  const std::string_view between = lexer_.text_of({before.end, after.begin});
  return between.find_first_not_of(" \t") == std::string_view::npos;
}

// a.b.c: names inside components.
bool Parser::parse_qualified_name(NameSyntax& name, std::string_view expected) {
  if (!parse_name(name, expected)) return false;
  while (is_at(TokenKind::kDot) && follows_on_line(previous_, token_.span)) {
    const Token after = peek_after();
    if (after.kind != TokenKind::kIdentifier || after.span.begin != token_.span.end) break;
    advance();
    name.name += '.' + std::string(text_of(token_));
    name.span.end = token_.span.end;
    advance();
  }
  return true;
}

// At a `.` with a name right behind it, where a clause should begin.
bool Parser::report_unknown_directive() {
  static const std::vector<std::string> kKnown = {
      ".decl", ".type", ".input",    ".output", ".printsize", ".limitsize", ".functor", ".lattice",
      ".comp", ".init", ".override", ".pragma", ".plan",      ".include",   ".once"};
  const Span dot = token_.span;
  advance();
  const Span span{dot.begin, token_.span.end};
  const std::string_view name = lexer_.text_of(span);
  if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) {
    sink_.error(span, fmt::format("`{}` must be followed by a blank", name)).expected =
        fmt::format("`{} name`", name);
    return false;
  }
  DiagnosticDraft& draft = sink_.error(span, fmt::format("unknown directive `{}`", name));
  draft.hint = suggest(name, kKnown);
  if (draft.hint.empty()) draft.hint = fmt::format("the directives are {}", fmt::join(kKnown, " "));
  return false;
}

bool Parser::parse_unsupported_item() {
  const Token start = token_;
  advance();
  switch (start.kind) {
    case TokenKind::kInclude:
      if (is_at(TokenKind::kString)) {
        sink_.error(start.span, "`.include` was not expanded because preprocessing is off");
      } else {
        sink_.error(start.span, "`.include` without a file").expected = "`.include \"file\"`";
      }
      return false;
    default:
      return false;
  }
}

}  // namespace stratalog::datalog::language
