// SPDX-License-Identifier: Apache-2.0
// Lexer: Soufflé's tokens from the expanded text, one at a time. It is a small value: copying it is
// how the parser looks ahead. It never fails; what it cannot read becomes a kBad token that says
// why. Local.
#pragma once

#include <string>
#include <string_view>

#include "datalog/language/token.h"

namespace stratalog::datalog::language {

class Lexer {
 public:
  // `text` must outlive the lexer and be shorter than 2^32 bytes.
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();
  std::string_view text() const { return text_; }
  std::string_view text_of(Span span) const {
    return text_.substr(span.begin, span.end - span.begin);
  }

 private:
  bool skip_blanks();  // false: an unterminated comment, left in comment_
  Token word();
  Token number();
  Token quoted();
  Token punctuation();
  Token make(TokenKind kind, std::size_t begin) const;
  Token bad(const char* problem, std::size_t begin) const;
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Span comment_;
};

// The characters that a string token stands for. `bad_escape` is the offset in `token_text` of the
// first unknown escape sequence, or npos.
struct UnquotedString {
  std::string characters;
  std::size_t bad_escape = std::string_view::npos;
};
UnquotedString unquote(std::string_view token_text);

}  // namespace stratalog::datalog::language
