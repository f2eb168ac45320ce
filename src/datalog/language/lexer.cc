// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/lexer.h"

#include <algorithm>
#include <array>

namespace stratalog::datalog::language {
namespace {

struct Word {
  std::string_view text;
  TokenKind kind;
};

constexpr std::array kWords = {
    Word{"band", TokenKind::kBand},
    Word{"bor", TokenKind::kBor},
    Word{"bxor", TokenKind::kBxor},
    Word{"bnot", TokenKind::kBnot},
    Word{"bshl", TokenKind::kBshl},
    Word{"bshr", TokenKind::kBshr},
    Word{"bshru", TokenKind::kBshru},
    Word{"land", TokenKind::kLand},
    Word{"lor", TokenKind::kLor},
    Word{"lxor", TokenKind::kLxor},
    Word{"lnot", TokenKind::kLnot},
    Word{"match", TokenKind::kMatch},
    Word{"contains", TokenKind::kContains},
    Word{"cat", TokenKind::kCat},
    Word{"ord", TokenKind::kOrd},
    Word{"range", TokenKind::kRange},
    Word{"strlen", TokenKind::kStrlen},
    Word{"substr", TokenKind::kSubstr},
    Word{"to_float", TokenKind::kToFloat},
    Word{"to_number", TokenKind::kToNumber},
    Word{"to_string", TokenKind::kToString},
    Word{"to_unsigned", TokenKind::kToUnsigned},
    Word{"min", TokenKind::kMin},
    Word{"max", TokenKind::kMax},
    Word{"mean", TokenKind::kMean},
    Word{"count", TokenKind::kCount},
    Word{"sum", TokenKind::kSum},
    Word{"as", TokenKind::kAs},
    Word{"nil", TokenKind::kNil},
    Word{"true", TokenKind::kTrue},
    Word{"false", TokenKind::kFalse},
    Word{"autoinc", TokenKind::kAutoinc},
    Word{"stateful", TokenKind::kStateful},
    Word{"debug_delta", TokenKind::kDebugDelta},
    Word{"recursive_iteration_cnt", TokenKind::kIteration},
    Word{"brie", TokenKind::kQualifier},
    Word{"btree", TokenKind::kQualifier},
    Word{"btree_delete", TokenKind::kQualifier},
    Word{"eqrel", TokenKind::kQualifier},
    Word{"inline", TokenKind::kQualifier},
    Word{"no_inline", TokenKind::kQualifier},
    Word{"magic", TokenKind::kQualifier},
    Word{"no_magic", TokenKind::kQualifier},
    Word{"overridable", TokenKind::kQualifier},
    Word{"input", TokenKind::kQualifier},
    Word{"output", TokenKind::kQualifier},
    Word{"printsize", TokenKind::kQualifier},
};

constexpr std::array kDirectives = {
    Word{"decl", TokenKind::kDecl},
    Word{"type", TokenKind::kType},
    Word{"input", TokenKind::kInput},
    Word{"output", TokenKind::kOutput},
    Word{"printsize", TokenKind::kPrintSize},
    Word{"limitsize", TokenKind::kLimitSize},
    Word{"pragma", TokenKind::kPragma},
    Word{"plan", TokenKind::kPlan},
    Word{"functor", TokenKind::kFunctorDecl},
    Word{"comp", TokenKind::kComponent},
    Word{"init", TokenKind::kInit},
    Word{"override", TokenKind::kOverride},
    Word{"lattice", TokenKind::kLattice},
    Word{"number_type", TokenKind::kNumberType},
    Word{"symbol_type", TokenKind::kSymbolType},
    Word{"include", TokenKind::kInclude},
    Word{"once", TokenKind::kOnce},
};

// Longest first among those that share a beginning.
constexpr std::array kPunctuation = {
    Word{"->", TokenKind::kArrow},       Word{"::", TokenKind::kDoubleColon},
    Word{":-", TokenKind::kIf},          Word{"<:", TokenKind::kSubtype},
    Word{"<=", TokenKind::kLessEqual},   Word{">=", TokenKind::kGreaterEqual},
    Word{"!=", TokenKind::kNotEqual},    Word{"@!", TokenKind::kAtNot},
    Word{"|", TokenKind::kPipe},         Word{"[", TokenKind::kLeftBracket},
    Word{"]", TokenKind::kRightBracket}, Word{"$", TokenKind::kDollar},
    Word{"+", TokenKind::kPlus},         Word{"-", TokenKind::kMinus},
    Word{"(", TokenKind::kLeftParen},    Word{")", TokenKind::kRightParen},
    Word{",", TokenKind::kComma},        Word{":", TokenKind::kColon},
    Word{";", TokenKind::kSemicolon},    Word{".", TokenKind::kDot},
    Word{"=", TokenKind::kEqual},        Word{"!", TokenKind::kExclamation},
    Word{"*", TokenKind::kStar},         Word{"/", TokenKind::kSlash},
    Word{"^", TokenKind::kCaret},        Word{"%", TokenKind::kPercent},
    Word{"{", TokenKind::kLeftBrace},    Word{"}", TokenKind::kRightBrace},
    Word{"<", TokenKind::kLess},         Word{">", TokenKind::kGreater},
    Word{"@", TokenKind::kAt},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_start(char c) { return is_letter(c) || c == '_' || c == '?'; }
bool is_word_part(char c) { return is_word_start(c) || is_digit(c); }
bool is_white_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

Token Lexer::make(TokenKind kind, std::size_t begin) const {
  return {
      kind, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(position_)}, nullptr};
}

Token Lexer::bad(const char* problem, std::size_t begin) const {
  Token token = make(TokenKind::kBad, begin);
  token.problem = problem;
  return token;
}

bool Lexer::skip_blanks() {
  for (;;) {
    while (position_ < text_.size() && is_white_space(text_[position_])) ++position_;
    if (peek() == '/' && peek(1) == '/') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (peek() == '/' && peek(1) == '*') {
      const std::size_t close = text_.find("*/", position_ + 2);
      if (close == std::string_view::npos) {
        comment_ = {static_cast<std::uint32_t>(position_),
                    static_cast<std::uint32_t>(position_ + 2)};
        position_ = text_.size();
        return false;
      }
      position_ = close + 2;
    } else if (peek() == '#' && (position_ == 0 || text_[position_ - 1] == '\n')) {
      // Line markers. SourceMap reads them; directives of the preprocessor do not get here.
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return true;
    }
  }
}

Token Lexer::next() {
  if (!skip_blanks()) {
    Token token;
    token.kind = TokenKind::kBad;
    token.span = comment_;
    token.problem = "this comment is not closed; `*/` is missing";
    return token;
  }
  if (position_ >= text_.size()) return make(TokenKind::kEnd, position_);
  const char c = peek();
  if (is_word_start(c)) return word();
  if (is_digit(c)) return number();
  if (c == '"') return quoted();
  return punctuation();
}

Token Lexer::word() {
  const std::size_t begin = position_;
  while (is_word_part(peek())) ++position_;
  std::string_view text = text_.substr(begin, position_ - begin);
  if (text == "_") return make(TokenKind::kUnderscore, begin);
  if (text == "choice" && text_.substr(position_, 7) == "-domain") {
    position_ += 7;
    return make(TokenKind::kChoiceDomain, begin);
  }
  for (const Word& word : kWords) {
    if (word.text == text) return make(word.kind, begin);
  }
  return make(TokenKind::kIdentifier, begin);
}

Token Lexer::number() {
  const std::size_t begin = position_;
  TokenKind kind = TokenKind::kInteger;
  if (peek() == '0' && peek(1) == 'x' && is_hex_digit(peek(2))) {
    position_ += 2;
    while (is_hex_digit(peek())) ++position_;
  } else if (peek() == '0' && peek(1) == 'b' && (peek(2) == '0' || peek(2) == '1')) {
    position_ += 2;
    while (peek() == '0' || peek() == '1') ++position_;
  } else {
    while (is_digit(peek())) ++position_;
    int dots = 0;
    while (peek() == '.' && is_digit(peek(1))) {
      ++dots;
      ++position_;
      while (is_digit(peek())) ++position_;
    }
    if (dots == 1) kind = TokenKind::kFloat;
    if (dots == 3) kind = TokenKind::kAddress;
    if (dots == 2 || dots > 3) return bad("this is neither a float nor an IPv4 address", begin);
    if (kind == TokenKind::kFloat && (peek() == 'e' || peek() == 'E')) {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        position_ += 1 + sign;
        while (is_digit(peek())) ++position_;
      }
    }
  }
  if (kind == TokenKind::kInteger && peek() == 'u') {
    ++position_;
    kind = TokenKind::kUnsigned;
  }
  if (is_word_part(peek())) {
    while (is_word_part(peek())) ++position_;
    return bad("malformed number", begin);
  }
  return make(kind, begin);
}

Token Lexer::quoted() {
  const std::size_t begin = position_;
  ++position_;
  // A string ends on its line, so that one lost quote does not swallow the rest of the file.
  while (peek() != '"' && peek() != '\n' && position_ < text_.size()) {
    if (peek() == '\\' && peek(1) != '\n') ++position_;
    ++position_;
  }
  if (peek() != '"') {
    position_ = std::min(position_, text_.size());
    return bad("this string is not closed on its line; `\"` is missing", begin);
  }
  ++position_;
  return make(TokenKind::kString, begin);
}

Token Lexer::punctuation() {
  const std::size_t begin = position_;
  if (peek() == '.' && is_letter(peek(1))) {
    std::size_t end = begin + 1;
    while (end < text_.size() && is_word_part(text_[end])) ++end;
    const std::string_view name = text_.substr(begin + 1, end - begin - 1);
    const bool ends_here = end >= text_.size() || is_white_space(text_[end]);
    for (const Word& directive : kDirectives) {
      if (ends_here && directive.text == name) {
        position_ = end;
        return make(directive.kind, begin);
      }
    }
  }
  for (const Word& mark : kPunctuation) {
    if (text_.substr(position_, mark.text.size()) == mark.text) {
      position_ += mark.text.size();
      return make(mark.kind, begin);
    }
  }
  ++position_;
  // One problem per stretch of foreign bytes, not one per byte.
  while (position_ < text_.size() && (static_cast<unsigned char>(text_[position_]) & 0x80U) != 0) {
    ++position_;
  }
  if (text_[begin] == '#') {
    return bad("`#` begins a preprocessor line and must be the first character of its line", begin);
  }
  return bad("this character has no meaning here", begin);
}

UnquotedString unquote(std::string_view token_text) {
  constexpr std::string_view kLetters = "\"'\\abfnrtv";
  constexpr std::string_view kMeanings = "\"'\\\a\b\f\n\r\t\v";
  UnquotedString result;
  const std::size_t end = token_text.size() - 1;
  for (std::size_t i = 1; i < end; ++i) {
    if (token_text[i] != '\\' || i + 1 >= end) {
      result.characters.push_back(token_text[i]);
      continue;
    }
    const std::size_t letter = kLetters.find(token_text[i + 1]);
    if (letter == std::string_view::npos) {
      if (result.bad_escape == std::string_view::npos) result.bad_escape = i;
    } else {
      result.characters.push_back(kMeanings[letter]);
    }
    ++i;
  }
  return result;
}

}  // namespace stratalog::datalog::language
