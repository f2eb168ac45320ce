// SPDX-License-Identifier: Apache-2.0
// Tokens of the Soufflé dialect. A token is a kind and a span; its text stays in the source. Plain
// values. Local.
#pragma once

#include <cstdint>
#include <string_view>

#include "datalog/language/source_span.h"

namespace stratalog::datalog::language {

enum class TokenKind : std::uint8_t {
  kEnd,
  kBad,  // kBad: the lexer could not read it; Token::problem says why
  kIdentifier,
  kUnderscore,
  kString,
  kInteger,
  kUnsigned,
  kFloat,
  kAddress,
  // .decl and its like; the text includes the dot
  kDecl,
  kType,
  kInput,
  kOutput,
  kPrintSize,
  kLimitSize,
  kPragma,
  kPlan,
  kFunctorDecl,
  kComponent,
  kInit,
  kOverride,
  kLattice,
  kNumberType,
  kSymbolType,
  kInclude,
  kOnce,
  // reserved words
  kBand,
  kBor,
  kBxor,
  kBnot,
  kBshl,
  kBshr,
  kBshru,
  kLand,
  kLor,
  kLxor,
  kLnot,
  kMatch,
  kContains,
  kCat,
  kOrd,
  kRange,
  kStrlen,
  kSubstr,
  kToFloat,
  kToNumber,
  kToString,
  kToUnsigned,
  kMin,
  kMax,
  kMean,
  kCount,
  kSum,
  kAs,
  kNil,
  kTrue,
  kFalse,
  kAutoinc,
  kStateful,
  kDebugDelta,
  kIteration,
  kChoiceDomain,
  kQualifier,  // brie, inline, input, ...
  // punctuation
  kPipe,
  kLeftBracket,
  kRightBracket,
  kDollar,
  kPlus,
  kArrow,
  kMinus,
  kLeftParen,
  kRightParen,
  kComma,
  kDoubleColon,
  kColon,
  kSemicolon,
  kDot,
  kSubtype,
  kLessEqual,
  kGreaterEqual,
  kNotEqual,
  kEqual,
  kExclamation,
  kStar,
  kSlash,
  kCaret,
  kPercent,
  kLeftBrace,
  kRightBrace,
  kLess,
  kGreater,
  kIf,
  kAt,
  kAtNot,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span span;
  const char* problem = nullptr;  // for kBad
};

// What messages put before the text of a token, as in "name `x`"; empty for punctuation and
// directives.
std::string_view token_class_name(TokenKind kind);

bool is_directive(TokenKind kind);
// Reserved words that could be mistaken for a name.
bool is_reserved_word(TokenKind kind);

}  // namespace stratalog::datalog::language
