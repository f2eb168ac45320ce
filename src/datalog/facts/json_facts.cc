// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/json_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kLargestNumber = (std::uint64_t{1} << 63) - 1;

// Walks over the text for the JSON parser and leaves behind how far it has come, which is how
// problems get their line.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** seen = nullptr;

  reference operator*() const { return *at; }
  Cursor& operator++() {
    *seen = ++at;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at == b.at; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.at != b.at; }
};

std::string_view type_name(const Attribute& attribute) { return attribute.type_name; }

// Takes the parser's events. Every call returns whether to go on.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(const Relation& relation, NewValues& values) : relation_(relation), values_(values) {
    found_.columns.resize(relation.attributes.size());
  }

  bool null() override {
    if (frames_.empty() && is_open_ && relation_.attributes.empty()) return add_row({});
    const Attribute* const attribute = expect_value("null");
    if (attribute == nullptr) return false;
    if (!is_record(*attribute)) return refuse(*attribute, "null");
    return put(kNilCell);
  }
  bool boolean(bool value) override {
    const Attribute* const attribute = expect_value(value ? "true" : "false");
    return attribute != nullptr && refuse(*attribute, value ? "true" : "false");
  }
  // Only of numbers with a minus, so that 0 is `-0`.
  bool number_integer(number_integer_t value) override {
    if (value == 0) return negative_zero();
    return integer(static_cast<std::uint64_t>(value), value < 0, fmt::format("{}", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return integer(value, false, fmt::format("{}", value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    const Attribute* const attribute = expect_value(text);
    if (attribute == nullptr) return false;
    if (is_record(*attribute) || attribute->kind != ValueKind::kFloat)
      return refuse(*attribute, text);
    return put(values_.number(std::bit_cast<std::uint64_t>(value)));
  }
  bool string(string_t& text) override {
    const Attribute* const attribute = expect_value(quote_found(text));
    if (attribute == nullptr) return false;
    if (!is_record(*attribute) && attribute->kind == ValueKind::kSymbol)
      return put(values_.symbol(text));
    // What JSON has no numbers for.
    if (!is_record(*attribute) && attribute->kind == ValueKind::kFloat) {
      const ParsedField parsed = parse_float(text);
      const bool is_special = parsed.problem == FieldProblem::kNone &&
                              text.find_first_of("0123456789") == std::string::npos;
      if (is_special) return put(values_.number(parsed.bits));
    }
    return refuse(*attribute, quote_found(text));
  }
  bool binary(binary_t& /*value*/) override { return fail("binary data"); }

  bool start_array(std::size_t /*size*/) override {
    if (!is_open_) {
      is_open_ = true;
      return !is_closed_ || fail("expected the end of the document");
    }
    return open(Form::kList);
  }
  bool end_array() override {
    if (!frames_.empty()) return close();
    is_closed_ = true;
    return true;
  }
  bool start_object(std::size_t /*size*/) override {
    if (!is_open_) return fail("expected a list of tuples, found an object");
    return open(Form::kObject);
  }
  bool end_object() override { return close(); }

  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    const auto found = std::find_if(frame.fields.begin(), frame.fields.end(),
                                    [&](const Attribute& a) { return a.name == name; });
    if (found == frame.fields.end())
      return fail(fmt::format("there is no attribute or field {}", quote_found(name)));
    frame.at = static_cast<std::size_t>(found - frame.fields.begin());
    if (frame.is_set[frame.at])
      return fail(fmt::format("attribute or field `{}` is there twice", name));
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    std::string_view what = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    if (const std::size_t from = what.find(": "); from != std::string_view::npos)
      what.remove_prefix(from + 2);
    return fail(fmt::format("byte {}: {}", position, what));
  }

  bool fail(std::string what) {
    if (!problem_) problem_ = std::move(what);
    return false;
  }
  const std::optional<std::string>& problem() const { return problem_; }
  bool is_complete() const { return is_closed_; }
  TupleColumns take() { return std::move(found_); }

 private:
  enum class Form : std::uint8_t { kList, kObject };

  // A tuple or record that is not complete.
  struct Frame {
    Form form;
    std::span<const Attribute> fields;
    std::uint32_t shape = 0;  // of a record
    std::size_t at = 0;  // the field that comes next
    std::vector<Cell> cells = {};
    std::vector<bool> is_set = {};
  };

  static bool is_record(const Attribute& attribute) { return attribute.structure != kNoStructure; }

  // The attribute that a value is for; null, reported, where none can stand.
  const Attribute* expect_value(std::string_view found) {
    if (!is_open_) {
      static_cast<void>(fail(fmt::format("expected a list of tuples, found {}", found)));
      return nullptr;
    }
    if (frames_.empty()) {
      static_cast<void>(
          fail(fmt::format("expected a tuple, as a list or an object, found {}", found)));
      return nullptr;
    }
    const Frame& frame = frames_.back();
    if (frame.at < frame.fields.size()) return &frame.fields[frame.at];
    static_cast<void>(fail(fmt::format("expected {} values, found more", frame.fields.size())));
    return nullptr;
  }

  bool refuse(const Attribute& attribute, std::string_view found) {
    return fail(fmt::format("attribute or field `{}` (type {}): expected {}, found {}",
                            attribute.name, type_name(attribute), expected(attribute), found));
  }
  static std::string_view expected(const Attribute& attribute) {
    if (is_record(attribute)) return "a list, an object or null";
    switch (attribute.kind) {
      case ValueKind::kNumber:
        return "an integer";
      case ValueKind::kUnsigned:
        return "an integer from 0 on";
      case ValueKind::kFloat:
        return "a number";
      case ValueKind::kSymbol:
        return "a string";
      case ValueKind::kRecord:
        break;
    }
    return "a list, an object or null";
  }

  bool negative_zero() {
    const Attribute* const attribute = expect_value("-0");
    if (attribute == nullptr) return false;
    const bool is_float = !is_record(*attribute) && attribute->kind == ValueKind::kFloat;
    return is_float ? put(values_.number(std::bit_cast<std::uint64_t>(-0.0)))
                    : integer(0, false, "-0");
  }

  bool integer(std::uint64_t bits, bool is_negative, const std::string& found) {
    const Attribute* const attribute = expect_value(found);
    if (attribute == nullptr) return false;
    if (is_record(*attribute)) return refuse(*attribute, found);
    switch (attribute->kind) {
      case ValueKind::kNumber:
        if (!is_negative && bits > kLargestNumber) return refuse(*attribute, found);
        return put(values_.number(bits));
      case ValueKind::kUnsigned:
        if (is_negative) return refuse(*attribute, found);
        return put(values_.number(bits));
      case ValueKind::kFloat: {
        const double value = is_negative ? static_cast<double>(static_cast<std::int64_t>(bits))
                                         : static_cast<double>(bits);
        return put(values_.number(std::bit_cast<std::uint64_t>(value)));
      }
      case ValueKind::kSymbol:
      case ValueKind::kRecord:
        break;
    }
    return refuse(*attribute, found);
  }

  bool put(Cell cell) {
    Frame& frame = frames_.back();
    frame.cells[frame.at] = cell;
    frame.is_set[frame.at] = true;
    ++frame.at;  // of an object the next key says where
    return true;
  }

  bool open(Form form) {
    Frame frame{.form = form, .fields = relation_.attributes};
    if (!frames_.empty()) {
      const std::string_view found = form == Form::kList ? "a list" : "an object";
      const Attribute* const attribute = expect_value(found);
      if (attribute == nullptr) return false;
      if (!is_record(*attribute)) return refuse(*attribute, found);
      const Branch& record = (*relation_.structures)[attribute->structure].branches[0];
      frame.fields = record.fields;
      frame.shape = record.shape;
    }
    frame.cells.resize(frame.fields.size());
    frame.is_set.resize(frame.fields.size());
    frames_.push_back(std::move(frame));
    return true;
  }

  bool close() {
    Frame& frame = frames_.back();
    const auto missing = std::find(frame.is_set.begin(), frame.is_set.end(), false);
    if (missing != frame.is_set.end()) {
      const auto field = static_cast<std::size_t>(missing - frame.is_set.begin());
      return fail(fmt::format("a value for `{}` (type {}) is missing", frame.fields[field].name,
                              type_name(frame.fields[field])));
    }
    const std::vector<Cell> cells = std::move(frame.cells);
    const std::uint32_t shape = frame.shape;
    frames_.pop_back();
    return frames_.empty() ? add_row(cells) : put(values_.record(shape, cells));
  }

  bool add_row(std::span<const Cell> cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) found_.columns[c].push_back(cells[c]);
    ++found_.rows;
    return true;
  }

  const Relation& relation_;
  NewValues& values_;
  TupleColumns found_;
  std::vector<Frame> frames_;
  bool is_open_ = false;
  bool is_closed_ = false;
  std::optional<std::string> problem_;
};

}  // namespace

ParsedFacts parse_json_facts(const Relation& relation, std::string_view text, NewValues& values) {
  const char* const first = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
  const char* seen = first;
  Handler handler(relation, values);
  const Cursor begin{.at = first, .seen = &seen};
  const Cursor end{.at = first + text.size(), .seen = &seen};
  const bool is_good = nlohmann::json::sax_parse(begin, end, &handler);
  ParsedFacts facts;
  if (is_good && handler.is_complete()) {
    facts.tuples = handler.take();
    return facts;
  }
  // The parser is one character ahead of what it hands out.
  const std::ptrdiff_t read = std::max<std::ptrdiff_t>(seen - first - 1, 0);
  facts.problem = FactProblem{
      .line = static_cast<std::uint64_t>(std::count(text.begin(), text.begin() + read, '\n')),
      .text = handler.problem().value_or("expected a list of tuples")};
  return facts;
}

}  // namespace stratalog::datalog
