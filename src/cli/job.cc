// SPDX-License-Identifier: Apache-2.0
#include "cli/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "checkpoint/node_stages.h"
#include "checkpoint/save_layout.h"
#include "cli/checkpoint_options_file.h"
#include "cli/console.h"
#include "cli/parallel_module.h"
#include "cli/program_source.h"
#include "cli/side_files.h"
#include "cli/stored_program.h"
#include "commit/store_file.h"
#include "commit/vocabulary.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/functors/shared_libraries.h"
#include "place/stage_plan.h"
#include "write/memory_store.h"
#include "write/public_files.h"

namespace stratalog::cli {

namespace {

using datalog::IoAction;
using datalog::IoDirective;

enum class Use : std::uint8_t { kNone, kConsole, kFiles };

Use use_of(const datalog::Program& program, IoAction action) {
  Use use = Use::kNone;
  for (const datalog::Relation& relation : program.relations) {
    for (const IoDirective& directive : relation.io) {
      if (directive.action != action) continue;
      const auto kind = directive.parameters.find("IO");
      const bool is_console =
          kind != directive.parameters.end() &&
          (kind->second == "stdin" || kind->second == "stdout" || kind->second == "json");
      use = std::max(use, is_console ? Use::kConsole : Use::kFiles);
    }
  }
  return use;
}

// As in Soufflé: with a line of attribute names.
void send_outputs_to_console(datalog::Program& program) {
  for (datalog::Relation& relation : program.relations) {
    for (IoDirective& directive : relation.io) {
      if (directive.action != IoAction::kOutput) continue;
      std::erase_if(directive.parameters, [](const auto& parameter) {
        return parameter.first == "filename" || parameter.first == "dbname" ||
               parameter.first == "format" || parameter.first == "compress";
      });
      directive.parameters["IO"] = "stdout";
      directive.parameters["headers"] = "true";
    }
  }
}

using Opener = Result<std::unique_ptr<Store>> (*)(const std::string& root, RootMode mode);

// The first rank may have to create the folder; the others then find it.
Result<std::unique_ptr<Store>> open_on_all(Comm& comm, const std::string& directory, RootMode mode,
                                           Opener open = open_posix_store) {
  const bool is_first = comm.rank() == 0;
  Result<std::unique_ptr<Store>> store = Status::internal("not opened yet");
  if (is_first) store = open(directory, mode);
  STRATALOG_RETURN_IF_ERROR(agree_in_own_words(comm, is_first ? store.status() : Status::ok()));
  if (!is_first) store = open(directory, RootMode::kMustExist);
  STRATALOG_RETURN_IF_ERROR(agree_in_own_words(comm, store.status()));
  return store;
}

// The engine asks for a folder even where everything goes through the console.
Result<std::unique_ptr<Store>> open_no_folder() {
  return open_memory_store(std::make_shared<MemoryDisk>());
}

// Rank 0. Before anything is computed: is the folder in the state that the policy asks for?
Status judge_folder(Store& store, const RunArguments& run) {
  // Of a resume, both have been looked at where its program was read.
  if (run.resume != datalog::ResumePolicy::kResume)
    STRATALOG_RETURN_IF_ERROR(check_unlocked(store));
  if (run.resume == datalog::ResumePolicy::kFresh ||
      run.resume == datalog::ResumePolicy::kResumeOrFresh)
    STRATALOG_RETURN_IF_ERROR(check_no_other_stage(run.checkpoint, run.stage));
  STRATALOG_ASSIGN_OR_RETURN(const auto generations, list_generations(store));
  const bool has_any =
      std::any_of(generations.begin(), generations.end(),
                  [](const auto& generation) { return was_committed(generation.condition); });
  switch (run.resume) {
    case datalog::ResumePolicy::kFresh:
      if (!has_any) return Status::ok();
      return Status::already_exists(
          fmt::format("there are checkpoints in {}; --resume goes on from the newest, "
                      "--restart-fresh starts over and "
                      "replaces them one by one",
                      run.checkpoint));
    case datalog::ResumePolicy::kFreshForced:
      return Status::ok();
    case datalog::ResumePolicy::kResumeOrFresh:
      return has_any ? choose_generation(store, run.generation).status() : Status::ok();
    case datalog::ResumePolicy::kResume:
      return choose_generation(store, run.generation).status();
  }
  return Status::ok();
}

Failure load_functors(Comm& comm, Job& job) {
  auto loaded = datalog::load_external_functions(
      job.program, {.libraries = job.run.libraries, .directories = job.run.library_directories});
  const Status agreed = agree_in_own_words(comm, loaded.status());
  if (!agreed.is_ok()) return {agreed, Part::kProgram};
  job.externals = std::move(loaded).value();
  return {};
}

// The folder of each node's stage; its lowest rank may have to create it.
Status make_stage_folder(Comm& comm, const RunArguments& run, const StageSeat& seat) {
  const std::string folder = stage_of_node(run.stage, seat.node);
  const auto made = seat.leads() ? open_posix_store(folder, RootMode::kCreate).status() : Status();
  STRATALOG_RETURN_IF_ERROR(agree_in_own_words(comm, made));
  Status there = open_posix_store(folder, RootMode::kMustExist).status();
  std::error_code unknown;
  if (there.is_ok() && std::filesystem::equivalent(folder, run.checkpoint, unknown))
    there = Status::invalid_argument(fmt::format(
        "--stage: {} is the checkpoint folder itself; name a folder on a quicker file system, or "
        "leave the option out",
        folder));
  return agree_in_own_words(comm, there);
}

// Puts the staging directory before the checkpoint folder. Where stages lie on several nodes, what
// an earlier job left there is brought home: nobody could read it where it is.
Result<std::unique_ptr<StagedStore>> open_stages(Comm& comm, std::unique_ptr<Store> home,
                                                 const RunArguments& run) {
  STRATALOG_ASSIGN_OR_RETURN(const Topology topology, comm.topology());
  const StageSeat seat = plan_stage_seat(topology.node_of_rank, comm.rank());
  STRATALOG_RETURN_IF_ERROR(make_stage_folder(comm, run, seat));
  auto staged = with_stage(std::move(home), run.stage, seat);
  if (!seat.spans_nodes()) return staged;
  STRATALOG_ASSIGN_OR_RETURN(const auto notes, recover_stages(comm, *staged, run.durability));
  // The same on all ranks.
  if (run.verbosity != Verbosity::kQuiet && comm.rank() == 0)
    for (const std::string& note : notes) tell(note + "\n");
  return staged;
}

Status open_stage(Comm& comm, Job& job) {
  STRATALOG_ASSIGN_OR_RETURN(const JobFacts facts, gather_job_facts(comm, *job.checkpoints));
  // The number of files is the save's: of other nodes after a restart it will be another one.
  STRATALOG_RETURN_IF_ERROR(
      plan_stage_files(job.run.mode, job.run.layout.files, facts.node_of_rank).status());
  STRATALOG_ASSIGN_OR_RETURN(auto staged, open_stages(comm, std::move(job.checkpoints), job.run));
  job.stage = staged.get();
  job.checkpoints = std::move(staged);
  return Status::ok();
}

// Before rank 0 looks for the generation to resume: the stages of several nodes give back what they
// have.
Status recover_before_resume(Comm& comm, RunArguments run) {
  STRATALOG_ASSIGN_OR_RETURN(const Topology topology, comm.topology());
  if (topology.nodes == 1) return Status::ok();
  if (comm.rank() == 0 && run.stage.empty()) {
    const auto home = open_posix_store(run.checkpoint, RootMode::kMustExist);
    if (home.is_ok()) run.stage = stage_in_options_file(*home.value());
  }
  const auto* data = reinterpret_cast<const std::byte*>(run.stage.data());
  Bytes stage(data, data + run.stage.size());
  STRATALOG_RETURN_IF_ERROR(comm.broadcast(stage, 0));
  if (stage.empty()) return Status::ok();
  run.stage.assign(reinterpret_cast<const char*>(stage.data()), stage.size());
  STRATALOG_ASSIGN_OR_RETURN(auto home, open_on_all(comm, run.checkpoint, RootMode::kMustExist));
  return open_stages(comm, std::move(home), run).status();
}

Failure open_folders(Comm& comm, Job& job) {
  RunArguments& run = job.run;
  if (Failure failure = load_functors(comm, job); !failure.status.is_ok()) return failure;
  std::error_code error;
  if (!run.stage.empty()) run.stage = std::filesystem::absolute(run.stage, error).string();
  const bool is_resume = run.resume == datalog::ResumePolicy::kResume;
  if (run.output == kConsoleName) send_outputs_to_console(job.program);
  if (!run.checkpoint.empty() && job.checkpoints == nullptr) {
    auto store =
        open_on_all(comm, run.checkpoint, is_resume ? RootMode::kMustExist : RootMode::kCreate);
    if (!store.is_ok()) return {store.status().with_context("--checkpoint"), Part::kCheckpoint};
    job.checkpoints = std::move(store).value();
    if (!run.stage.empty()) {
      const Status staged = open_stage(comm, job);
      if (!staged.is_ok()) return {staged.with_context("--stage"), Part::kCheckpoint};
    }
    const Status judged = comm.rank() == 0 ? judge_folder(*job.checkpoints, run) : Status::ok();
    const Status agreed = agree_in_own_words(comm, judged);
    if (!agreed.is_ok()) return {agreed, Part::kCheckpoint};
  }
  if (const Use use = use_of(job.program, IoAction::kInput); use != Use::kNone) {
    auto store =
        use == Use::kFiles ? open_on_all(comm, run.facts, RootMode::kMustExist) : open_no_folder();
    // As in Soufflé, all files of a folder that is not there are missing.
    if (run.missing_facts == MissingFacts::kEmpty && store.status().code() == StatusCode::kNotFound)
      store = open_no_folder();
    // A resumed program has its facts in the checkpoint.
    if (!store.is_ok() && !is_resume)
      return {store.status().with_context("fact folder"), Part::kFacts};
    if (store.is_ok()) job.facts = std::move(store).value();
  }
  if (!run.added_facts.empty()) {
    auto store = open_on_all(comm, run.added_facts, RootMode::kMustExist);
    if (!store.is_ok()) return {store.status().with_context("--add-facts"), Part::kFacts};
    job.added_facts = std::move(store).value();
  }
  if (const Use use = use_of(job.program, IoAction::kOutput); use != Use::kNone) {
    auto store = use == Use::kFiles
                     ? open_on_all(comm, run.output, RootMode::kCreate, open_public_store)
                     : open_no_folder();
    if (!store.is_ok()) return {store.status().with_context("output folder"), Part::kOutput};
    job.output = std::move(store).value();
    const Status writable =
        datalog::check_outputs(comm, *job.output, job.program, {.hdf5 = write_hdf5_by_module});
    if (!writable.is_ok()) return {writable, Part::kOutput};
  }
  if (job.run.report_file.empty() && job.run.profile_file.empty()) return {};
  const Status beside = comm.rank() == 0 ? check_side_files(job) : Status::ok();
  const Status agreed = agree_in_own_words(comm, beside);
  return {agreed, agreed.code() == StatusCode::kIoError ? Part::kOutput : Part::kProgram};
}

std::vector<std::string> pragma_values(const datalog::Program& program, std::string_view name) {
  std::vector<std::string> values;
  for (const datalog::Pragma& pragma : program.pragmas)
    if (pragma.name == name) values.push_back(pragma.value);
  return values;
}

// What neither the command line nor (resuming) the checkpoint says: as the program's pragmas do,
// else the current folder.
void complete_from_pragmas(const datalog::Program& program, RunArguments& run) {
  const auto fill_path = [&](std::string& path, std::string_view name) {
    const std::vector<std::string> values = pragma_values(program, name);
    if (path.empty() && !values.empty()) path = values.back();
    if (path.empty()) path = ".";
  };
  fill_path(run.facts, "fact-dir");
  fill_path(run.output, "output-dir");
  if (run.libraries.empty()) run.libraries = pragma_values(program, "libraries");
  if (run.library_directories.empty())
    run.library_directories = pragma_values(program, "library-dir");
}

// Whether all output goes to the console, where formats of files do not matter.
bool prints_outputs(const datalog::CompileOutcome& outcome, RunArguments run) {
  if (outcome.is_ok()) complete_from_pragmas(*outcome.program, run);
  return run.output == kConsoleName;
}

// What resume found out on rank 0 and the other ranks need.
std::string resume_options_text(const RunArguments& run, const std::string& program_name) {
  nlohmann::json options = options_object(program_name, run);
  options["generation"] = run.generation;
  return options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void take_resume_options(std::string_view text, Job& job) {
  const nlohmann::json options = nlohmann::json::parse(text, nullptr, false);
  if (!options.is_object()) return;
  RunArguments& run = job.run;
  run.facts = path_member(options, "facts", run.facts);
  run.output = path_member(options, "output", run.output);
  if (options.value("missing_facts", "") == "empty") run.missing_facts = MissingFacts::kEmpty;
  run.libraries = paths_member(options, "libraries");
  run.library_directories = paths_member(options, "library_directories");
  run.stage = path_member(options, "stage", run.stage);
  run.every.iterations = options.value("every_iterations", run.every.iterations);
  run.every.seconds = options.value("every_seconds", run.every.seconds);
  run.every.most_share = options.value("most_share", run.every.most_share);
  run.mode = parse_mode(options.value("mode", "")).value_or(run.mode);
  take_layout_text(options.value("layout", ""), run.layout);
  run.encoding = parse_encoding(options.value("encoding", "")).value_or(run.encoding);
  run.durability = parse_durability(options.value("durability", "")).value_or(run.durability);
  run.keep_generations = options.value("keep_generations", run.keep_generations);
  run.whole_every = options.value("full_every", run.whole_every);
  if (options.value("compaction", "") == "none") run.folding = Folding::kNo;
  run.mtbf_seconds = options.value("mtbf_seconds", run.mtbf_seconds);
  run.generation = options.value("generation", run.generation);
  job.program_name = options.value("program", job.program_name);
}

// Rank 0: what the generation to resume says of itself; where none is named, the newest one that
// can be read. Newer ones are damaged, which loading will find, too, and tell.
Result<StoredState> read_state(Store& store, const std::string& wanted) {
  STRATALOG_ASSIGN_OR_RETURN(const std::string newest, choose_generation(store, wanted));
  Result<StoredState> state = inspect_generation(store, newest);
  if (!wanted.empty() || state.status().code() != StatusCode::kCorruption) return state;
  STRATALOG_ASSIGN_OR_RETURN(const auto generations, list_generations(store));
  for (const GenerationSummary& generation : generations) {
    if (generation.condition != GenerationCondition::kValid || generation.name == newest) continue;
    Result<StoredState> older = inspect_generation(store, generation.name);
    if (older.is_ok()) return older;
  }
  return state;
}

// Rank 0: the program of the generation to resume; completes job.run.
Result<datalog::CompileOutcome> read_stored(Job& job) {
  RunArguments& run = job.run;
  STRATALOG_ASSIGN_OR_RETURN(const auto store, open_checkpoint_folder(run.checkpoint, run.stage));
  STRATALOG_RETURN_IF_ERROR(check_unlocked(*store));
  if (!run.stage.empty())
    STRATALOG_RETURN_IF_ERROR(check_no_other_stage(run.checkpoint, run.stage));
  STRATALOG_ASSIGN_OR_RETURN(const StoredState state, read_state(*store, run.generation));
  if (!run.has_mode) run.mode = state.mode;
  if (!run.has_durability) run.durability = state.durability;
  STRATALOG_ASSIGN_OR_RETURN(job.program_name, complete_from_options_file(*store, run));
  if (job.program_name.empty() && run.verbosity != Verbosity::kQuiet)
    tell(
        fmt::format("note: {}/options.json is missing: the run goes on with the options of the "
                    "command line alone\n",
                    run.checkpoint));
  STRATALOG_RETURN_IF_ERROR(check_encoding(run));
  STRATALOG_RETURN_IF_ERROR(check_layout(run));
  STRATALOG_ASSIGN_OR_RETURN(datalog::Program program, stored_program(state, job.program_name));
  complete_from_pragmas(program, run);
  if (job.program_name.empty()) job.program_name = "program";
  datalog::CompileOutcome outcome;
  outcome.program = std::move(program);
  return outcome;
}

}  // namespace

Failure prepare_run(Comm& comm, const Invocation& invocation, Job& job) {
  job.run = invocation.run;
  job.program_name = invocation.program.file;
  Result<datalog::CompileOutcome> compiled = Status::internal("compiled on rank 0 only");
  if (comm.rank() == 0) {
    compiled = compile_file(invocation.program);
    if (compiled.is_ok())
      add_format_problems(compiled.value(), invocation.program,
                          prints_outputs(compiled.value(), job.run) ? CheckedFormats::kInputs
                                                                    : CheckedFormats::kAll);
    if (compiled.is_ok() && (job.run.verbosity != Verbosity::kQuiet || !compiled.value().is_ok())) {
      tell(datalog::render_all(compiled.value().diagnostics));
    }
  }
  auto program = share_program(comm, job.program_name, std::move(compiled));
  if (!program.is_ok()) return {program.status(), Part::kProgram};
  job.program = std::move(program).value();
  complete_from_pragmas(job.program, job.run);
  return open_folders(comm, job);
}

Failure prepare_resume(Comm& comm, const Invocation& invocation, Job& job) {
  job.run = invocation.run;
  const Status recovered = recover_before_resume(comm, job.run);
  if (!recovered.is_ok()) return {recovered, Part::kCheckpoint};
  Result<datalog::CompileOutcome> stored = Status::internal("read on rank 0 only");
  if (comm.rank() == 0) stored = read_stored(job);
  auto program = share_program(comm, job.program_name, std::move(stored));
  if (!program.is_ok()) return {program.status(), Part::kCheckpoint};
  job.program = std::move(program).value();
  std::string options = resume_options_text(job.run, job.program_name);
  const auto* data = reinterpret_cast<const std::byte*>(options.data());
  Bytes bytes(data, data + options.size());
  const Status shared = comm.broadcast(bytes, 0);
  if (!shared.is_ok()) return {shared, Part::kRun};
  take_resume_options({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, job);
  return open_folders(comm, job);
}

}  // namespace stratalog::cli
