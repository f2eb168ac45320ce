// SPDX-License-Identifier: Apache-2.0
// why and why-not: a proof of a tuple of a checkpoint, or where its rules fail, as text or JSON.
// Local.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/checkpoint_options_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/proof_text.h"
#include "cli/stored_program.h"
#include "datalog/prove/prove.h"

namespace stratalog::cli {

namespace {

ExitCode end_without_proof(const Status& status) {
  complain(status);
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotSupported:
      return ExitCode::kProgram;
    case StatusCode::kNoSpace:
      return ExitCode::kMemoryLimit;
    default:
      return exit_code_of(status, Part::kCheckpoint);
  }
}

struct Place {
  std::unique_ptr<Store> store;
  StoredState state;
  datalog::ProveOptions options;
};

Result<Place> open_place(const WhyArguments& arguments) {
  Place place;
  auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok())
    return store.status().with_context(
        "only runs with --checkpoint DIR can be asked; the finished state is kept there");
  place.store = std::move(store).value();
  STRATALOG_ASSIGN_OR_RETURN(const std::string generation,
                             choose_generation(*place.store, arguments.generation));
  STRATALOG_ASSIGN_OR_RETURN(place.state, inspect_generation(*place.store, generation));
  RunArguments run;
  const std::string program = complete_from_options_file(*place.store, run);
  if (!program.empty()) place.options.program_name = program;
  place.options.max_instances = arguments.max_instances;
  return place;
}

}  // namespace

ExitCode why_command(const WhyArguments& arguments) {
  const auto place = open_place(arguments);
  if (!place.is_ok()) return end_without_proof(place.status());
  const StoredState& state = place.value().state;
  const auto proof =
      datalog::why(*place.value().store, state, arguments.goal, place.value().options);
  if (!proof.is_ok()) return end_without_proof(proof.status());
  const bool is_text = arguments.style == OutputStyle::kText;
  return end_with_result(is_text ? proof_text(proof.value(), arguments.depth)
                                 : json_text(proof_json(proof.value(), state.generation)));
}

ExitCode why_not_command(const WhyArguments& arguments) {
  const auto place = open_place(arguments);
  if (!place.is_ok()) return end_without_proof(place.status());
  const StoredState& state = place.value().state;
  const auto answer =
      datalog::why_not(*place.value().store, state, arguments.goal, place.value().options);
  if (!answer.is_ok()) return end_without_proof(answer.status());
  const bool is_text = arguments.style == OutputStyle::kText;
  return end_with_result(is_text ? why_not_text(answer.value())
                                 : json_text(why_not_json(answer.value(), state.generation)));
}

}  // namespace stratalog::cli
