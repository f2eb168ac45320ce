// SPDX-License-Identifier: Apache-2.0
#include "commit/json_items.h"

#include <bit>
#include <nlohmann/json.hpp>

namespace stratalog {

// Takes the parser's events. Every call returns whether to go on.
class JsonItemsHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonItemsHandler(JsonItems& items) : items_(items) {}

  bool null() override { return add(Kind::kOther, 0); }
  bool boolean(bool /*value*/) override { return add(Kind::kOther, 0); }
  bool number_integer(number_integer_t value) override {
    return number_float(static_cast<double>(value), {});
  }
  bool number_unsigned(number_unsigned_t value) override { return add(Kind::kUnsigned, value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(Kind::kFloat, std::bit_cast<std::uint64_t>(value));
  }
  bool string(string_t& text) override {
    count();
    return keep(text);
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Kind::kObject); }
  bool start_array(std::size_t /*size*/) override { return open(Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override { return keep(name); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  using Kind = JsonItems::Kind;

  // That the container around has one value more.
  void count() {
    if (!items_.open_.empty()) ++items_.values_[items_.open_.back()].word;
  }
  bool add(Kind kind, std::uint64_t word) {
    count();
    items_.values_.push_back({.kind = kind, .word = word});
    return true;
  }
  bool keep(const string_t& text) {
    items_.values_.push_back(
        {.kind = Kind::kText, .word = items_.bytes_.size(), .end = text.size()});
    items_.bytes_ += text;
    return true;
  }
  bool open(Kind kind) {
    add(kind, 0);
    items_.open_.push_back(items_.values_.size() - 1);
    return true;
  }
  bool close() {
    items_.values_[items_.open_.back()].end = items_.values_.size();
    items_.open_.pop_back();
    return true;
  }

  JsonItems& items_;
};

JsonItem JsonItems::parse(std::string_view text) {
  values_.clear();
  bytes_.clear();
  open_.clear();
  JsonItemsHandler handler(*this);
  const bool is_json = nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
  return is_json ? JsonItem(this, 0) : JsonItem();
}

std::optional<std::uint64_t> JsonItem::unsigned_number() const {
  if (kind() != JsonItems::Kind::kUnsigned) return std::nullopt;
  return value().word;
}

std::optional<double> JsonItem::number() const {
  if (kind() == JsonItems::Kind::kFloat) return std::bit_cast<double>(value().word);
  if (kind() == JsonItems::Kind::kUnsigned) return static_cast<double>(value().word);
  return std::nullopt;
}

std::optional<std::string_view> JsonItem::text() const {
  if (kind() != JsonItems::Kind::kText) return std::nullopt;
  return items_->text_of(value());
}

std::optional<JsonItem> JsonItem::find(std::string_view name) const {
  if (!is_object()) return std::nullopt;
  for (std::size_t at = at_ + 1; at != value().end;) {
    const JsonItem found(items_, at + 1);
    if (items_->text_of(items_->values_[at]) == name) return found;
    at = found.behind();
  }
  return std::nullopt;
}

}  // namespace stratalog
