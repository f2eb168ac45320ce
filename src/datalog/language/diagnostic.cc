// SPDX-License-Identifier: Apache-2.0
// Rendering of diagnostics: the line, a caret range below it, and the advice. Long lines are cut
// around the caret.
#include "datalog/language/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>

namespace stratalog::datalog {
namespace {

constexpr std::size_t kMaxShownCharacters = 160;
constexpr std::size_t kCharactersBeforeCaret = 60;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// Splits into characters (UTF-8 sequences; a stray byte is a character of its own).
std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (char c : text) {
    if (characters.empty() || starts_character(c)) {
      characters.emplace_back(1, c);
    } else {
      characters.back().push_back(c);
    }
  }
  return characters;
}

// Control characters would move the caret or the user's terminal: they are shown as '?'.
std::string shown(const std::string& character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character == "\t") return "\t";
  if (byte < 0x20 || byte == 0x7F) return "?";
  return character;
}

void append_source_line(std::string& out, const MarkedPlace& where) {
  if (where.place.line == 0 || where.place.column == 0) return;
  const std::vector<std::string> characters = characters_of(where.line_text);
  const std::size_t caret = where.place.column - 1;
  std::size_t first = 0;
  std::size_t last = characters.size();
  std::string before;
  if (characters.size() > kMaxShownCharacters) {
    first = caret > kCharactersBeforeCaret ? caret - kCharactersBeforeCaret : 0;
    last = std::min(characters.size(), first + kMaxShownCharacters);
    if (first > 0) before = "...";
  }
  const std::string number = fmt::format("{:>5}", where.place.line);
  out += number + " | " + before;
  for (std::size_t i = first; i < last; ++i) out += shown(characters[i]);
  if (last < characters.size()) out += "...";
  out += '\n' + std::string(number.size(), ' ') + " | " + std::string(before.size(), ' ');
  for (std::size_t i = first; i < caret; ++i) {
    out += i < characters.size() && characters[i] == "\t" ? '\t' : ' ';
  }
  const std::size_t length = std::clamp<std::size_t>(
      where.length, 1, std::max<std::size_t>(1, last > caret ? last - caret : 1));
  out += '^' + std::string(length - 1, '~') + '\n';
  if (where.from_macro) out += std::string(number.size(), ' ') + " = after macro expansion\n";
}

std::string position(const MarkedPlace& where) {
  if (where.place.line == 0) return where.place.file;
  if (where.place.column == 0) return fmt::format("{}:{}", where.place.file, where.place.line);
  return fmt::format("{}:{}:{}", where.place.file, where.place.line, where.place.column);
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string out = fmt::format("{}: {}: {}\n", position(diagnostic.where),
                                diagnostic.severity == Severity::kError ? "error" : "warning",
                                diagnostic.message);
  append_source_line(out, diagnostic.where);
  if (!diagnostic.expected.empty()) out += "      = expected: " + diagnostic.expected + '\n';
  if (!diagnostic.hint.empty()) out += "      = hint: " + diagnostic.hint + '\n';
  for (const DiagnosticNote& note : diagnostic.notes) {
    out += fmt::format("{}: note: {}\n", position(note.where), note.message);
    append_source_line(out, note.where);
  }
  return out;
}

std::string render_all(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return {};
  std::string out;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    out += render(diagnostic);
    (diagnostic.severity == Severity::kError ? errors : warnings) += diagnostic.count;
  }
  out += fmt::format("{} error{}, {} warning{}\n", errors, errors == 1 ? "" : "s", warnings,
                     warnings == 1 ? "" : "s");
  return out;
}

}  // namespace stratalog::datalog
