// SPDX-License-Identifier: Apache-2.0
// FactParser: delimited text in memory to columns of cells; the one place where facts are parsed.
// Reads nothing, talks to nobody; new values stay provisional in NewValues. Malformed input of any
// kind ends as a FactProblem, never as a crash. Lines of plain numbers take a short way (over 200
// MB/s), and so do lines without quotes, brackets and chosen columns. Local; thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_problem.h"
#include "datalog/facts/field_splitter.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

class FactParser {
 public:
  // Parsing stops when this many problems are known; one more than a message shows, so that it can
  // say "more".
  static constexpr std::size_t kMaxProblems = 11;

  // All arguments must outlive the parser. `place` says whether the text starts at the start of the
  // file; a header is skipped there only.
  FactParser(const Relation& relation, const FactFormat& format, LinePlace place,
             NewValues& values);

  // Parses the complete lines of `text`, with kIsEnd also what follows the last line break. Returns
  // how many bytes are done; the rest must come again at the start of the next call.
  std::size_t consume(std::string_view text, TextEnd end);

  bool is_full() const { return problems_.size() >= kMaxProblems; }
  const std::vector<FactProblem>& problems() const { return problems_; }
  std::uint64_t rows() const { return tuples_.rows; }
  TupleColumns take_tuples() { return std::move(tuples_); }

 private:
  struct SymbolMemory {
    std::string_view text;  // in a symbol table
    Cell cell = 0;
    bool is_set = false;
  };

  bool has_plain_lines() const;
  bool has_simple_lines() const;
  // From the start of a line; where the next one starts, or null.
  using ParseLine = const char* (FactParser::*)(const char* at, const char* stop);
  std::size_t consume_complete(std::string_view text, ParseLine parse);
  void begin_stage();
  void number_staged_symbols();
  void number_staged_wides();
  Cell stage_number(std::uint32_t column, std::uint64_t bits);
  void append_staged();
  const char* parse_plain_line(const char* at, const char* stop);
  const char* parse_simple_line(const char* at, const char* stop);
  std::size_t consume_lines(std::string_view text, TextEnd end);
  std::size_t consume_quoted(std::string_view text, TextEnd end);
  void parse_line(std::string_view line);
  void parse_fields(std::string_view line);
  // False if the field was reported; otherwise row_[attribute] is set.
  bool parse_field_into_row(std::uint32_t attribute, std::size_t field);
  bool parse_structure_into_row(std::uint32_t attribute, std::size_t field);
  Cell symbol_cell(std::uint32_t attribute, std::string_view text, std::uint64_t text_hash);
  LinePlace line_place() const;
  void report(std::string text);

  const Relation& relation_;
  const FactFormat& format_;
  NewValues& values_;
  LinePlace place_;
  bool must_skip_header_;
  bool has_simple_lines_;
  std::uint64_t line_ = 0;  // of the line or record being parsed
  TupleColumns tuples_;
  std::vector<FactProblem> problems_;
  FieldSplitter fields_;
  std::vector<Cell> row_;
  std::vector<SymbolMemory> last_symbol_;  // by attribute: sorted files repeat symbols
  // Of consume_complete only: columns side by side, and the ends of what they hold.
  std::vector<Cell> staged_;
  std::vector<Cell*> stage_ends_;
  std::size_t staged_rows_ = 0;
  // Symbols of the stage, row by row, in texts that are being consumed, and their cells.
  std::vector<SymbolTable::Sought> staged_symbols_;
  std::vector<Cell> symbol_cells_;
  std::vector<std::uint32_t> symbol_columns_;
  // Numbers of the stage that need a place in the dictionary, in the order of the file, where they
  // stand, and their cells.
  std::vector<std::uint64_t> staged_wides_;
  std::vector<std::size_t> wide_places_;  // in staged_
  std::vector<Cell> wide_cells_;
};

}  // namespace stratalog::datalog
