// SPDX-License-Identifier: Apache-2.0
#include "commit/learned_record.h"

#include <algorithm>
#include <array>
#include <limits>

#include "commit/learned_json.h"

namespace stratalog {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNameBytes = 64;

template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};
// Clang 14 deduces nothing of aggregates.
template <typename Enum>
Named(Enum, std::string_view) -> Named<Enum>;

constexpr std::array kFormats = {Named{LearnedFormat::kEncoded, "encoded"},
                                 Named{LearnedFormat::kRows, "rows"}};
constexpr std::array kStages = {Named{StageUse::kDirect, "none"}, Named{StageUse::kStaged, "used"}};
constexpr std::array kWritings = {Named{SharedWriting::kByStore, "store"},
                                  Named{SharedWriting::kByMpi, "mpi"}};
constexpr std::array kCodings = {
    Named{TupleCoding::kAsAsked, "asked"}, Named{TupleCoding::kCompact, "compact"},
    Named{TupleCoding::kStreams, "streams"}, Named{TupleCoding::kBlockwise, "blockwise"}};

template <typename Table, typename Enum>
std::string_view name_in(const Table& table, Enum value) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& row) { return row.value == value; })
      ->name;
}

// What is 0 or absent is left away.
Json option_json(const LayoutOption& option) {
  Json object = {{"mode", mode_name(option.mode)}};
  const auto add = [&](const char* key, std::uint64_t number) {
    if (number != 0) object[key] = number;
  };
  add("files", option.files);
  add("aggregators", option.aggregators);
  add("alignment", option.alignment);
  add("relations_per_file", option.relations_per_file);
  if (option.coding != TupleCoding::kAsAsked) object["coding"] = name_in(kCodings, option.coding);
  if (option.deflate_level) object["deflate"] = *option.deflate_level;
  return object;
}

Json on_json(const MeasuredOn& on) {
  return {{"format", name_in(kFormats, on.format)},
          {"ranks", on.ranks},
          {"nodes", on.nodes},
          {"file_system", on.file_system},
          {"durability", durability_name(on.durability)},
          {"stage", name_in(kStages, on.stage)},
          {"shared", name_in(kWritings, on.shared)},
          {"encoding", encoding_name(on.encoding)},
          {"aggregators", on.aggregators},
          {"alignment", on.alignment},
          {"relations_per_file", on.relations_per_file}};
}

// An object's fields by name and type. Once one was not as it must be, nothing counts.
class Reader {
 public:
  explicit Reader(JsonItem object) : object_(object), is_good_(object.is_object()) {}

  bool is_good() const { return is_good_; }
  bool has(const char* key) const { return is_good_ && object_.find(key).has_value(); }
  JsonItem at(const char* key) {
    const auto found = object_.find(key);
    is_good_ = is_good_ && found.has_value();
    return found.value_or(JsonItem());
  }
  template <typename Number>
  void read(const char* key, Number& number) {
    const auto found = at(key).unsigned_number();
    if (!found || *found > std::numeric_limits<Number>::max())
      is_good_ = false;
    else
      number = static_cast<Number>(*found);
  }
  void read(const char* key, double& number) {
    const auto found = at(key).number();
    is_good_ = is_good_ && found.has_value();
    number = found.value_or(number);
  }
  void read(const char* key, std::string& name) {
    const auto found = at(key).text();
    if (!found || found->size() > kMostNameBytes)
      is_good_ = false;
    else
      name = *found;
  }
  // `parse` gives a value for a name, or nothing.
  template <typename Value, typename Parse>
  void read_named(const char* key, Value& value, Parse&& parse) {
    std::string name;
    read(key, name);
    const std::optional<Value> found = parse(std::string_view(name));
    is_good_ = is_good_ && found.has_value();
    value = found.value_or(value);
  }
  template <typename Value, typename Table>
  void read_from(const char* key, Value& value, const Table& table) {
    read_named(key, value, [&](std::string_view name) -> std::optional<Value> {
      for (const auto& row : table)
        if (row.name == name) return row.value;
      return std::nullopt;
    });
  }

 private:
  JsonItem object_;
  bool is_good_;
};

bool read_option(Reader& in, LayoutOption& option) {
  const auto read_if_there = [&](const char* key, auto& number) {
    if (in.has(key)) in.read(key, number);
  };
  in.read_named("mode", option.mode, parse_mode);
  read_if_there("files", option.files);
  read_if_there("aggregators", option.aggregators);
  read_if_there("alignment", option.alignment);
  read_if_there("relations_per_file", option.relations_per_file);
  if (in.has("coding")) in.read_from("coding", option.coding, kCodings);
  if (in.has("deflate")) in.read("deflate", option.deflate_level.emplace());
  return in.is_good();
}

bool read_on(Reader in, MeasuredOn& on) {
  in.read_from("format", on.format, kFormats);
  in.read("ranks", on.ranks);
  in.read("nodes", on.nodes);
  in.read("file_system", on.file_system);
  in.read_named("durability", on.durability, parse_durability);
  in.read_from("stage", on.stage, kStages);
  in.read_from("shared", on.shared, kWritings);
  in.read_named("encoding", on.encoding, parse_encoding);
  in.read("aggregators", on.aggregators);
  in.read("alignment", on.alignment);
  in.read("relations_per_file", on.relations_per_file);
  return in.is_good();
}

bool read_costs(JsonItem array, std::vector<LearnedCost>& costs) {
  if (!array.is_array() || array.size() > kMostLearned) return false;
  for (const JsonItem item : array) {
    LearnedCost cost;
    Reader in(item);
    if (!read_option(in, cost.option)) return false;
    in.read("bytes", cost.bytes);
    in.read("seconds_per_byte", cost.seconds_per_byte);
    in.read("saves", cost.saves);
    in.read("last", cost.last);
    if (!in.is_good()) return false;
    costs.push_back(cost);
  }
  return true;
}

}  // namespace

Json learned_json(const LearnedRecord& record) {
  const LearnedCosts& known = record.costs;
  Json costs = Json::array();
  for (const LearnedCost& cost : known.costs) {
    Json object = option_json(cost.option);
    object["bytes"] = cost.bytes;
    object["seconds_per_byte"] = cost.seconds_per_byte;
    object["saves"] = cost.saves;
    object["last"] = cost.last;
    costs.push_back(std::move(object));
  }
  Json object = {
      {"on", on_json(record.on)}, {"saves", known.saves}, {"since_try", known.since_try}};
  if (known.settled) object["settled"] = option_json(*known.settled);
  object["costs"] = std::move(costs);
  return object;
}

std::optional<LearnedRecord> learned_of(JsonItem object) {
  LearnedRecord record;
  Reader in(object);
  if (!read_on(Reader(in.at("on")), record.on)) return std::nullopt;
  in.read("saves", record.costs.saves);
  in.read("since_try", record.costs.since_try);
  if (in.has("settled")) {
    Reader settled(in.at("settled"));
    if (!read_option(settled, record.costs.settled.emplace())) return std::nullopt;
  }
  if (!read_costs(in.at("costs"), record.costs.costs) || !in.is_good() || !is_sound(record.costs))
    return std::nullopt;
  return record;
}

std::string learned_text(const LearnedRecord& record) {
  return learned_json(record).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::optional<LearnedRecord> parse_learned(std::string_view text) {
  JsonItems items;
  return learned_of(items.parse(text));
}

}  // namespace stratalog
