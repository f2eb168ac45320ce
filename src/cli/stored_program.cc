// SPDX-License-Identifier: Apache-2.0
#include "cli/stored_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/checkpoint_options_file.h"
#include "cli/program_source.h"
#include "cli/stage_folder.h"
#include "model/record_image.h"
#include "write/absolute_path.h"

namespace stratalog::cli {

namespace {

std::string condition_text(const GenerationSummary& generation) {
  return fmt::format("\n  {}: {}", generation.name,
                     generation.reason.empty() ? "not valid" : generation.reason);
}

}  // namespace

Result<datalog::Program> stored_program(const StoredState& state, const std::string& name) {
  const NamedSection* section = find_section(state, "program");
  if (section == nullptr) {
    return Status::not_found(fmt::format(
        "{} holds no program; it was not written by a run of Stratalog", state.generation));
  }
  std::string text(reinterpret_cast<const char*>(section->data.data()), section->data.size());
  datalog::CompileOutcome outcome = compile_text(
      name.empty() ? fmt::format("program of {}", state.generation) : name, std::move(text));
  if (!outcome.is_ok()) {
    return Status::corruption(fmt::format("the program stored in {} does not compile:\n{}",
                                          state.generation,
                                          datalog::render_all(outcome.diagnostics)));
  }
  return std::move(*outcome.program);
}

Result<ValueDictionary> stored_dictionary(const StoredState& state) {
  const NamedSection* section = find_section(state, "dictionary");
  if (section == nullptr) {
    return Status::not_found(fmt::format(
        "{} holds no dictionary; it was not written by a run of Stratalog", state.generation));
  }
  ValueDictionary dictionary;
  const Status decoded = decode_dictionary(section->data, dictionary);
  if (!decoded.is_ok())
    return decoded.with_context(fmt::format("dictionary of {}", state.generation));
  if (const NamedSection* records = find_section(state, "records")) {
    const Status read = decode_records(records->data, dictionary);
    if (!read.is_ok()) return read.with_context(fmt::format("records of {}", state.generation));
  }
  return dictionary;
}

Result<std::string> choose_generation(Store& store, const std::string& wanted) {
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<GenerationSummary> generations,
                             list_generations(store));
  std::string unfinished;
  std::string invalid;
  for (const GenerationSummary& generation : generations) {
    const bool is_valid = generation.condition == GenerationCondition::kValid;
    if (wanted.empty() && is_valid) return generation.name;
    if (generation.name == wanted) {
      if (is_valid) return generation.name;
      return Status::corruption(
          fmt::format("{} cannot be used:{}", wanted, condition_text(generation)));
    }
    if (generation.condition == GenerationCondition::kBase) continue;
    const bool is_unfinished = generation.condition == GenerationCondition::kUnfinished;
    (is_unfinished ? unfinished : invalid) += condition_text(generation);
  }
  if (!wanted.empty()) {
    return Status::not_found(
        fmt::format("there is no generation {} in {}; stratalog ls {} lists them", wanted,
                    store.root(), store.root()));
  }
  if (!invalid.empty()) {
    return Status::corruption(fmt::format("there are checkpoints in {}, but none is valid:{}{}",
                                          store.root(), invalid, unfinished));
  }
  return Status::not_found(
      fmt::format("there is no checkpoint in {}{}{}", store.root(),
                  unfinished.empty() ? "" : "; only unfinished ones:", unfinished));
}

Status tell_removed(const std::string& generation, const std::string& wanted) {
  return Status::io_error(fmt::format(
      "{}: a running job removed it meanwhile; {}", generation,
      wanted.empty() ? "try again" : "ask for a newer one, or have the job keep more (--keep)"));
}

Result<std::unique_ptr<Store>> open_checkpoint_folder(const std::string& directory,
                                                      const std::string& stage) {
  auto store = open_posix_store(directory, RootMode::kMustExist);
  if (!store.is_ok()) return store.status().with_context("checkpoint folder");
  const std::string staged = stage.empty() ? stage_in_options_file(*store.value()) : stage;
  if (staged.empty()) return store;
  return std::unique_ptr<Store>(with_stage(std::move(store).value(), staged));
}

namespace {

// The newest valid generation, and whether it is in the stage only; empty if there is none.
Result<std::pair<std::string, bool>> newest_staged(const std::string& directory,
                                                   const std::string& stage) {
  STRATALOG_ASSIGN_OR_RETURN(auto home, open_posix_store(directory, RootMode::kMustExist));
  const auto staged = with_stage(std::move(home), stage);
  STRATALOG_ASSIGN_OR_RETURN(const auto generations, list_generations(*staged));
  for (const GenerationSummary& generation : generations)
    if (generation.condition == GenerationCondition::kValid)
      return std::pair(generation.name, staged->place_of(generation.name) == StagePlace::kStage);
  return std::pair(std::string(), false);
}

}  // namespace

Status check_no_other_stage(const std::string& directory, const std::string& stage) {
  const auto home = open_posix_store(directory, RootMode::kMustExist);
  if (!home.is_ok()) return Status::ok();  // whoever needs it will say so
  const std::string before = stage_in_options_file(*home.value());
  if (before.empty() || absolute_path(before) == absolute_path(stage)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const auto newest, newest_staged(directory, before));
  if (!newest.second) return Status::ok();
  return Status::already_exists(fmt::format(
      "{0} waits in {1}, the staging directory of the job before, and has not come to {2}; go on "
      "with --stage {1} first, which drains it, or begin anew with --restart-fresh",
      newest.first, before, directory));
}

std::unique_ptr<StagedStore> with_stage(std::unique_ptr<Store> home, const std::string& stage,
                                        const StageSeat& seat) {
  StageOpener opener = [folder = stage_of_node(stage, seat.node), root = home->root()](
                           const std::string& name, RootMode mode) {
    return open_stage_folder(folder, name, root, mode);
  };
  return open_staged_store(std::move(home), std::move(opener), stage, Draining::kBeside, seat);
}

std::string stage_of_node(std::string stage, int node) {
  constexpr std::string_view kNodeWord = "{node}";
  const std::string number = std::to_string(node);
  for (std::size_t at = stage.find(kNodeWord); at != std::string::npos;
       at = stage.find(kNodeWord, at + number.size()))
    stage.replace(at, kNodeWord.size(), number);
  return stage;
}

}  // namespace stratalog::cli
