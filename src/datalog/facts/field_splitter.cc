// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/field_splitter.h"

#include <algorithm>

namespace stratalog::datalog {

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void FieldSplitter::add(std::string_view field) {
  if (count_ < most_fields_) fields_.push_back(field);
  ++count_;
}

std::size_t FieldSplitter::next_delimiter(std::string_view line, std::size_t at) const {
  if (brackets_ == BracketUse::kPlain)
    return delimiter_.size() == 1 ? line.find(delimiter_.front(), at) : line.find(delimiter_, at);
  std::size_t depth = 0;
  bool is_quoted = false;
  bool may_quote = false;  // at the start of a field of a structured value
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (is_quoted) {
      if (c == '\\') ++at;
      is_quoted = c != '"';
      continue;
    }
    if (depth == 0 && line.substr(at).starts_with(delimiter_)) return at;
    if (c == '[' || c == '(') ++depth;
    if ((c == ']' || c == ')') && depth > 0) --depth;
    is_quoted = c == '"' && may_quote;
    may_quote = depth > 0 && (c == '[' || c == '(' || c == ',' || (may_quote && c == ' '));
  }
  return std::string_view::npos;
}

void FieldSplitter::split_line(std::string_view line) {
  count_ = 0;
  fields_.clear();
  for (std::size_t at = 0;;) {
    const std::size_t next = next_delimiter(line, at);
    if (next == std::string_view::npos) {
      add(line.substr(at));
      return;
    }
    add(line.substr(at, next - at));
    at = next + delimiter_.size();
  }
}

Record FieldSplitter::split_record(std::string_view text, TextEnd end) {
  count_ = 0;
  fields_.clear();
  unquoted_.clear();
  Record record;
  for (std::size_t at = 0;;) {
    const bool is_quoted = at < text.size() && text[at] == '"';
    const Piece piece =
        is_quoted ? quoted_field(text, at, end, record.lines) : plain_field(text, at, end);
    if (piece.outcome != RecordOutcome::kComplete) {
      record.outcome = piece.outcome;
      record.bytes = piece.outcome == RecordOutcome::kIncomplete ? 0 : text.size();
      return record;
    }
    at = piece.end;
    if (text.substr(at).starts_with(delimiter_)) {
      at += delimiter_.size();
      continue;
    }
    const std::size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos && end == TextEnd::kMoreFollows) return record;
    const std::size_t line_end = std::min(newline, text.size());
    record.outcome = without_carriage_return(text.substr(at, line_end - at)).empty()
                         ? RecordOutcome::kComplete
                         : RecordOutcome::kTextAfterQuote;
    record.bytes = std::min(line_end + 1, text.size());
    return record;
  }
}

FieldSplitter::Piece FieldSplitter::quoted_field(std::string_view text, std::size_t at, TextEnd end,
                                                 std::uint64_t& lines) {
  const auto need_more =
      end == TextEnd::kMoreFollows ? RecordOutcome::kIncomplete : RecordOutcome::kUnbalancedQuote;
  std::string field;
  for (++at;;) {
    const std::size_t quote = text.find('"', at);
    if (quote == std::string_view::npos) return {.outcome = need_more};
    field += text.substr(at, quote - at);
    at = quote + 1;
    if (at == text.size() && end == TextEnd::kMoreFollows) return {};  // a second one may follow
    if (at == text.size() || text[at] != '"') break;
    field += '"';
    ++at;
  }
  lines += static_cast<std::uint64_t>(std::count(field.begin(), field.end(), '\n'));
  if (count_ < most_fields_) {
    unquoted_.push_back(std::move(field));
    add(unquoted_.back());
  } else {
    ++count_;
  }
  return {.outcome = RecordOutcome::kComplete, .end = at};
}

FieldSplitter::Piece FieldSplitter::plain_field(std::string_view text, std::size_t at,
                                                TextEnd end) {
  const std::size_t newline = text.find('\n', at);
  if (newline == std::string_view::npos && end == TextEnd::kMoreFollows) return {};
  const std::size_t line_end = std::min(newline, text.size());
  const std::string_view line = text.substr(at, line_end - at);
  const std::size_t next = line.find(delimiter_);
  if (next == std::string_view::npos) {
    add(without_carriage_return(line));
    return {.outcome = RecordOutcome::kComplete, .end = line_end};
  }
  add(line.substr(0, next));
  return {.outcome = RecordOutcome::kComplete, .end = at + next};
}

}  // namespace stratalog::datalog
