// SPDX-License-Identifier: Apache-2.0
// why and why-not: a proof of a tuple of a checkpoint, or where its rules fail, as text or JSON.
// Local.
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/checkpoint_options_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/program_source.h"
#include "cli/proof_text.h"
#include "cli/stored_program.h"
#include "datalog/functors/shared_libraries.h"
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
  StoredState state;
  std::vector<datalog::ExternalFunction> externals;
  datalog::ProveOptions options;
};

// The functions behind the program's .functor. Where they cannot be loaded, only what calls them
// fails.
std::vector<datalog::ExternalFunction> load_externals(const StoredState& state,
                                                      const std::string& program_name,
                                                      const RunArguments& run) {
  const NamedSection* section = find_section(state, "program");
  if (section == nullptr) return {};
  const datalog::CompileOutcome compiled = compile_text(
      program_name, {reinterpret_cast<const char*>(section->data.data()), section->data.size()});
  if (!compiled.is_ok() || compiled.program->external_functors.empty()) return {};
  auto loaded = datalog::load_external_functions(
      *compiled.program, {.libraries = run.libraries, .directories = run.library_directories});
  if (loaded.is_ok()) return std::move(loaded).value();
  datalog::ExternalFunction refuse;
  refuse.plain = [status = loaded.status()](
                     std::span<const datalog::ExternalValue>) -> Result<datalog::ExternalValue> {
    return status;
  };
  return std::vector<datalog::ExternalFunction>(compiled.program->external_functors.size(), refuse);
}

Result<std::unique_ptr<Store>> open_asked(const WhyArguments& arguments) {
  auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok())
    return store.status().with_context(
        "only runs with --checkpoint DIR can be asked; the finished state is kept there");
  return store;
}

Result<Place> open_place(Store& store, const std::string& generation,
                         const WhyArguments& arguments) {
  Place place;
  STRATALOG_ASSIGN_OR_RETURN(place.state, inspect_generation(store, generation));
  RunArguments run;
  const auto program = complete_from_options_file(store, run);
  if (program.is_ok() && !program.value().empty()) place.options.program_name = program.value();
  place.options.max_instances = arguments.max_instances;
  if (!arguments.libraries.empty()) run.libraries = arguments.libraries;
  if (!arguments.library_directories.empty())
    run.library_directories = arguments.library_directories;
  place.externals = load_externals(place.state, place.options.program_name, run);
  place.options.externals = place.externals;
  return place;
}

// `answer(store, place)` is the text for standard output.
template <typename Answer>
ExitCode answer_question(const WhyArguments& arguments, const Answer& answer) {
  const auto store = open_asked(arguments);
  if (!store.is_ok()) return end_without_proof(store.status());
  const auto text =
      use_generation(*store.value(), arguments.generation,
                     [&](const std::string& generation) -> Result<std::string> {
                       STRATALOG_ASSIGN_OR_RETURN(
                           const Place place, open_place(*store.value(), generation, arguments));
                       return answer(*store.value(), place);
                     });
  return text.is_ok() ? end_with_result(text.value()) : end_without_proof(text.status());
}

}  // namespace

ExitCode why_command(const WhyArguments& arguments) {
  return answer_question(arguments, [&](Store& store, const Place& place) -> Result<std::string> {
    STRATALOG_ASSIGN_OR_RETURN(const auto proof,
                               datalog::why(store, place.state, arguments.goal, place.options));
    return arguments.style == OutputStyle::kText
               ? proof_text(proof, arguments.depth)
               : json_text(proof_json(proof, place.state.generation));
  });
}

ExitCode why_not_command(const WhyArguments& arguments) {
  return answer_question(arguments, [&](Store& store, const Place& place) -> Result<std::string> {
    STRATALOG_ASSIGN_OR_RETURN(const auto found,
                               datalog::why_not(store, place.state, arguments.goal, place.options));
    return arguments.style == OutputStyle::kText
               ? why_not_text(found)
               : json_text(why_not_json(found, place.state.generation));
  });
}

}  // namespace stratalog::cli
