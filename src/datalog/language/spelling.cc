// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/spelling.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stratalog::datalog::language {
namespace {

constexpr std::size_t kMaxLength = 64;

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

unsigned edit_distance(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  if (a.size() > kMaxLength || b.size() > kMaxLength) return kMaxLength + 1;
  using Row = std::array<unsigned, kMaxLength + 1>;
  Row two_above{};
  Row above{};
  Row row{};
  for (unsigned j = 0; j <= b.size(); ++j) above[j] = j;
  for (unsigned i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (unsigned j = 1; j <= b.size(); ++j) {
      const unsigned change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
    two_above = above;
    above = row;
  }
  return above[b.size()];
}

std::string suggest(std::string_view word, std::span<const std::string> candidates) {
  const unsigned limit = std::max<unsigned>(1, static_cast<unsigned>(word.size() / 3));
  const std::string* best = nullptr;
  unsigned best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    if (candidate == word || candidate.empty()) continue;
    // A difference in case only counts as one slip.
    const unsigned distance =
        lower_case(candidate) == lower_case(word) ? 1 : edit_distance(word, candidate);
    // One-letter names are all one edit apart: no suggestion between them.
    if (distance >= word.size() && distance >= candidate.size()) continue;
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::string() : "did you mean `" + *best + "`?";
}

}  // namespace stratalog::datalog::language
