// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/position_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "datalog/evaluate/schema_json.h"

namespace stratalog::datalog {
namespace {

constexpr int kFormat = 3;
// 1 and 2 have `new_tuples_per_round` in place of `rounds`, the number of entries in the section of
// that name; 1 has no `dealt_by`: relations lie as a plan from `planned_from` alone deals them.
constexpr int kOldestFormat = 1;

using Json = nlohmann::json;

Json report_to_json(const StratumReport& report) {
  return {{"relations", report.relations},
          {"strategy", static_cast<int>(report.strategy)},
          {"iterations", report.iterations},
          {"tuples", report.tuples},
          {"derivations", report.derivations},
          {"exchanged_bytes", report.exchanged_bytes},
          {"rebalances", report.rebalances},
          {"seconds", report.seconds},
          {"rounds", report.new_tuples_per_round.size()}};
}

constexpr unsigned kCountBits = 7;
constexpr std::uint64_t kMoreFollows = 1U << kCountBits;

// The counts of rounds in their order, as position_to_json() tells them.
class RoundReader {
 public:
  explicit RoundReader(std::span<const std::byte> section) : section_(section) {}

  // Of a report, or of the running stratum.
  Status next(const Json& json, std::vector<std::uint64_t>& counts) {
    if (!json.contains("rounds")) {
      counts = json.at("new_tuples_per_round").get<std::vector<std::uint64_t>>();
      return {};
    }
    const std::uint64_t count = json.at("rounds");
    counts.reserve(std::min<std::uint64_t>(count, section_.size()));
    while (counts.size() < count) {
      STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t next, next_count());
      counts.push_back(next);
    }
    return {};
  }

 private:
  Result<std::uint64_t> next_count() {
    std::uint64_t count = 0;
    for (unsigned shift = 0;; shift += kCountBits) {
      if (section_.empty() || shift >= 64)
        return Status::corruption(
            "engine state: the section rounds has fewer counts, or one that is too long");
      const auto byte = std::to_integer<std::uint64_t>(section_.front());
      section_ = section_.subspan(1);
      count |= (byte & (kMoreFollows - 1)) << shift;
      if (byte < kMoreFollows) return count;
    }
  }

  std::span<const std::byte> section_;
};

Result<StratumReport> report_from_json(const Json& json, RoundReader& rounds) {
  StratumReport report;
  report.relations = json.at("relations");
  report.strategy = static_cast<Strategy>(json.at("strategy").get<int>());
  report.iterations = json.at("iterations");
  report.tuples = json.at("tuples");
  report.derivations = json.at("derivations");
  report.exchanged_bytes = json.at("exchanged_bytes");
  report.rebalances = json.value("rebalances", std::uint64_t{0});
  report.seconds = json.at("seconds");
  STRATALOG_RETURN_IF_ERROR(rounds.next(json, report.new_tuples_per_round));
  return report;
}

Json addition_to_json(const FactAddition& addition) {
  Json facts = Json::array();
  for (const FactAddition::Rows& rows : addition.facts)
    facts.push_back({{"relation", rows.relation}, {"rows", rows.rows}});
  return {{"base", addition.base},
          {"facts", std::move(facts)},
          {"continued", addition.continued},
          {"restarted", addition.restarted}};
}

FactAddition addition_from_json(const Json& json) {
  FactAddition addition;
  addition.base = json.at("base");
  for (const Json& rows : json.at("facts"))
    addition.facts.push_back({.relation = rows.at("relation"), .rows = rows.at("rows")});
  addition.continued = json.at("continued").get<std::set<std::uint32_t>>();
  addition.restarted = json.at("restarted").get<std::set<std::uint32_t>>();
  return addition;
}

Json size_to_json(const RelationStatistics& size) {
  if (!size.known && size.distinct.empty()) return {};
  Json json = {{"rows", size.rows}, {"distinct", size.distinct}};
  if (!size.known) json["grows"] = true;
  for (std::size_t c = 0; c < size.frequent.size(); ++c)
    for (const FrequentValue& value : size.frequent[c])
      json["frequent"].push_back({c, value.bucket, value.per_million});
  for (const ColumnPair& pair : size.pairs)
    json["pairs"].push_back(
        {pair.first, pair.second, pair.distinct, pair.of_first, pair.of_second});
  return json;
}

RelationStatistics size_from_json(const Json& json) {
  if (json.is_null()) return {};
  RelationStatistics size{.known = !json.contains("grows"),
                          .rows = json.at("rows"),
                          .distinct = json.at("distinct").get<std::vector<std::uint64_t>>()};
  if (json.contains("pairs"))
    for (const Json& pair : json.at("pairs"))
      size.pairs.push_back({.first = pair.at(0),
                            .second = pair.at(1),
                            .distinct = pair.at(2),
                            .of_first = pair.at(3),
                            .of_second = pair.at(4)});
  if (!json.contains("frequent")) return size;
  for (const Json& value : json.at("frequent")) {
    const std::size_t column = value.at(0);
    // Of as many columns as there are counts: what a file says decides no more.
    if (column >= size.distinct.size()) continue;
    size.frequent.resize(size.distinct.size());
    size.frequent[column].push_back({.bucket = value.at(1), .per_million = value.at(2)});
  }
  return size;
}

Json dealing_to_json(const Program& program,
                     const std::map<RelationId, std::vector<std::uint32_t>>& dealt_by) {
  Json json = Json::array();
  for (RelationId r = 0; r < program.relations.size(); ++r) {
    const auto found = dealt_by.find(r);
    json.push_back(found == dealt_by.end() ? Json() : Json(found->second));
  }
  return json;
}

std::map<RelationId, std::vector<std::uint32_t>> dealing_from_json(const Json& json) {
  std::map<RelationId, std::vector<std::uint32_t>> dealt_by;
  for (RelationId r = 0; r < json.size(); ++r)
    if (!json[r].is_null()) dealt_by[r] = json[r].get<std::vector<std::uint32_t>>();
  return dealt_by;
}

}  // namespace

std::string position_to_json(const Program& program, const EnginePosition& position) {
  Json json;
  json["format"] = kFormat;
  json["strata"] = program.strata.size();
  json["strata_done"] = position.finished;
  Json statistics = Json::array();
  for (const RelationStatistics& s : position.statistics) statistics.push_back(size_to_json(s));
  json["planned_from"] = std::move(statistics);
  json["by_pivot"] = position.by_pivot;
  if (position.stratum) {
    json["stratum"] = *position.stratum;
    json["iteration"] = position.start.iteration;
    json["rounds"] = position.start.new_tuples_per_round.size();
    if (!position.start.tuples_ahead.empty()) json["tuples_ahead"] = position.start.tuples_ahead;
  }
  Json spaces = Json::object();
  for (const auto& [stratum, space] : position.pivot_spaces)
    spaces[std::to_string(stratum)] = {
        {"first", space.first}, {"lanes", space.lanes}, {"sparse", space.sparse}};
  json["pivot_spaces"] = std::move(spaces);
  if (!position.split.empty()) json["split"] = position.split;
  if (!position.dealt_by.empty()) json["dealt_by"] = dealing_to_json(program, position.dealt_by);
  if (!position.supplied.empty()) json["supplied"] = position.supplied;
  if (!position.additions.empty()) {
    Json additions = Json::array();
    for (const FactAddition& addition : position.additions)
      additions.push_back(addition_to_json(addition));
    json["additions"] = std::move(additions);
    json["adding"] = position.is_adding;
  }
  Json reports = Json::array();
  for (const StratumReport& report : position.reports) reports.push_back(report_to_json(report));
  json["reports"] = std::move(reports);
  json["schema"] = schema_to_json(program);
  return json.dump();
}

std::vector<std::uint64_t> rounds_of(const EnginePosition& position) {
  std::vector<std::uint64_t> rounds;
  for (const StratumReport& report : position.reports)
    rounds.insert(rounds.end(), report.new_tuples_per_round.begin(),
                  report.new_tuples_per_round.end());
  if (position.stratum)
    rounds.insert(rounds.end(), position.start.new_tuples_per_round.begin(),
                  position.start.new_tuples_per_round.end());
  return rounds;
}

Bytes encode_rounds(std::span<const std::uint64_t> rounds) {
  Bytes bytes;
  bytes.reserve(rounds.size());
  for (std::uint64_t count : rounds) {
    for (; count >= kMoreFollows; count >>= kCountBits)
      bytes.push_back(static_cast<std::byte>(count | kMoreFollows));
    bytes.push_back(static_cast<std::byte>(count));
  }
  return bytes;
}

Result<EnginePosition> stored_position(const Program& program, const StoredState& stored) {
  const NamedSection* rounds = find_section(stored, kRoundsSection);
  return position_from_json(program, stored.engine_state,
                            rounds == nullptr ? std::span<const std::byte>() : rounds->data);
}

Result<EnginePosition> position_from_json(const Program& program, const std::string& text,
                                          std::span<const std::byte> rounds) {
  // nlohmann-json and std::stoul report problems by exceptions only; they end here. Want of memory
  // is none of these: the text may be as it should be.
  const auto refuse = [](const std::exception& error) {
    return Status::corruption(fmt::format("engine state is not readable: {}", error.what()));
  };
  try {
    const Json json = Json::parse(text);
    const std::int64_t format = json.at("format");
    if (format < kOldestFormat || format > kFormat)
      return Status::not_supported(
          "the checkpoint's engine state has a newer format; use the release that wrote it");
    EnginePosition position;
    if (json.at("strata") != program.strata.size())
      return Status::not_supported(
          fmt::format("the checkpoint's engine state is of {} strata, the program has {} here: use "
                      "the release that wrote it, or run the program anew",
                      json.at("strata").dump(), program.strata.size()));
    position.finished = json.at("strata_done").get<std::set<std::uint32_t>>();
    for (const Json& s : json.at("planned_from")) position.statistics.push_back(size_from_json(s));
    position.by_pivot = json.at("by_pivot");
    if (json.contains("stratum")) {
      position.stratum = json.at("stratum").get<std::uint32_t>();
      position.start.iteration = json.at("iteration");
      if (json.contains("tuples_ahead"))
        position.start.tuples_ahead = json.at("tuples_ahead").get<std::vector<std::uint64_t>>();
      if (*position.stratum >= program.strata.size())
        return Status::corruption("engine state: the running stratum does not exist");
    }
    for (const auto& [key, space] : json.at("pivot_spaces").items())
      position.pivot_spaces[static_cast<std::uint32_t>(std::stoul(key))] = {
          .first = space.at("first"), .lanes = space.at("lanes"), .sparse = space.at("sparse")};
    if (json.contains("split")) position.split = json.at("split").get<std::set<RelationId>>();
    if (json.contains("dealt_by")) position.dealt_by = dealing_from_json(json.at("dealt_by"));
    if (json.contains("supplied"))
      position.supplied = json.at("supplied").get<std::set<RelationId>>();
    if (json.contains("additions")) {
      for (const Json& addition : json.at("additions"))
        position.additions.push_back(addition_from_json(addition));
      position.is_adding = json.at("adding");
      if (position.is_adding &&
          (position.additions.empty() || position.additions.back().continued.empty()))
        return Status::corruption(
            "engine state: facts are being added, but no stratum is named that takes them in");
      if (const auto last = position.additions.rbegin(); last != position.additions.rend())
        for (const auto& strata : {last->continued, last->restarted})
          if (!strata.empty() && *strata.rbegin() >= program.strata.size())
            return Status::corruption("engine state: facts were added to an unknown stratum");
    }
    RoundReader counts(rounds);
    for (const Json& each : json.at("reports")) {
      STRATALOG_ASSIGN_OR_RETURN(StratumReport report, report_from_json(each, counts));
      position.reports.push_back(std::move(report));
    }
    if (position.stratum) {
      STRATALOG_RETURN_IF_ERROR(counts.next(json, position.start.new_tuples_per_round));
    }
    for (const std::uint32_t s : position.finished)
      if (s >= program.strata.size())
        return Status::corruption("engine state: a finished stratum does not exist");
    return position;
  } catch (const Json::exception& error) {
    return refuse(error);
  } catch (const std::logic_error& error) {
    return refuse(error);
  }
}

}  // namespace stratalog::datalog
