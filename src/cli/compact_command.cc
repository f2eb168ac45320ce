// SPDX-License-Identifier: Apache-2.0
// compact: the newest valid generation of a folder, written anew as one that stands by itself. Only
// rank 0 speaks. Collective over the world.
#include <fmt/format.h>

#include <utility>

#include "checkpoint/compact.h"
#include "cli/checkpoint_options_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/program_source.h"
#include "cli/quantities.h"
#include "cli/stored_program.h"
#include "cli/world.h"
#include "datalog/evaluate/column_labels.h"

namespace stratalog::cli {

namespace {

// For readers of HDF5 files, where the program tells them.
std::vector<ColumnLabels> column_labels(const StoredState& state) {
  const auto program = stored_program(state);
  if (!program.is_ok()) return {};
  std::vector<ColumnLabels> labels;
  for (const StoredRelation& stored : state.relations) {
    labels.emplace_back();
    for (const datalog::Relation& relation : program.value().relations)
      if (relation.name == stored.name && relation.attributes.size() == stored.arity)
        labels.back() = datalog::column_labels(relation);
    if (labels.back().size() != stored.arity) return {};
  }
  return labels;
}

struct Choice {
  CompactRequest request;
  LayoutWishes layout;
  Durability durability = Durability::kFull;
  std::uint32_t keep_generations = 0;
};

Result<Choice> choose(Store& store, const RunArguments& run) {
  Choice choice;
  STRATALOG_ASSIGN_OR_RETURN(choice.request.generation, choose_generation(store, {}));
  STRATALOG_ASSIGN_OR_RETURN(const StoredState state,
                             inspect_generation(store, choice.request.generation));
  choice.request.mode = run.has_mode ? run.mode : state.mode;
  if (run.has_encoding)
    choice.request.encoding = run.encoding;
  else if (stores_blocks(state.mode))
    choice.request.encoding = state.encoding;
  RunArguments asked = run;
  asked.mode = choice.request.mode;
  STRATALOG_RETURN_IF_ERROR(check_encoding(asked));
  // What is not said stays as the run had it; a layout is that of its mode.
  asked.has_mode = true;
  if (!asked.has_durability) asked.durability = state.durability;
  STRATALOG_RETURN_IF_ERROR(complete_from_options_file(store, asked).status());
  if (asked.mode != state.mode) asked.layout = run.layout;
  STRATALOG_RETURN_IF_ERROR(check_layout(asked));
  choice.layout = asked.layout;
  choice.durability = asked.durability;
  choice.keep_generations = asked.keep_generations;
  choice.request.labels = column_labels(state);
  return choice;
}

Result<SaveReport> compact(World& world, Store& store, const RunArguments& run,
                           std::string& source) {
  Comm& comm = world.comm();
  // Every rank reads the manifest; all must have chosen alike, or the writer says so.
  Result<Choice> choice = choose(store, run);
  STRATALOG_RETURN_IF_ERROR(agree_in_own_words(comm, choice.status()));
  source = choice.value().request.generation;
  WriterOptions options;
  options.durability = choice.value().durability;
  options.keep_generations = choice.value().keep_generations;
  options.layout = choice.value().layout;
  options.backends = world.backends(choice.value().request.mode);
  return compact_generation(comm, store, choice.value().request, options);
}

// The folder itself, if nothing waits in its staging directory.
Result<std::unique_ptr<Store>> open_drained(const std::string& directory) {
  STRATALOG_ASSIGN_OR_RETURN(const auto store, open_checkpoint_folder(directory));
  if (auto* const staged = dynamic_cast<StagedStore*>(store.get())) {
    STRATALOG_ASSIGN_OR_RETURN(const auto generations, list_generations(*staged));
    for (const GenerationSummary& generation : generations)
      if (staged->place_of(generation.name) == StagePlace::kStage)
        return Status::not_supported(fmt::format(
            "{} waits in the staging directory {}; go on with `stratalog resume` first, which "
            "drains it",
            generation.name, staged->stage_root()));
  }
  return open_posix_store(directory, RootMode::kMustExist);
}

ExitCode compact_and_tell(World& world, const RunArguments& run) {
  const bool speaks = world.is_first();
  const auto fail = [&](const Status& status) {
    if (speaks) complain(status);
    return exit_code_of(status, Part::kCheckpoint);
  };
  const auto store = open_drained(run.checkpoint);
  const Status opened = agree_in_own_words(world.comm(), store.status());
  if (!opened.is_ok()) return fail(opened);
  std::string source;
  const auto saved = compact(world, *store.value(), run, source);
  if (!saved.is_ok()) return fail(saved.status());
  if (!speaks) return ExitCode::kDone;
  for (const std::string& note : saved.value().notes) tell(fmt::format("note: {}\n", note));
  return end_with_result(
      fmt::format("{} is {} anew: {} rows, {} in {} files, {:.2f} s\n", saved.value().generation,
                  source, format_count(saved.value().rows), format_size(saved.value().bytes),
                  saved.value().files, saved.value().total_seconds));
}

}  // namespace

ExitCode compact_command(const Invocation& invocation) {
  const RunArguments& run = invocation.run;
  // Which layout the checkpoint has is known only later.
  const bool is_serial = run.has_mode && run.mode == CheckpointMode::kFilePerProcess;
  return in_world(is_serial ? MpiNeed::kOnlyIfLaunched : MpiNeed::kAlways,
                  [&](World& world) { return compact_and_tell(world, run); });
}

}  // namespace stratalog::cli
