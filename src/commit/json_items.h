// SPDX-License-Identifier: Apache-2.0
// A JSON text as one flat list of its values, in the order of the text. Reading manifests makes
// one for each line, of which there are as many as shards: beside nlohmann's tree of values this
// allocates nothing once its lists have grown. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stratalog {

class JsonItem;

class JsonItems {
 public:
  // What was there before is gone, and so are its items. An empty root where `text` is not one
  // JSON value.
  JsonItem parse(std::string_view text);

 private:
  friend class JsonItem;
  friend class JsonItemsHandler;

  enum class Kind : std::uint8_t { kOther, kUnsigned, kFloat, kText, kArray, kObject };
  struct Value {
    Kind kind = Kind::kOther;
    // Of numbers the number or its bits, of texts where they begin in bytes_, of containers how
    // many values lie right inside.
    std::uint64_t word = 0;
    // Of texts their size, of containers where what comes behind them begins.
    std::size_t end = 0;
  };

  std::string_view text_of(const Value& value) const {
    return {bytes_.data() + value.word, value.end};
  }

  // An object's fields are a text, the name, and then the value.
  std::vector<Value> values_;
  std::string bytes_;
  std::vector<std::size_t> open_;  // while parsing: the containers around
};

// One value, or none; good until the next parse().
class JsonItem {
 public:
  JsonItem() = default;

  bool is_object() const { return kind() == JsonItems::Kind::kObject; }
  bool is_array() const { return kind() == JsonItems::Kind::kArray; }
  // Numbers without sign, fraction and exponent; nothing where it is something else.
  std::optional<std::uint64_t> unsigned_number() const;
  std::optional<double> number() const;
  std::optional<std::string_view> text() const;
  // Values right inside an array, or fields of an object; of others 0.
  std::size_t size() const { return is_array() || is_object() ? value().word : 0; }
  // The first field of that name; nothing too where this is no object.
  std::optional<JsonItem> find(std::string_view name) const;

  // Over an array's values; of what is none, over nothing.
  class Iterator {
   public:
    JsonItem operator*() const { return {items_, at_}; }
    Iterator& operator++() {
      at_ = JsonItem(items_, at_).behind();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    friend class JsonItem;
    Iterator(const JsonItems* items, std::size_t at) : items_(items), at_(at) {}
    const JsonItems* items_;
    std::size_t at_;
  };
  Iterator begin() const { return {items_, at_ + 1}; }
  Iterator end() const { return {items_, is_array() ? value().end : at_ + 1}; }

 private:
  friend class JsonItems;
  JsonItem(const JsonItems* items, std::size_t at) : items_(items), at_(at) {}
  const JsonItems::Value& value() const { return items_->values_[at_]; }
  JsonItems::Kind kind() const {
    return items_ == nullptr ? JsonItems::Kind::kOther : value().kind;
  }
  std::size_t behind() const { return is_array() || is_object() ? value().end : at_ + 1; }

  const JsonItems* items_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace stratalog
