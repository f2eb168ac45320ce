// SPDX-License-Identifier: Apache-2.0
// ls, inspect and verify: looking at a checkpoint folder without an engine. Local; nothing is
// changed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_options_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/quantities.h"
#include "cli/stored_program.h"
#include "commit/vocabulary.h"
#include "datalog/made_relations.h"
#include "place/checkpoint_names.h"

namespace stratalog::cli {

namespace {

using nlohmann::json;

std::string_view condition_name(GenerationCondition condition) {
  switch (condition) {
    case GenerationCondition::kValid:
      return "valid";
    case GenerationCondition::kUnfinished:
      return "unfinished";
    case GenerationCondition::kDamaged:
      return "damaged";
    case GenerationCondition::kRejected:
      return "rejected";
    case GenerationCondition::kBase:
      return "base";
  }
  return "";
}

// An unfinished generation has told nothing about itself.
bool is_described(const GenerationSummary& generation) {
  return generation.condition == GenerationCondition::kValid || generation.rows > 0 ||
         generation.ranks > 0;
}

// Where a generation lies, if there is a staging directory; empty otherwise.
std::string_view place_name(Store& store, const std::string& generation) {
  auto* const staged = dynamic_cast<StagedStore*>(&store);
  if (staged == nullptr) return {};
  switch (staged->place_of(generation)) {
    case StagePlace::kHome:
      return "drained";
    case StagePlace::kStage:
      return "staged";
    case StagePlace::kBoth:
      return "drained and staged";
  }
  return {};
}

// A sentence for people, about the generations that would be lost with the stage.
std::string stage_text(Store& store, const std::string& generation) {
  if (place_name(store, generation) != "staged") return {};
  return fmt::format("  staged in {}, not yet drained\n",
                     dynamic_cast<StagedStore&>(store).stage_root());
}

// Whether all strata were finished. A round of the last one says nothing then.
bool holds_answer(const GenerationSummary& generation) {
  const json engine = json::parse(generation.engine_state, nullptr, false);
  if (!engine.is_object() || !engine.contains("strata_done")) return false;
  return engine["strata_done"].size() == engine.value("strata", json(0)) &&
         !engine.contains("stratum");
}

json summary_json(const GenerationSummary& generation) {
  json entry = {{"name", generation.name},
                {"condition", condition_name(generation.condition)},
                {"reason", generation.reason}};
  if (!is_described(generation)) return entry;
  entry.update({{"iteration", generation.iteration},
                {"finished", holds_answer(generation)},
                {"ranks", generation.ranks},
                {"mode", mode_name(generation.mode)},
                {"durability", durability_name(generation.durability)},
                {"rows", generation.rows},
                {"bytes", generation.bytes},
                {"linked_bytes", generation.linked_bytes},
                {"builds_on", generation.builds_on}});
  return entry;
}

std::string list_text(Store& store, const std::vector<GenerationSummary>& generations,
                      const StoredArguments& arguments) {
  std::string text =
      fmt::format("{:<26} {:<10} {:>9} {:>6} {:<12} {:<10} {:>16} {:>11}\n", "generation",
                  "condition", "iteration", "ranks", "mode", "durability", "rows", "size");
  bool is_first_valid = true;
  for (const GenerationSummary& generation : generations) {
    text += fmt::format("{:<26} {:<10}", generation.name, condition_name(generation.condition));
    if (is_described(generation)) {
      text += fmt::format(
          " {:>9} {:>6} {:<12} {:<10} {:>16} {:>11}",
          holds_answer(generation) ? "finished" : format_count(generation.iteration),
          generation.ranks, mode_name(generation.mode), durability_name(generation.durability),
          format_count(generation.rows), format_size(generation.bytes));
    }
    // Of several nodes only this one's stage can be looked into.
    if (place_name(store, generation.name) == "staged")
      text += generation.condition == GenerationCondition::kDamaged
                  ? "  staged, the rest on other nodes or lost"
                  : "  staged, not drained";
    if (generation.condition == GenerationCondition::kValid) {
      if (is_first_valid) text += "  <- resume takes this";
      is_first_valid = false;
    } else if (arguments.why && !generation.reason.empty()) {
      text += fmt::format("\n    {}", generation.reason);
    }
    if (arguments.why && !generation.builds_on.empty()) {
      text += fmt::format("\n    builds on {} of {}", format_size(generation.linked_bytes),
                          fmt::join(generation.builds_on, ", "));
    }
    text += '\n';
  }
  return text;
}

// Whether a resume would find nothing valid although something was committed.
bool has_only_damage(const std::vector<GenerationSummary>& generations) {
  bool has_invalid = false;
  for (const GenerationSummary& generation : generations) {
    if (generation.condition == GenerationCondition::kValid) return false;
    has_invalid |= was_committed(generation.condition);
  }
  return has_invalid;
}

std::string hash_text(const MultisetHash& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

json state_json(const StoredState& state) {
  json relations = json::array();
  for (const StoredRelation& relation : state.relations) {
    json entry = {{"name", relation.name},   {"version", version_name(relation.version)},
                  {"arity", relation.arity}, {"column_order", relation.column_order},
                  {"rows", relation.rows},   {"hash", hash_text(relation.hash)}};
    if (datalog::is_made_name(relation.name)) entry["made_for"] = datalog::made_for(relation.name);
    const PartChoice& choice = relation.choice;
    if (!choice.part.empty()) {
      entry["choice"] = {{"part", choice.part},
                         {"reason", choice.reason},
                         {"parts", choice.parts},
                         {"whole_bytes", choice.whole_bytes},
                         {"growth_bytes", choice.growth_bytes}};
    }
    relations.push_back(std::move(entry));
  }
  json sections = json::array();
  for (const NamedSection& section : state.sections) {
    sections.push_back({{"name", section.name}, {"bytes", section.data.size()}});
  }
  json layout = json::array();
  for (const Reason& reason : state.layout_reasons)
    layout.push_back({{"about", reason.about}, {"text", reason.text}});
  json engine = json::parse(state.engine_state, nullptr, false);
  return {{"generation", state.generation},
          {"ranks", state.ranks},
          {"mode", mode_name(state.mode)},
          {"encoding", encoding_name(state.encoding)},
          {"durability", durability_name(state.durability)},
          {"iteration", state.iteration},
          {"program_hash", state.program_hash},
          {"engine_state", engine.is_discarded() ? json(state.engine_state) : std::move(engine)},
          {"relations", std::move(relations)},
          {"builds_on", state.builds_on},
          {"layout", std::move(layout)},
          {"sections", std::move(sections)}};
}

// Which facts were added to which finished runs.
std::string additions_text(const json& engine) {
  std::string text;
  const json none = json::array();
  const json& additions = engine.contains("additions") ? engine["additions"] : none;
  for (std::size_t i = 0; i < additions.size(); ++i) {
    const json& addition = additions[i];
    std::string facts;
    for (const json& added : addition.value("facts", json::array()))
      facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", added.value("relation", ""),
                           format_count(added.value("rows", std::uint64_t{0})));
    const bool is_open = i + 1 == additions.size() && engine.value("adding", false);
    text += fmt::format("  facts {} to {}: {}\n", is_open ? "are being added" : "were added",
                        addition.value("base", ""), facts);
  }
  return text;
}

// Where in the program the checkpoint was taken, in words; the JSON form has the whole state.
std::string position_text(const StoredState& state) {
  const json engine = json::parse(state.engine_state, nullptr, false);
  if (!engine.is_object() || !engine.contains("strata") || !engine.contains("strata_done"))
    return {};
  const json& done = engine["strata_done"];
  std::string text = fmt::format("  {} of {} strata finished", done.is_array() ? done.size() : 0,
                                 engine["strata"].dump());
  if (engine.contains("stratum")) {
    text += fmt::format(", stratum {} at round {}", engine["stratum"].dump(),
                        engine.value("iteration", json(0)).dump());
  }
  return text + "\n" + additions_text(engine);
}

// Why the files are laid out as they are, and why each relation was written as it was.
std::string why_text(const StoredState& state) {
  std::string text;
  for (const Reason& reason : state.layout_reasons)
    text += fmt::format("  {}: {}\n", reason.about, reason.text);
  if (state.layout_reasons.empty())
    text += fmt::format("  mode {} was asked for, and leaves nothing to decide\n",
                        mode_name(state.mode));
  for (const StoredRelation& relation : state.relations)
    if (!relation.choice.reason.empty())
      text += fmt::format("  {} {}: {}\n", datalog::shown_relation(relation.name),
                          version_name(relation.version), relation.choice.reason);
  return text;
}

std::string state_text(const StoredState& state) {
  std::string text = fmt::format(
      "{}\n  written by {} rank{}, mode {}, encoding {}, durability {}\n  iteration {}, program "
      "hash {}\n{}",
      state.generation, state.ranks, state.ranks == 1 ? "" : "s", mode_name(state.mode),
      encoding_name(state.encoding), durability_name(state.durability),
      format_count(state.iteration), state.program_hash, position_text(state));
  if (!state.builds_on.empty())
    text += fmt::format("  builds on {}\n", fmt::join(state.builds_on, ", "));
  text += fmt::format("  {:<32} {:<7} {:>5} {:>16}  {}\n", "relation", "version", "arity", "rows",
                      "hash");
  std::uint64_t made = 0;
  std::uint64_t made_rows = 0;
  for (const StoredRelation& relation : state.relations) {
    if (datalog::is_made_name(relation.name)) {
      ++made;
      made_rows += relation.rows;
      continue;
    }
    text += fmt::format("  {:<32} {:<7} {:>5} {:>16}  {}\n", relation.name,
                        version_name(relation.version), relation.arity, format_count(relation.rows),
                        hash_text(relation.hash));
  }
  if (made > 0)
    text += fmt::format("  {:<46} {:>16}\n", fmt::format("made for rules: {} more", made),
                        format_count(made_rows));
  for (const NamedSection& section : state.sections) {
    text +=
        fmt::format("  section {:<24} {:>24}\n", section.name, format_size(section.data.size()));
  }
  return text;
}

json verify_json(const VerifyReport& report) {
  return {
      {"generation", report.generation}, {"files", report.files}, {"bytes", report.bytes},
      {"blocks", report.blocks},         {"rows", report.rows},   {"problems", report.problems}};
}

std::string verify_text(const VerifyReport& report, VerifyDepth depth) {
  std::string text =
      fmt::format("{}: {} files, {}", report.generation, report.files, format_size(report.bytes));
  if (depth == VerifyDepth::kContent) {
    text += fmt::format(", {} blocks, {} rows decoded", format_count(report.blocks),
                        format_count(report.rows));
  }
  text += report.problems.empty() ? ": all is well\n"
                                  : fmt::format(": {} problem{}\n", report.problems.size(),
                                                report.problems.size() == 1 ? "" : "s");
  for (const std::string& problem : report.problems) text += fmt::format("  {}\n", problem);
  return text;
}

// The generations that verify looks at: the named one, or all that were committed.
Result<std::vector<std::string>> generations_to_verify(Store& store, const std::string& wanted) {
  STRATALOG_ASSIGN_OR_RETURN(const auto generations, list_generations(store));
  std::vector<std::string> names;
  for (const GenerationSummary& generation : generations) {
    const bool is_wanted =
        wanted.empty() ? was_committed(generation.condition) : generation.name == wanted;
    if (!is_wanted) continue;
    if (!was_committed(generation.condition))
      return Status::corruption(
          fmt::format("{} cannot be verified: {}", wanted, generation.reason));
    names.push_back(generation.name);
  }
  if (!names.empty()) return names;
  return Status::not_found(
      wanted.empty() ? fmt::format("there is no checkpoint in {}", store.root())
                     : fmt::format("there is no generation {} in {}", wanted, store.root()));
}

// NotFound where something else lies in the folder. An empty one may yet become one of checkpoints.
Status check_is_for_checkpoints(Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(const auto names, store.list("."));
  if (names.empty() || store.info(kStoreFileName).status().code() != StatusCode::kNotFound)
    return Status::ok();
  return Status::not_found(
      fmt::format("there is no checkpoint in {}: it is no checkpoint folder", store.root()));
}

}  // namespace

ExitCode list_command(const StoredArguments& arguments) {
  const auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok()) return end_with_error(store.status(), Part::kCheckpoint);
  const auto generations = list_generations(*store.value());
  if (!generations.is_ok()) return end_with_error(generations.status(), Part::kCheckpoint);
  const Status folder = check_is_for_checkpoints(*store.value());
  if (!folder.is_ok()) return end_with_error(folder, Part::kCheckpoint);
  const ExitCode code =
      has_only_damage(generations.value()) ? ExitCode::kCheckpointDamaged : ExitCode::kDone;
  if (arguments.style == OutputStyle::kText) {
    if (generations.value().empty()) return end_with_result("no checkpoints\n", code);
    return end_with_result(list_text(*store.value(), generations.value(), arguments), code);
  }
  json entries = json::array();
  for (const GenerationSummary& generation : generations.value()) {
    entries.push_back(summary_json(generation));
    const std::string_view place = place_name(*store.value(), generation.name);
    if (!place.empty()) entries.back()["place"] = place;
  }
  return end_with_result(json_text({{"generations", std::move(entries)}}), code);
}

ExitCode inspect_command(const StoredArguments& arguments) {
  const auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok()) return end_with_error(store.status(), Part::kCheckpoint);
  const auto state =
      use_generation(*store.value(), arguments.generation, [&](const std::string& generation) {
        return inspect_generation(*store.value(), generation);
      });
  if (!state.is_ok()) return end_with_error(state.status(), Part::kCheckpoint);
  const bool is_text = arguments.style == OutputStyle::kText;
  const std::string_view place = place_name(*store.value(), state.value().generation);
  json about = state_json(state.value());
  if (!place.empty()) about["place"] = place;
  if (!is_text) return end_with_result(json_text(about));
  const std::string why = arguments.why ? why_text(state.value()) : "";
  return end_with_result(
      state_text(state.value()) + stage_text(*store.value(), state.value().generation) + why,
      ExitCode::kDone);
}

ExitCode verify_command(const StoredArguments& arguments) {
  const auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok()) return end_with_error(store.status(), Part::kCheckpoint);
  const auto names = generations_to_verify(*store.value(), arguments.generation);
  if (!names.is_ok()) return end_with_error(names.status(), Part::kCheckpoint);
  ExitCode code = ExitCode::kDone;
  std::string text;
  json entries = json::array();
  for (const std::string& name : names.value()) {
    const auto report = verify_generation(*store.value(), name, arguments.depth);
    const bool is_good = report.is_ok() && report.value().problems.empty();
    if (!is_good && was_removed(*store.value(), name)) {
      text += fmt::format("{}: removed by a running job meanwhile\n", name);
      continue;
    }
    if (!report.is_ok()) return end_with_error(report.status(), Part::kCheckpoint);
    if (!report.value().problems.empty()) code = ExitCode::kCheckpointDamaged;
    text += verify_text(report.value(), arguments.depth);
    text += stage_text(*store.value(), name);
    entries.push_back(verify_json(report.value()));
    const std::string_view place = place_name(*store.value(), name);
    if (!place.empty()) entries.back()["place"] = place;
  }
  // Generations do not need it, but whoever resumes does.
  RunArguments remembered;
  const Status options = complete_from_options_file(*store.value(), remembered).status();
  json answer{{"generations", std::move(entries)}};
  if (!options.is_ok()) {
    code = ExitCode::kCheckpointDamaged;
    text += fmt::format("options of the run, for `resume`: {}\n", options.to_string());
    answer["options_problem"] = options.to_string();
  }
  return end_with_result(arguments.style == OutputStyle::kText ? text : json_text(answer), code);
}

}  // namespace stratalog::cli
