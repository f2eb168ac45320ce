// SPDX-License-Identifier: Apache-2.0
// TextPattern: a regular expression of `match` (ECMAScript, as Soufflé takes them), for whole
// texts. The standard library's matcher calls itself for each character, which long texts would end
// the process by; those are matched by its other matcher, which goes through all alternatives at
// once. Local; one thread at a time.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "base/result.h"

namespace stratalog::datalog {

class TextPattern {
 public:
  // Fails on what is no regular expression, and says why.
  static Result<TextPattern> of(const std::string& pattern);
  // Fails where the text is too long for a pattern that refers back to what it has found (`\1`).
  Result<bool> matches(const std::string& text);

 private:
  explicit TextPattern(const std::string& pattern) : pattern_(pattern) {}

  std::string pattern_;
  std::regex expression_;
  std::optional<std::regex> for_long_texts_;
};

}  // namespace stratalog::datalog
