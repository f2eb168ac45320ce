// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_problem.h"
#include "datalog/value_kind_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stratalog::datalog {
namespace {

constexpr std::size_t kLongestQuote = 60;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string type_of(const Attribute& attribute) {
  const std::string_view kind = value_kind_name(attribute.kind);
  if (attribute.type_name.empty() || attribute.type_name == kind) return std::string(kind);
  return fmt::format("{}, {}", attribute.type_name, value_kind_with_article(attribute.kind));
}

std::string_view expectation(ValueKind kind, FieldProblem problem) {
  const bool is_range = problem == FieldProblem::kOutOfRange;
  switch (kind) {
    case ValueKind::kNumber:
      return is_range ? "a number from -9223372036854775808 to 9223372036854775807"
                      : "a whole number";
    case ValueKind::kUnsigned:
      return is_range ? "a number from 0 to 18446744073709551615" : "an unsigned whole number";
    case ValueKind::kFloat:
      return is_range ? "a number that a 64-bit float can hold" : "a floating point number";
    case ValueKind::kSymbol:
      return "a symbol of less than 4 GiB";
    case ValueKind::kRecord:
      return "a structured value";
  }
  return "a value";
}

std::string_view malformed_hint(ValueKind kind, std::string_view found, LinePlace place) {
  const bool is_whole = kind != ValueKind::kFloat;
  if (place == LinePlace::kFirstOfFile && found.starts_with(kByteOrderMark))
    return "; the file begins with a byte order mark: save it as plain UTF-8";
  if (found.empty()) return "";
  if (found.size() > 1 && found.front() == '"' && found.back() == '"')
    return "; add rfc4180=true to .input to read quoted fields";
  if (found.back() == ' ' || found.back() == '\t') return "; remove the blanks after the value";
  if (is_whole && parse_float(found).problem == FieldProblem::kNone)
    return "; declare the attribute as float to keep fractions";
  if (place == LinePlace::kFirstOfFile)
    return "; if the first line holds column names, add headers=true to .input";
  return "; declare the attribute as symbol to read any text";
}

std::string delimiter_name(std::string_view delimiter) {
  if (delimiter == "\t") return "tabs";
  if (delimiter == " ") return "single blanks";
  if (delimiter == ",") return "commas";
  return quote_found(delimiter);
}

// A delimiter that would cut `line` into the wanted number of fields.
std::string_view likely_delimiter(std::string_view line, std::size_t fields) {
  static constexpr std::array<std::string_view, 6> kUsual = {"\t", ",", ";", "|", " ", ":"};
  for (const std::string_view candidate : kUsual) {
    std::size_t count = 1;
    for (const char c : line) count += c == candidate.front() ? 1 : 0;
    if (count == fields) return candidate;
  }
  return {};
}

}  // namespace

std::string quote_found(std::string_view text) {
  std::string quoted = "\"";
  std::size_t shown = std::min(text.size(), kLongestQuote);
  // Do not cut inside a UTF-8 sequence.
  while (shown < text.size() && shown > kLongestQuote - 4 &&
         (static_cast<unsigned char>(text[shown]) & 0xC0U) == 0x80U)
    --shown;
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t')
      quoted += "\\t";
    else if (c == '"' || c == '\\')
      (quoted += '\\') += c;
    else if (byte < 0x20 || byte == 0x7F)
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += c;
  }
  quoted += '"';
  if (shown < text.size()) quoted += fmt::format("... ({} bytes)", text.size());
  return quoted;
}

std::string describe_field(const Attribute& attribute, std::uint64_t field, FieldProblem problem,
                           std::string_view found, LinePlace place) {
  std::string text =
      fmt::format("field {} (attribute `{}`, type {}): expected {}, found ", field, attribute.name,
                  type_of(attribute), expectation(attribute.kind, problem));
  text += found.empty() ? "nothing" : quote_found(found);
  if (problem == FieldProblem::kNegative)
    text += "; declare the attribute as number to allow negative values";
  else if (problem == FieldProblem::kOutOfRange && attribute.kind == ValueKind::kNumber)
    text += "; declare the attribute as unsigned, float or symbol";
  else if (problem == FieldProblem::kMalformed)
    text += malformed_hint(attribute.kind, found, place);
  return text;
}

std::string describe_structured(const Attribute& attribute, std::uint64_t field,
                                const ParsedStructure& parsed, std::string_view found) {
  return fmt::format(
      "field {} (attribute `{}`, type {}): expected {} at its character {}, found {}", field,
      attribute.name, attribute.type_name, parsed.expected, parsed.at + 1,
      found.empty() ? std::string("nothing") : quote_found(found));
}

std::string describe_field_count(const Relation& relation, const FactFormat& format,
                                 std::uint64_t found_fields, std::string_view line) {
  if (format.has_chosen_columns)
    return fmt::format(
        "expected at least {} fields separated by {} (columns= asks for them), found {}: {}",
        format.attribute_of_field.size(), delimiter_name(format.delimiter), found_fields,
        quote_found(line));
  std::string names;
  for (const Attribute& attribute : relation.attributes) {
    if (!names.empty()) names += ", ";
    names += attribute.name;
  }
  const std::size_t wanted = relation.attributes.size();
  std::string text =
      fmt::format("expected {} field{} ({}) separated by {}, found {}: ", wanted,
                  wanted == 1 ? "" : "s", names, delimiter_name(format.delimiter), found_fields);
  text += line.empty() ? "an empty line" : quote_found(line);
  const std::string_view likely = likely_delimiter(line, wanted);
  if (wanted > 1 && !likely.empty() && likely != format.delimiter)
    text += fmt::format("; add delimiter={} to .input if that separates the fields",
                        quote_found(likely));
  else if (found_fields > wanted)
    text += "; choose the fields to read with columns=\"0:1:...\" in .input";
  return text;
}

std::string describe_unbalanced_quote(std::uint64_t field, std::string_view record) {
  return fmt::format(
      "field {}: expected a closing double quote before the end of the file, the "
      "record begins {}; inside quotes, double quotes are written twice",
      field, quote_found(record));
}

std::string describe_text_after_quote(const FactFormat& format, std::uint64_t field,
                                      std::string_view record) {
  return fmt::format(
      "field {}: expected {} or the end of the line after the closing quote, the "
      "record begins {}; inside quotes, double quotes are written twice",
      field, quote_found(format.delimiter), quote_found(record));
}

std::string describe_nullary(const Relation& relation, std::string_view line) {
  return fmt::format("relation {} has no attributes: expected a line with (), found {}",
                     relation.name, quote_found(line));
}

}  // namespace stratalog::datalog
