// SPDX-License-Identifier: Apache-2.0
// FieldSplitter: cuts a line at its delimiters, or a record with RFC 4180 quotes, which may span
// lines. Fields are views into the text, or into the splitter where doubled quotes had to be
// undone. Local; thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace stratalog::datalog {

enum class TextEnd : std::uint8_t { kMoreFollows, kIsEnd };

enum class RecordOutcome : std::uint8_t {
  kComplete,
  kIncomplete,  // more text is needed
  kUnbalancedQuote,  // the text ends inside quotes
  kTextAfterQuote,  // something other than a delimiter or line end follows a closing quote
};

struct Record {
  RecordOutcome outcome = RecordOutcome::kIncomplete;
  std::size_t bytes = 0;  // with the line break; to the end of the line after kTextAfterQuote
  std::uint64_t lines = 1;  // how many lines the record spans
};

std::string_view without_carriage_return(std::string_view line);

// Whether delimiters inside of [ ] and ( ) separate fields of the line, too. Where structured
// values are read with a comma as the delimiter they do not.
enum class BracketUse : std::uint8_t { kPlain, kNested };

class FieldSplitter {
 public:
  // Fields from `most_fields` on are counted but not kept: a line may hold millions.
  FieldSplitter(std::string delimiter, std::size_t most_fields, BracketUse brackets)
      : delimiter_(std::move(delimiter)), most_fields_(most_fields), brackets_(brackets) {}

  void split_line(std::string_view line);
  Record split_record(std::string_view text, TextEnd end);

  std::uint64_t count() const { return count_; }
  // Requires i < count() and i < most_fields. Valid until the next split and as long as the text.
  std::string_view field(std::size_t i) const { return fields_[i]; }

 private:
  struct Piece {
    RecordOutcome outcome = RecordOutcome::kIncomplete;
    std::size_t end = 0;  // offset after the field
  };

  void add(std::string_view field);
  std::size_t next_delimiter(std::string_view line, std::size_t at) const;
  Piece quoted_field(std::string_view text, std::size_t at, TextEnd end, std::uint64_t& lines);
  Piece plain_field(std::string_view text, std::size_t at, TextEnd end);

  std::string delimiter_;
  std::size_t most_fields_;
  BracketUse brackets_;
  std::uint64_t count_ = 0;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // of this record
};

}  // namespace stratalog::datalog
