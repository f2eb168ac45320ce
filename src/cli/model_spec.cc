// SPDX-License-Identifier: Apache-2.0
#include "cli/model_spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/rank_share.h"

namespace stratalog::cli {
namespace {

using nlohmann::json;

constexpr int kMostRanks = 1 << 16;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 44;

Status wrong(const std::string& where, std::string_view field, std::string_view what) {
  return Status::invalid_argument(
      fmt::format("model specification: {}: {} {}", where, field, what));
}

Result<std::uint64_t> count_of(const json& object, const std::string& where, const char* key,
                               std::uint64_t otherwise, std::uint64_t most) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most)
    return wrong(where, key, fmt::format("is no number from 0 to {}", most));
  return found->get<std::uint64_t>();
}

Result<std::string> word_of(const json& object, const std::string& where, const char* key,
                            const std::string& otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (!found->is_string()) return wrong(where, key, "is no text");
  return found->get<std::string>();
}

Result<Machine> parse_machine(const json& object) {
  Machine machine;
  if (!object.is_object()) return wrong("machine", "it", "is missing or no object");
  for (const MachineField& field : machine_fields()) {
    const auto found = object.find(field.name);
    if (found == object.end() || !found->is_number())
      return wrong("machine", field.name, "is missing or no number");
    machine.*field.value = found->get<double>();
  }
  if (object.size() != machine_fields().size())
    return wrong("machine", "it", "has fields that no machine has");
  STRATALOG_RETURN_IF_ERROR(check_machine(machine));
  return machine;
}

Result<DatasetFacts> parse_dataset(const json& object, const std::string& where, int ranks) {
  if (!object.is_object()) return wrong(where, "datasets", "holds something that is no object");
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t columns,
                             count_of(object, where, "columns", 2, 64));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t rows,
                             count_of(object, where, "rows", 0, kMostRows));
  STRATALOG_ASSIGN_OR_RETURN(const std::string skew, word_of(object, where, "skew", "balanced"));
  const std::optional<RankShare> share = parse_share(skew);
  if (columns == 0 || rows == 0) return wrong(where, "datasets", "need rows and columns");
  if (!share) return wrong(where, "skew", fmt::format("\"{}\" is not known", skew));
  return DatasetFacts{.columns = static_cast<std::uint32_t>(columns),
                      .rows_of_rank = deal_rows(rows, ranks, *share)};
}

Status parse_strategy(const json& object, const std::string& where, ModelCase& one) {
  STRATALOG_ASSIGN_OR_RETURN(const std::string strategy, word_of(object, where, "strategy", ""));
  STRATALOG_ASSIGN_OR_RETURN(const std::string ladder, word_of(object, where, "ladder", "all"));
  STRATALOG_ASSIGN_OR_RETURN(one.question.wishes.ladder, parse_ladder(ladder));
  if (strategy == "raw-fpp" || strategy == "raw-shared") {
    one.bare = strategy == "raw-fpp" ? BareFiles::kOwn : BareFiles::kShared;
    return Status::ok();
  }
  const std::optional<CheckpointMode> mode = parse_mode(strategy);
  if (!mode || is_learned(*mode))
    return wrong(where, "strategy", fmt::format("\"{}\" is no layout", strategy));
  one.question.wishes.mode = *mode;
  return Status::ok();
}

Status parse_durability(const json& object, const std::string& where, ModelCase& one) {
  STRATALOG_ASSIGN_OR_RETURN(const std::string word, word_of(object, where, "durability", "full"));
  if (word != "full" && word != "none") return wrong(where, "durability", "is full or none");
  one.question.sync = word == "full" ? SyncFiles::kYes : SyncFiles::kNo;
  return Status::ok();
}

Status parse_lfs(const json& object, const std::string& where, ModelCase& one) {
  const auto found = object.find("lfs");
  if (found == object.end()) return Status::ok();
  if (!found->is_boolean()) return wrong(where, "lfs", "is neither true nor false");
  one.question.lfs = *found == true ? LfsProgram::kThere : LfsProgram::kMissing;
  return Status::ok();
}

Status parse_restart(const json& object, const std::string& where, ModelCase& one) {
  STRATALOG_ASSIGN_OR_RETURN(const std::string word, word_of(object, where, "restart", ""));
  if (word.empty()) return Status::ok();
  if (one.bare) return wrong(where, "restart", "needs a checkpoint, not bare writes");
  if (word != "as-written" && word != "balanced")
    return wrong(where, "restart", "is as-written or balanced");
  one.restart = word == "balanced" ? ReadParts::kBalanced : ReadParts::kAsWritten;
  return Status::ok();
}

Result<ModelCase> parse_model_case(const json& object, const Machine& machine) {
  if (!object.is_object()) return wrong("cases", "one", "is no object");
  ModelCase one;
  STRATALOG_ASSIGN_OR_RETURN(one.name, word_of(object, "cases", "name", ""));
  if (one.name.empty()) return wrong("cases", "name", "is missing");
  SaveQuestion& question = one.question;
  STRATALOG_RETURN_IF_ERROR(parse_strategy(object, one.name, one));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t ranks,
                             count_of(object, one.name, "ranks", 1, kMostRanks));
  if (ranks == 0) return wrong(one.name, "ranks", "is at least 1");
  question.facts.ranks = static_cast<int>(ranks);
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t readers,
                             count_of(object, one.name, "readers", ranks, kMostRanks));
  if (readers == 0) return wrong(one.name, "readers", "is at least 1");
  one.readers = static_cast<int>(readers);
  STRATALOG_ASSIGN_OR_RETURN(question.stage_bytes,
                             count_of(object, one.name, "stage_bytes", WriterOptions{}.stage_bytes,
                                      std::uint64_t{1} << 40));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t files,
                             count_of(object, one.name, "files", 0, kMostRanks));
  question.wishes.files = static_cast<std::uint32_t>(files);
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t milli,
                             count_of(object, one.name, "encoded_milli", 1000, 1000));
  if (milli == 0) return wrong(one.name, "encoded_milli", "is at least 1");
  question.facts.encoded_milli = static_cast<std::uint32_t>(milli);
  STRATALOG_RETURN_IF_ERROR(parse_durability(object, one.name, one));
  STRATALOG_RETURN_IF_ERROR(parse_restart(object, one.name, one));
  STRATALOG_RETURN_IF_ERROR(parse_lfs(object, one.name, one));
  for (int r = 0; r < question.facts.ranks; ++r)
    question.facts.node_of_rank.push_back(static_cast<int>(r / machine.ranks_per_node));
  question.facts.file_system = file_system_of(machine);
  const auto datasets = object.find("datasets");
  if (datasets == object.end() || !datasets->is_array() || datasets->empty())
    return wrong(one.name, "datasets", "is missing or empty");
  for (const json& dataset : *datasets) {
    STRATALOG_ASSIGN_OR_RETURN(DatasetFacts facts,
                               parse_dataset(dataset, one.name, question.facts.ranks));
    question.facts.datasets.push_back(std::move(facts));
  }
  return one;
}

}  // namespace

Result<ModelSpec> parse_model_spec(std::string_view text) {
  const json whole = json::parse(text, nullptr, false);
  if (whole.is_discarded() || !whole.is_object())
    return Status::invalid_argument("the model specification is no JSON object");
  ModelSpec spec;
  STRATALOG_ASSIGN_OR_RETURN(spec.machine, parse_machine(whole.value("machine", json())));
  const auto cases = whole.find("cases");
  if (cases == whole.end() || !cases->is_array())
    return Status::invalid_argument("model specification: cases is missing or no list");
  for (const json& one : *cases) {
    STRATALOG_ASSIGN_OR_RETURN(ModelCase parsed, parse_model_case(one, spec.machine));
    spec.cases.push_back(std::move(parsed));
  }
  return spec;
}

}  // namespace stratalog::cli
