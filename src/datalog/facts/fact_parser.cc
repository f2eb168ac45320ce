// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_parser.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "datalog/facts/structured_parser.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kMaxPlainDigits = 19;  // never overflow 64 bits
// A number of twenty digits that is smaller, computed modulo 2^64, has overflowed: those up to
// 2^64 - 1 begin with 1, and of these the ones that do not fit come out below 2 * 10^19 - 2^64.
constexpr std::uint64_t kTwentyDigits = 10'000'000'000'000'000'000U;
constexpr std::uint64_t kLargestPlainNumber = std::numeric_limits<std::int64_t>::max();
// Rows that are parsed before they go to the ends of the columns together: these grow as vectors
// do, and what a block of text holds stays in cache until then.
constexpr std::size_t kStagedRows = 1024;

BracketUse bracket_use(const Relation& relation, const FactFormat& format) {
  const bool is_structured =
      std::any_of(relation.attributes.begin(), relation.attributes.end(),
                  [](const Attribute& a) { return a.structure != kNoStructure; });
  return is_structured && format.delimiter.find(',') != std::string::npos ? BracketUse::kNested
                                                                          : BracketUse::kPlain;
}

// The first of two characters, one of which stands before `stop`.
const char* find_either(const char* at, const char* stop, char one, char other) {
#if defined(__AVX2__)
  const __m256i ones = _mm256_set1_epi8(one);
  const __m256i others = _mm256_set1_epi8(other);
  for (; stop - at >= 32; at += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i found =
        _mm256_or_si256(_mm256_cmpeq_epi8(bytes, ones), _mm256_cmpeq_epi8(bytes, others));
    const auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(found));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  return std::find_if(at, stop, [&](char c) { return c == one || c == other; });
}

}  // namespace

FactParser::FactParser(const Relation& relation, const FactFormat& format, LinePlace place,
                       NewValues& values)
    : relation_(relation),
      format_(format),
      values_(values),
      place_(place),
      must_skip_header_(format.has_headers && place == LinePlace::kFirstOfFile),
      has_simple_lines_(has_simple_lines()),
      fields_(format.delimiter, format.attribute_of_field.size(), bracket_use(relation, format)),
      row_(relation.attributes.size()),
      last_symbol_(relation.attributes.size()),
      stage_ends_(relation.attributes.size()) {
  tuples_.columns.resize(relation.attributes.size());
  for (std::uint32_t c = 0; c < relation.attributes.size(); ++c)
    if (relation.attributes[c].kind == ValueKind::kSymbol) symbol_columns_.push_back(c);
}

// Whether a line is fields between delimiters of one character, in the order of the attributes.
bool FactParser::has_simple_lines() const {
  return !relation_.attributes.empty() && !format_.is_rfc4180 && !format_.has_chosen_columns &&
         format_.delimiter.size() == 1 && format_.delimiter.front() != '\r' &&
         std::all_of(relation_.attributes.begin(), relation_.attributes.end(),
                     [](const auto& a) { return a.structure == kNoStructure; });
}

// Whether lines may consist of nothing but digits, signs and a delimiter of one character.
bool FactParser::has_plain_lines() const {
  if (!has_simple_lines_) return false;
  const char delimiter = format_.delimiter.front();
  if ((delimiter >= '0' && delimiter <= '9') || delimiter == '-') return false;
  return std::all_of(relation_.attributes.begin(), relation_.attributes.end(), [](const auto& a) {
    return a.kind == ValueKind::kNumber || a.kind == ValueKind::kUnsigned;
  });
}

std::size_t FactParser::consume(std::string_view text, TextEnd end) {
  std::size_t done = 0;
  if (must_skip_header_) {
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return end == TextEnd::kIsEnd ? text.size() : 0;
    must_skip_header_ = false;
    done = newline + 1;
    ++line_;
  }
  if (format_.is_rfc4180 && !row_.empty()) return done + consume_quoted(text.substr(done), end);
  if (has_plain_lines())
    done += consume_complete(text.substr(done), &FactParser::parse_plain_line);
  else if (has_simple_lines_)
    done += consume_complete(text.substr(done), &FactParser::parse_simple_line);
  return done + consume_lines(text.substr(done), end);
}

// All complete lines; those that `parse` does not take go the long way.
std::size_t FactParser::consume_complete(std::string_view text, ParseLine parse) {
  const std::size_t last = text.rfind('\n');
  if (last == std::string_view::npos) return 0;
  const char* at = text.data();
  const char* const stop = at + last + 1;
  staged_.resize(kStagedRows * row_.size());
  staged_symbols_.resize(kStagedRows * symbol_columns_.size());
  symbol_cells_.resize(staged_symbols_.size());
  begin_stage();
  while (at != stop && !is_full()) {
    if (staged_rows_ == kStagedRows) append_staged();
    const std::size_t wides = staged_wides_.size();
    if (const char* next = (this->*parse)(at, stop); next != nullptr) {
      ++staged_rows_;
      ++line_;
      at = next;
      continue;
    }
    // The long way appends to the columns itself.
    staged_wides_.resize(wides);
    wide_places_.resize(wides);
    append_staged();
    const auto* newline =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(stop - at)));
    parse_line({at, static_cast<std::size_t>(newline - at)});
    ++line_;
    at = newline + 1;
  }
  append_staged();
  return last + 1;
}

void FactParser::begin_stage() {
  staged_rows_ = 0;
  for (std::size_t c = 0; c < stage_ends_.size(); ++c)
    stage_ends_[c] = staged_.data() + (c * kStagedRows);
}

// The symbols of the stage get their cells in the order of the file.
void FactParser::number_staged_symbols() {
  const std::size_t columns = symbol_columns_.size();
  const auto symbols = std::span(staged_symbols_).first(staged_rows_ * columns);
  values_.symbols(symbols, symbol_cells_.data());
  for (std::size_t k = 0; k < columns; ++k) {
    Cell* const column = staged_.data() + (symbol_columns_[k] * kStagedRows);
    for (std::size_t row = 0; row < staged_rows_; ++row)
      column[row] = symbol_cells_[(row * columns) + k];
  }
}

// The cell of a number, or 0 until the stage ends.
Cell FactParser::stage_number(std::uint32_t column, std::uint64_t bits) {
  if (is_narrow(bits)) return narrow_cell(bits);
  staged_wides_.push_back(bits);
  wide_places_.push_back((column * kStagedRows) + staged_rows_);
  return 0;
}

void FactParser::number_staged_wides() {
  wide_cells_.resize(staged_wides_.size());
  values_.find_wides(staged_wides_, wide_cells_.data());
  for (std::size_t i = 0; i < staged_wides_.size(); ++i)
    staged_[wide_places_[i]] =
        wide_cells_[i] == WideTable::kNotThere ? values_.number(staged_wides_[i]) : wide_cells_[i];
  staged_wides_.clear();
  wide_places_.clear();
}

void FactParser::append_staged() {
  if (!symbol_columns_.empty()) number_staged_symbols();
  if (!staged_wides_.empty()) number_staged_wides();
  for (std::size_t c = 0; c < tuples_.columns.size(); ++c) {
    std::vector<Cell>& column = tuples_.columns[c];
    const Cell* const first = staged_.data() + (c * kStagedRows);
    column.insert(column.end(), first, first + staged_rows_);
  }
  tuples_.rows += staged_rows_;
  begin_stage();
}

// A line of decimal numbers to the ends of the stage; nullptr, with nothing kept, for any other
// line. Needs no bounds: a line break ends every run of digits, and the text ends with one.
const char* FactParser::parse_plain_line(const char* at, const char* /*stop*/) {
  const auto arity = static_cast<std::uint32_t>(row_.size());
  const char delimiter = format_.delimiter.front();
  for (std::uint32_t c = 0; c < arity; ++c) {
    const bool is_unsigned = relation_.attributes[c].kind == ValueKind::kUnsigned;
    const bool is_negative = *at == '-';
    if (is_negative) {
      if (is_unsigned) return nullptr;
      ++at;
    }
    const char* const first = at;
    std::uint64_t value = 0;
    for (unsigned digit = 0; (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) < 10; ++at)
      value = (value * 10) + digit;
    if (static_cast<std::uint64_t>(at - first) - 1 >= kMaxPlainDigits) {
      // A twentieth digit fits sometimes.
      if (static_cast<std::uint64_t>(at - first) != kMaxPlainDigits + 1 || *first != '1' ||
          value < kTwentyDigits)
        return nullptr;
    }
    if (!is_unsigned && value > kLargestPlainNumber) return nullptr;
    if (c + 1 == arity) {
      if (*at == '\r') ++at;
      if (*at != '\n') return nullptr;
    } else if (*at != delimiter) {
      return nullptr;
    }
    ++at;
    if (is_negative) value = 0 - value;
    row_[c] = value < kNegativeBase ? static_cast<Cell>(value) : stage_number(c, value);
  }
  for (std::size_t c = 0; c < arity; ++c) *stage_ends_[c]++ = row_[c];
  return at;
}

// A line of fields to the ends of the stage; nullptr, with nothing kept, where something is
// wrong: the long way says what. A line break stands before `stop`.
const char* FactParser::parse_simple_line(const char* at, const char* stop) {
  const std::size_t arity = row_.size();
  const char delimiter = format_.delimiter.front();
  SymbolTable::Sought* symbol = staged_symbols_.data() + (staged_rows_ * symbol_columns_.size());
  for (std::uint32_t c = 0; c < arity; ++c) {
    const char* end = find_either(at, stop, delimiter, '\n');
    const bool is_last = c + 1 == arity;
    if ((*end == '\n') != is_last) return nullptr;
    std::string_view field(at, static_cast<std::size_t>(end - at));
    if (is_last) field = without_carriage_return(field);
    const ValueKind kind = relation_.attributes[c].kind;
    if (kind == ValueKind::kSymbol) {
      if (field.size() > SymbolTable::kMaxSymbolBytes) return nullptr;
      *symbol++ = {.text = field, .hash = SymbolTable::hash(field)};
      row_[c] = 0;  // until the stage ends
    } else {
      const ParsedField parsed = parse_field(kind, field);
      if (parsed.problem != FieldProblem::kNone) return nullptr;
      row_[c] = stage_number(c, parsed.bits);
    }
    at = end + 1;
  }
  for (std::size_t c = 0; c < arity; ++c) *stage_ends_[c]++ = row_[c];
  return at;
}

std::size_t FactParser::consume_lines(std::string_view text, TextEnd end) {
  std::size_t at = 0;
  while (at < text.size() && !is_full()) {
    std::size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos) {
      if (end == TextEnd::kMoreFollows) return at;
      newline = text.size();
    }
    parse_line(text.substr(at, newline - at));
    ++line_;
    at = std::min(newline + 1, text.size());
  }
  return text.size();
}

std::size_t FactParser::consume_quoted(std::string_view text, TextEnd end) {
  std::size_t at = 0;
  while (at < text.size() && !is_full()) {
    const std::string_view rest = text.substr(at);
    const Record record = fields_.split_record(rest, end);
    switch (record.outcome) {
      case RecordOutcome::kIncomplete:
        return at;
      case RecordOutcome::kUnbalancedQuote:
        report(describe_unbalanced_quote(fields_.count() + 1, rest));
        break;
      case RecordOutcome::kTextAfterQuote:
        report(describe_text_after_quote(format_, fields_.count(), rest.substr(0, record.bytes)));
        break;
      case RecordOutcome::kComplete:
        parse_fields(without_carriage_return(rest.substr(0, rest.find('\n'))));
        break;
    }
    line_ += record.lines;
    at += record.bytes;
  }
  return text.size();
}

void FactParser::parse_line(std::string_view line) {
  line = without_carriage_return(line);
  if (!row_.empty()) {
    fields_.split_line(line);
    parse_fields(line);
  } else if (line == "()" || line.empty()) {
    ++tuples_.rows;
  } else {
    report(describe_nullary(relation_, line));
  }
}

// The split fields to a new row; `line` is for messages.
void FactParser::parse_fields(std::string_view line) {
  const std::size_t wanted = format_.attribute_of_field.size();
  const std::uint64_t found = fields_.count();
  if (found < wanted || (found > wanted && !format_.has_chosen_columns)) {
    report(describe_field_count(relation_, format_, found, line));
    return;
  }
  bool is_good = true;
  for (std::size_t field = 0; field < wanted; ++field) {
    const std::uint32_t attribute = format_.attribute_of_field[field];
    if (attribute != kIgnoredField) is_good &= parse_field_into_row(attribute, field);
  }
  if (!is_good) return;
  for (std::size_t c = 0; c < row_.size(); ++c) tuples_.columns[c].push_back(row_[c]);
  ++tuples_.rows;
}

bool FactParser::parse_field_into_row(std::uint32_t attribute, std::size_t field) {
  const Attribute& description = relation_.attributes[attribute];
  const std::string_view text = fields_.field(field);
  if (description.structure != kNoStructure) return parse_structure_into_row(attribute, field);
  ParsedField parsed;
  if (description.kind != ValueKind::kSymbol) {
    parsed = parse_field(description.kind, text);
    if (parsed.problem == FieldProblem::kNone) row_[attribute] = values_.number(parsed.bits);
  } else if (text.size() <= SymbolTable::kMaxSymbolBytes) {
    row_[attribute] = symbol_cell(attribute, text, SymbolTable::hash(text));
  } else {
    parsed.problem = FieldProblem::kOutOfRange;
  }
  if (parsed.problem != FieldProblem::kNone)
    report(describe_field(description, field + 1, parsed.problem, text, line_place()));
  return parsed.problem == FieldProblem::kNone;
}

bool FactParser::parse_structure_into_row(std::uint32_t attribute, std::size_t field) {
  const Attribute& description = relation_.attributes[attribute];
  const std::string_view text = fields_.field(field);
  const ParsedStructure parsed =
      parse_structured(*relation_.structures, description.structure, text, values_);
  if (parsed.is_ok)
    row_[attribute] = parsed.cell;
  else
    report(describe_structured(description, field + 1, parsed, text));
  return parsed.is_ok;
}

Cell FactParser::symbol_cell(std::uint32_t attribute, std::string_view text,
                             std::uint64_t text_hash) {
  SymbolMemory& last = last_symbol_[attribute];
  if (!last.is_set || last.text != text) {
    const Cell cell = values_.symbol(text, text_hash);
    last = {.text = values_.text(cell), .cell = cell, .is_set = true};
  }
  return last.cell;
}

LinePlace FactParser::line_place() const { return line_ == 0 ? place_ : LinePlace::kLater; }

void FactParser::report(std::string text) {
  if (!is_full()) problems_.push_back({.line = line_, .text = std::move(text)});
}

}  // namespace stratalog::datalog
