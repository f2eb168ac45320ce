// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace stratalog::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostSaves = 1000;

// Reads the fields of one object; the first wrong one decides.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is no object");
  }
  const Status& status() const { return status_; }

  std::string text(const char* key, const std::string& otherwise) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail(fmt::format("{} is no text", key));
    return value->is_string() ? value->get<std::string>() : otherwise;
  }
  std::uint64_t number(const char* key, std::uint64_t otherwise) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number_unsigned()) fail(fmt::format("{} is no count", key));
    return value->is_number_unsigned() ? value->get<std::uint64_t>() : otherwise;
  }
  double seconds(const char* key) {
    const json* value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_number()) fail(fmt::format("{} is no number", key));
    return value->is_number() ? value->get<double>() : 0;
  }
  KeepFiles keep(const char* key) {
    const json* value = find(key);
    if (value == nullptr) return KeepFiles::kNo;
    if (!value->is_boolean()) fail(fmt::format("{} is neither true nor false", key));
    return *value == true ? KeepFiles::kYes : KeepFiles::kNo;
  }
  const json& list(const char* key) {
    static const json kNone = json::array();
    const json* value = find(key);
    if (value == nullptr) return kNone;
    if (!value->is_array()) fail(fmt::format("{} is no list", key));
    return value->is_array() ? *value : kNone;
  }
  // A word that `parse` knows; `otherwise` where there is none.
  template <typename Value, typename Parse>
  Value word(const char* key, Value otherwise, Parse&& parse) {
    const std::string given = text(key, "");
    if (given.empty()) return otherwise;
    const std::optional<Value> value = parse(given);
    if (!value) fail(fmt::format("{} \"{}\" is not known", key, given));
    return value.value_or(otherwise);
  }
  void fail(const std::string& message) {
    if (status_.is_ok())
      status_ =
          Status::invalid_argument(fmt::format("bench specification: {} {}", where_, message));
  }

 private:
  const json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  const json& object_;
  std::string where_;
  Status status_;
};

Result<BenchData> parse_data(const json& object) {
  Fields fields(object, "data:");
  BenchData data;
  data.name = fields.text("name", "");
  data.checkpoint = fields.text("checkpoint", "");
  data.generation = fields.text("generation", "");
  data.bytes = fields.number("bytes", 0);
  data.columns = static_cast<std::uint32_t>(fields.number("columns", 2));
  data.share = fields.word("skew", RankShare::kBalanced, parse_share);
  data.texture = fields.word("texture", Texture::kClosure, parse_texture);
  data.seed = fields.number("seed", 1);
  for (const json& size : fields.list("grows")) {
    const bool is_larger = size.is_number_unsigned() &&
                           size.get<std::uint64_t>() > (data.grows.empty() ? 0 : data.grows.back());
    if (!is_larger) fields.fail("grows is no list of growing sizes");
    data.grows.push_back(is_larger ? size.get<std::uint64_t>() : 1);
  }
  if (!data.grows.empty() && !data.checkpoint.empty())
    fields.fail("grows is for synthetic relations, and checkpoint names real ones");
  if (data.name.empty()) fields.fail("name is missing");
  STRATALOG_RETURN_IF_ERROR(fields.status());
  return data;
}

std::optional<SequenceParts> parse_sequence_parts(std::string_view name) {
  if (name == "whole") return SequenceParts::kWhole;
  if (name == "growth") return SequenceParts::kGrowth;
  return std::nullopt;
}

bool is_folder_name(const std::string& name) {
  return is_store_path(name) && name.find('/') == std::string::npos;
}

Result<BenchCase> parse_bench_case(const json& object) {
  Fields fields(object, "cases:");
  BenchCase one;
  one.name = fields.text("name", "");
  one.stored = fields.text("stored", "");
  const std::string strategy = fields.text("strategy", one.stored.empty() ? "" : "fpp");
  if (strategy == "raw-fpp" || strategy == "raw-shared") {
    one.raw = strategy == "raw-fpp" ? RawFiles::kOwn : RawFiles::kShared;
  } else if (const auto mode = parse_mode(strategy)) {
    one.mode = *mode;
  } else {
    fields.fail(fmt::format("strategy \"{}\" is not known", strategy));
  }
  one.encoding = fields.word("encoding", ShardEncoding::kCompact, parse_encoding);
  one.durability = fields.word("durability", Durability::kFull, parse_durability);
  one.keep = fields.keep("keep");
  one.parts = fields.word("parts", SequenceParts::kWhole, parse_sequence_parts);
  const std::uint64_t saves = fields.number("saves", 1);
  if (saves == 0 || saves > kMostSaves)
    fields.fail(fmt::format("saves is 1 to {}, not {}", kMostSaves, saves));
  one.saves = static_cast<std::uint32_t>(saves);
  one.files = static_cast<std::uint32_t>(fields.number("files", 0));
  const auto ladder = parse_ladder(fields.text("ladder", "all"));
  if (ladder.is_ok())
    one.ladder = ladder.value();
  else
    fields.fail(ladder.status().message());
  if (!is_folder_name(one.name))
    fields.fail(fmt::format("name \"{}\" cannot be that of a folder", one.name));
  STRATALOG_RETURN_IF_ERROR(fields.status());
  return one;
}

std::optional<ReadParts> parse_parts(std::string_view name) {
  if (name == "as-written") return ReadParts::kAsWritten;
  if (name == "balanced") return ReadParts::kBalanced;
  return std::nullopt;
}

}  // namespace

Result<BenchSpec> parse_bench_spec(std::string_view text) {
  const json parsed = json::parse(text, nullptr, false);
  Fields fields(parsed, "the file");
  BenchSpec spec;
  spec.directory = fields.text("directory", "");
  spec.repeats = static_cast<std::uint32_t>(fields.number("repeats", 1));
  spec.earlier_repeats = static_cast<std::uint32_t>(fields.number("earlier_repeats", 0));
  spec.seconds = fields.seconds("seconds");
  if (spec.directory.empty()) fields.fail("has no directory");
  for (const json& one : fields.list("data")) {
    STRATALOG_ASSIGN_OR_RETURN(BenchData data, parse_data(one));
    spec.data.push_back(std::move(data));
  }
  for (const json& one : fields.list("cases")) {
    STRATALOG_ASSIGN_OR_RETURN(BenchCase parsed_case, parse_bench_case(one));
    spec.cases.push_back(std::move(parsed_case));
  }
  for (const json& one : fields.list("restarts")) {
    const auto parts = one.is_string() ? parse_parts(one.get<std::string>()) : std::nullopt;
    if (!parts) fields.fail("restarts holds something else than \"as-written\" and \"balanced\"");
    spec.restarts.push_back(parts.value_or(ReadParts::kAsWritten));
  }
  if (spec.data.empty() || spec.cases.empty()) fields.fail("has no data or no cases");
  for (const BenchCase& one : spec.cases)
    for (const BenchData& data : spec.data)
      if (one.parts == SequenceParts::kGrowth && data.grows.empty())
        fields.fail(fmt::format("has case {} with parts \"growth\" and data {} that does not grow",
                                one.name, data.name));
  STRATALOG_RETURN_IF_ERROR(fields.status());
  return spec;
}

}  // namespace stratalog::cli
