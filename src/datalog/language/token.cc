// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/token.h"

namespace stratalog::datalog::language {

std::string_view token_class_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEnd:
      return "end of file";
    case TokenKind::kIdentifier:
      return "name";
    case TokenKind::kString:
      return "string";
    case TokenKind::kInteger:
    case TokenKind::kUnsigned:
    case TokenKind::kFloat:
    case TokenKind::kAddress:
      return "number";
    default:
      return is_reserved_word(kind) ? "reserved word" : "";
  }
}

bool is_directive(TokenKind kind) { return kind >= TokenKind::kDecl && kind <= TokenKind::kOnce; }

bool is_reserved_word(TokenKind kind) {
  return kind >= TokenKind::kBand && kind <= TokenKind::kQualifier;
}

}  // namespace stratalog::datalog::language
