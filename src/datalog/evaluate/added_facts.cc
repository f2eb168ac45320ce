// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/added_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_location.h"
#include "datalog/facts/fact_reader.h"
#include "datalog/facts/rank_zero.h"
#include "datalog/made_relations.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// Where the file of an .input is looked for below a folder of added facts.
std::string path_in_folder(const std::string& path) {
  return is_store_path(path) ? path : path.substr(path.rfind('/') + 1);
}

// Every .input with its path, in program order. Local.
Result<std::vector<AddedFile>> all_inputs(const Program& program) {
  std::vector<AddedFile> inputs;
  for (RelationId r = 0; r < program.relations.size(); ++r)
    for (const IoDirective& directive : program.relations[r].io) {
      if (directive.action != IoAction::kInput) continue;
      STRATALOG_ASSIGN_OR_RETURN(const FactFormat format,
                                 plan_input(program.relations[r], directive));
      AddedFile input{.relation = r, .directive = directive};
      if (is_standard_input(directive)) input.directive.parameters["IO"] = "file";
      input.directive.parameters["filename"] = path_in_folder(format.path);
      inputs.push_back(std::move(input));
    }
  return inputs;
}

// Rank 0: which of the files are there, and which others.
Result<nlohmann::json> look_for_files(Store& folder, const std::vector<AddedFile>& inputs) {
  STRATALOG_ASSIGN_OR_RETURN(std::vector<std::string> strangers, folder.list("."));
  std::vector<bool> found;
  found.reserve(inputs.size());
  for (const AddedFile& input : inputs) {
    const std::string& path = input.directive.parameters.at("filename");
    const auto location = locate_input(folder, path);
    if (!location.is_ok() && location.status().code() != StatusCode::kNotFound)
      return location.status();
    found.push_back(location.is_ok());
    std::erase(strangers, path);
  }
  std::erase_if(strangers, [&](const std::string& name) {
    const auto info = folder.info(name);
    return info.is_ok() && info.value().kind == FileKind::kDirectory;
  });
  std::sort(strangers.begin(), strangers.end());
  return nlohmann::json{{"found", found}, {"strangers", strangers}};
}

std::string names_of_files(const std::vector<AddedFile>& inputs) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const AddedFile& input : inputs) {
    if (names.size() == kShown) {
      names.emplace_back("...");
      break;
    }
    names.push_back(input.directive.parameters.at("filename"));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_of(const EngineState& state, std::span<const RelationId> relations) {
  std::string names;
  for (const RelationId r : relations)
    names += (names.empty() ? "" : ", ") + state.program.relations[r].name;
  return names;
}

// Without relations that are made for rules: what becomes of them becomes of those that they are
// made for.
std::string declared_members(const EngineState& state, const Stratum& stratum) {
  std::vector<RelationId> declared = stratum.relations;
  std::erase_if(declared,
                [&](RelationId r) { return is_made_relation(state.program.relations[r]); });
  return names_of(state, declared);
}

}  // namespace

Result<AddedFiles> find_added_files(Comm& comm, Store& folder, const Program& program) {
  STRATALOG_ASSIGN_OR_RETURN(std::vector<AddedFile> inputs, all_inputs(program));
  if (inputs.empty())
    return Status::not_found("the program has no .input: there is nothing to add facts to");
  STRATALOG_ASSIGN_OR_RETURN(const nlohmann::json told,
                             ask_rank_zero(comm, [&] { return look_for_files(folder, inputs); }));
  AddedFiles added;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (told["found"][i].get<bool>()) added.files.push_back(std::move(inputs[i]));
  for (const auto& name : told["strangers"]) added.strangers.push_back(name.get<std::string>());
  if (added.files.empty())
    return Status::not_found(fmt::format("{} has no fact file of the program; expected some of: {}",
                                         folder.root(), names_of_files(inputs)));
  return added;
}

std::set<RelationId> relations_of(const AddedFiles& added) {
  std::set<RelationId> relations;
  for (const AddedFile& file : added.files) relations.insert(file.relation);
  return relations;
}

Result<std::vector<TupleColumns>> load_added_files(EngineState& state, Store& folder,
                                                   const AddedFiles& added) {
  std::vector<TupleColumns> tuples(state.program.relations.size());
  std::vector<FactInput> inputs;
  inputs.reserve(added.files.size());
  for (const AddedFile& file : added.files)
    inputs.push_back(
        {.relation = &state.program.relations[file.relation], .directive = &file.directive});
  STRATALOG_ASSIGN_OR_RETURN(
      std::vector<TupleColumns> loaded,
      load_facts(state.comm, folder, inputs, state.dictionary, state.options.read));
  for (std::size_t i = 0; i < loaded.size(); ++i)
    append_tuples(std::move(loaded[i]), tuples[added.files[i].relation]);
  return tuples;
}

void begin_addition(const EngineState& state, const std::string& base, EnginePosition& position) {
  FactAddition addition{.base = base,
                        .facts = {},
                        .continued = strata_with(*state.addition, AdditionEffect::kGoesOn),
                        .restarted = strata_with(*state.addition, AdditionEffect::kStartsOver)};
  std::set<std::string> untouched;
  for (const std::uint32_t s : strata_with(*state.addition, AdditionEffect::kNone))
    untouched.insert(names_of(state, state.declared_strata[s].relations));
  std::erase_if(position.reports,
                [&](const StratumReport& report) { return !untouched.contains(report.relations); });
  for (const auto* strata : {&addition.continued, &addition.restarted})
    for (const std::uint32_t s : *strata) {
      position.finished.erase(s);
      position.pivot_spaces.erase(s);
    }
  position.stratum = *addition.continued.begin();
  position.by_pivot = false;
  position.start = {};
  position.start.from = StartFrom::kFixpoint;
  // Other rules are searched in other ways now, and relations are dealt by how they are searched.
  for (RelationId r = 0; r < state.relations.size(); ++r)
    if (!state.program.relations[r].attributes.empty()) position.split.insert(r);
  position.additions.push_back(std::move(addition));
  position.is_adding = true;
}

std::optional<std::uint32_t> continued_stratum(const EnginePosition& position) {
  if (!position.is_adding) return std::nullopt;
  return *position.additions.back().continued.begin();
}

std::vector<std::string> describe_addition(const EngineState& state, const AddedFiles& added) {
  std::vector<std::string> lines;
  std::string files;
  for (const AddedFile& file : added.files)
    files += (files.empty() ? "" : ", ") + file.directive.parameters.at("filename");
  lines.push_back(fmt::format("facts are added from {}", files));
  std::string going_on;
  for (std::uint32_t s = 0; s < state.addition->strata.size(); ++s) {
    const StratumAddition& stratum = state.addition->strata[s];
    const std::string names = declared_members(state, state.declared_strata[s]);
    if (names.empty()) continue;
    if (stratum.effect == AdditionEffect::kGoesOn)
      going_on += (going_on.empty() ? "" : ", ") + names;
    if (stratum.effect == AdditionEffect::kStartsOver)
      lines.push_back(fmt::format("starting over: {} ({})", names, stratum.reason));
  }
  lines.insert(lines.begin() + 1, fmt::format("going on: {}", going_on));
  for (const std::string& stranger : added.strangers)
    lines.push_back(
        fmt::format("warning: {} belongs to no .input of the program, nothing is read "
                    "from it",
                    stranger));
  return lines;
}

}  // namespace stratalog::datalog
