// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace stratalog {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "stratalog-profile";
constexpr int kVersion = 1;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json phases_to_json(const ProfileRank& rank) {
  Json json;
  for (std::size_t p = 0; p < kProfilePhases.size(); ++p)
    json[std::string(kProfilePhases[p])] = rank.seconds[p];
  json["total"] = rank.total_seconds;
  return json;
}

template <typename Item, typename Convert>
Json list(const std::vector<Item>& items, Convert convert) {
  Json json = Json::array();
  for (const Item& item : items) json.push_back(convert(item));
  return json;
}

Json stratum_to_json(const ProfileStratum& s) {
  return {{"relations", s.relations},     {"strategy", s.strategy},
          {"iterations", s.iterations},   {"tuples", s.tuples},
          {"derivations", s.derivations}, {"exchanged_bytes", s.exchanged_bytes},
          {"seconds", s.seconds}};
}

Json rule_to_json(const ProfileRule& r) {
  return {{"stratum", r.stratum},
          {"work", r.work == ProfileWork::kSweep ? "sweep" : "rule"},
          {"text", r.text},
          {"file", r.file},
          {"line", r.line},
          {"delta", r.delta},
          {"order", r.order},
          {"evaluations", r.evaluations},
          {"seconds", r.seconds},
          {"slowest_seconds", r.slowest_seconds},
          {"derivations", r.derivations},
          {"new_tuples", or_null(r.new_tuples)}};
}

Json rank_to_json(const ProfileRank& r) {
  return {{"seconds", phases_to_json(r)},
          {"sent_bytes", r.sent_bytes},
          {"peak_memory_bytes", r.peak_memory_bytes},
          {"rows", r.rows}};
}

// Points are many: short arrays instead of objects.
Json round_to_json(const ProfileRounds& r) {
  return Json::array({r.stratum, r.first, r.rounds, r.new_tuples, r.largest, or_null(r.seconds)});
}

Json sample_to_json(const ProfileSample& s) {
  return Json::array(
      {s.at_seconds, s.stratum, s.memory_bytes, s.tuples, s.sent_bytes, s.is_estimate ? 1 : 0});
}

Json relation_to_json(const ProfileRelation& r) {
  return {{"name", r.name},
          {"rows", r.rows},
          {"largest_rows", r.largest_rows},
          {"smallest_rows", r.smallest_rows},
          {"largest_rank", r.largest_rank}};
}

Json checkpoint_to_json(const ProfileCheckpoint& c) {
  return {{"generation", c.generation}, {"bytes", c.bytes}, {"seconds", c.seconds}};
}

// Reads fields and remembers the first that is wrong. `where` names the object in messages.
class Reader {
 public:
  const Status& status() const { return status_; }
  void fail(const std::string& where, std::string_view expected) {
    if (status_.is_ok())
      status_ = Status::invalid_argument(fmt::format(
          "not a profile of Stratalog: {} should be {}; write one with run --profile FILE", where,
          expected));
  }

  const Json& member(const Json& object, const std::string& where, const char* name) {
    static const Json kNothing;
    if (!object.is_object()) {
      fail(where, "an object");
      return kNothing;
    }
    const auto found = object.find(name);
    if (found != object.end()) return *found;
    fail(where + "." + name, "there");
    return kNothing;
  }
  void get(const Json& value, const std::string& where, std::uint64_t& into) {
    if (!value.is_number_unsigned()) return fail(where, "a whole number, not negative");
    into = value.get<std::uint64_t>();
  }
  void get(const Json& value, const std::string& where, std::uint32_t& into) {
    std::uint64_t wide = 0;
    get(value, where, wide);
    if (wide > 0xFFFFFFFFU) return fail(where, "below 2^32");
    into = static_cast<std::uint32_t>(wide);
  }
  void get(const Json& value, const std::string& where, double& into) {
    if (!value.is_number()) return fail(where, "a number");
    into = value.get<double>();
    if (!std::isfinite(into) || into < 0) fail(where, "a number of seconds, not negative");
  }
  void get(const Json& value, const std::string& where, std::string& into) {
    if (!value.is_string()) return fail(where, "a text");
    into = value.get<std::string>();
  }
  template <typename T>
  void get(const Json& value, const std::string& where, std::optional<T>& into) {
    if (value.is_null()) return;
    into.emplace();
    get(value, where, *into);
  }
  template <typename T>
  void field(const Json& object, const std::string& where, const char* name, T& into) {
    const Json& value = member(object, where, name);
    if (status_.is_ok()) get(value, where + "." + name, into);
  }

 private:
  Status status_;
};

void read(Reader& in, const Json& json, const std::string& at, ProfileStratum& s) {
  in.field(json, at, "relations", s.relations);
  in.field(json, at, "strategy", s.strategy);
  in.field(json, at, "iterations", s.iterations);
  in.field(json, at, "tuples", s.tuples);
  in.field(json, at, "derivations", s.derivations);
  in.field(json, at, "exchanged_bytes", s.exchanged_bytes);
  in.field(json, at, "seconds", s.seconds);
}

void read(Reader& in, const Json& json, const std::string& at, ProfileRule& r) {
  std::string work;
  in.field(json, at, "stratum", r.stratum);
  in.field(json, at, "work", work);
  if (in.status().is_ok() && work != "rule" && work != "sweep")
    in.fail(at + ".work", "rule or sweep");
  r.work = work == "sweep" ? ProfileWork::kSweep : ProfileWork::kRule;
  in.field(json, at, "text", r.text);
  in.field(json, at, "file", r.file);
  in.field(json, at, "line", r.line);
  in.field(json, at, "delta", r.delta);
  if (json.is_object() && json.contains("order")) in.field(json, at, "order", r.order);
  in.field(json, at, "evaluations", r.evaluations);
  in.field(json, at, "seconds", r.seconds);
  in.field(json, at, "slowest_seconds", r.slowest_seconds);
  in.field(json, at, "derivations", r.derivations);
  in.field(json, at, "new_tuples", r.new_tuples);
}

void read(Reader& in, const Json& json, const std::string& at, ProfileRank& r) {
  const Json& seconds = in.member(json, at, "seconds");
  for (std::size_t p = 0; p < kProfilePhases.size(); ++p)
    in.field(seconds, at + ".seconds", std::string(kProfilePhases[p]).c_str(), r.seconds[p]);
  in.field(seconds, at + ".seconds", "total", r.total_seconds);
  in.field(json, at, "sent_bytes", r.sent_bytes);
  in.field(json, at, "peak_memory_bytes", r.peak_memory_bytes);
  in.field(json, at, "rows", r.rows);
}

const Json& element(Reader& in, const Json& json, const std::string& at, std::size_t i) {
  static const Json kNothing;
  if (json.is_array() && i < json.size()) return json[i];
  in.fail(at, "an array of six values");
  return kNothing;
}

void read(Reader& in, const Json& json, const std::string& at, ProfileRounds& r) {
  if (!json.is_array() || json.size() != 6) return in.fail(at, "an array of six values");
  in.get(json[0], at + "[0]", r.stratum);
  in.get(json[1], at + "[1]", r.first);
  in.get(json[2], at + "[2]", r.rounds);
  in.get(json[3], at + "[3]", r.new_tuples);
  in.get(json[4], at + "[4]", r.largest);
  in.get(json[5], at + "[5]", r.seconds);
}

void read(Reader& in, const Json& json, const std::string& at, ProfileSample& s) {
  in.get(element(in, json, at, 0), at + "[0]", s.at_seconds);
  in.get(element(in, json, at, 1), at + "[1]", s.stratum);
  in.get(element(in, json, at, 2), at + "[2]", s.memory_bytes);
  in.get(element(in, json, at, 3), at + "[3]", s.tuples);
  in.get(element(in, json, at, 4), at + "[4]", s.sent_bytes);
  std::uint32_t estimate = 0;
  in.get(element(in, json, at, 5), at + "[5]", estimate);
  s.is_estimate = estimate != 0;
}

void read(Reader& in, const Json& json, const std::string& at, ProfileRelation& r) {
  in.field(json, at, "name", r.name);
  in.field(json, at, "rows", r.rows);
  in.field(json, at, "largest_rows", r.largest_rows);
  in.field(json, at, "smallest_rows", r.smallest_rows);
  in.field(json, at, "largest_rank", r.largest_rank);
}

void read(Reader& in, const Json& json, const std::string& at, ProfileCheckpoint& c) {
  in.field(json, at, "generation", c.generation);
  in.field(json, at, "bytes", c.bytes);
  in.field(json, at, "seconds", c.seconds);
}

template <typename Item>
void read_list(Reader& in, const Json& json, const char* name, std::vector<Item>& into) {
  const Json& items = in.member(json, "profile", name);
  if (!in.status().is_ok()) return;
  if (!items.is_array()) return in.fail(fmt::format("profile.{}", name), "an array");
  for (std::size_t i = 0; i < items.size() && in.status().is_ok(); ++i) {
    into.emplace_back();
    read(in, items[i], fmt::format("{}[{}]", name, i), into.back());
  }
}

void check_strata(Reader& in, const RunProfile& profile) {
  const auto check = [&](const char* what, std::uint32_t stratum) {
    if (stratum >= profile.strata.size())
      in.fail(fmt::format("the stratum of {}", what),
              fmt::format("one of the {} strata, not {}", profile.strata.size(), stratum));
  };
  for (const ProfileRule& rule : profile.rules) check("a rule", rule.stratum);
  for (const ProfileRounds& point : profile.rounds) check("a round", point.stratum);
}

}  // namespace

std::string profile_to_json(const RunProfile& profile) {
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"program", profile.program},
                     {"ranks", profile.ranks},
                     {"resumed_from", profile.resumed_from},
                     {"total_seconds", profile.total_seconds},
                     {"peak_memory_bytes", profile.peak_memory_bytes},
                     {"strata", list(profile.strata, stratum_to_json)},
                     {"rules", list(profile.rules, rule_to_json)},
                     {"by_rank", list(profile.by_rank, rank_to_json)},
                     {"relations", list(profile.relations, relation_to_json)},
                     {"checkpoints", list(profile.checkpoints, checkpoint_to_json)},
                     {"rounds", list(profile.rounds, round_to_json)},
                     {"samples", list(profile.samples, sample_to_json)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RunProfile> profile_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  Reader in;
  if (json.is_discarded()) {
    in.fail("the file", "JSON");
    return in.status();
  }
  std::string format;
  std::uint32_t version = 0;
  in.field(json, "profile", "format", format);
  if (in.status().is_ok() && format != kFormat)
    in.fail("profile.format", fmt::format("\"{}\"", kFormat));
  in.field(json, "profile", "version", version);
  STRATALOG_RETURN_IF_ERROR(in.status());
  if (version != kVersion)
    return Status::not_supported(
        fmt::format("the profile has version {}, this program reads version {}; use the release "
                    "that wrote it",
                    version, kVersion));
  RunProfile profile;
  in.field(json, "profile", "program", profile.program);
  in.field(json, "profile", "ranks", profile.ranks);
  in.field(json, "profile", "resumed_from", profile.resumed_from);
  in.field(json, "profile", "total_seconds", profile.total_seconds);
  in.field(json, "profile", "peak_memory_bytes", profile.peak_memory_bytes);
  read_list(in, json, "strata", profile.strata);
  read_list(in, json, "rules", profile.rules);
  read_list(in, json, "by_rank", profile.by_rank);
  read_list(in, json, "relations", profile.relations);
  read_list(in, json, "checkpoints", profile.checkpoints);
  read_list(in, json, "rounds", profile.rounds);
  read_list(in, json, "samples", profile.samples);
  if (in.status().is_ok()) check_strata(in, profile);
  STRATALOG_RETURN_IF_ERROR(in.status());
  return profile;
}

}  // namespace stratalog
