// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>
#include <utility>

#include "datalog/language/spelling.h"
#include "policy/plan_layout.h"

namespace stratalog::cli {

namespace {

// Arguments that need more than CLI11's own checks, as they were typed.
struct RawArguments {
  std::vector<std::string> every;
  std::string memory_limit;
  std::string ladder;
  std::string alignment;
  std::string mtbf;
  bool wants_resume = false;
  bool wants_fresh = false;
  bool no_overlap = false;
  bool is_quiet = false;
  bool is_verbose = false;
  std::string progress;  // as given after --progress=
  bool wants_no_progress = false;
  bool no_pivot = false;
  bool no_sets = false;
  bool is_json = false;
  bool is_deep = false;
  std::vector<std::string> export_places;  // DIR [GENERATION] OUT
  std::vector<std::string> goal_places;  // DIR [GENERATION] TUPLE
};

const std::map<std::string, ShardEncoding> kEncodings = {{"compact", ShardEncoding::kCompact},
                                                         {"streams", ShardEncoding::kStreams},
                                                         {"rows_u64", ShardEncoding::kRowsU64},
                                                         {"auto", ShardEncoding::kAuto}};
const std::map<std::string, Durability> kDurabilities = {
    {"full", Durability::kFull}, {"data", Durability::kData}, {"none", Durability::kNone}};
const std::map<std::string, ExportFormat> kFormats = {
    {"tsv", ExportFormat::kTsv},
    {"hdf5", ExportFormat::kHdf5},
    {"hdf5-streams", ExportFormat::kHdf5Streams},
    {"hdf5-streams-blosc", ExportFormat::kHdf5StreamsBlosc}};
const std::map<std::string, RelationVersion> kVersions = {{"total", RelationVersion::kTotal},
                                                          {"delta", RelationVersion::kDelta}};

constexpr const char* kFooter =
    R"(Exit codes: 0 done; 1 wrong command line or program; 2 facts; 3 checkpoints exist but none is valid;
4 input/output or disk full; 5 memory limit reached; 6 stopped on a signal after a checkpoint;
7 nothing to resume, or checkpoints in the way; 8 internal error.)";

std::map<std::string, CheckpointMode> modes_by_name() {
  std::map<std::string, CheckpointMode> modes;
  for (const CheckpointMode mode : all_modes()) modes.emplace(mode_name(mode), mode);
  return modes;
}

void add_layout_options(CLI::App* app, RunArguments& run, RawArguments& raw) {
  const std::string group = "Layout of checkpoints";
  app->add_option("--hdf5-opt", raw.ladder,
                  "steps of mode hdf5-opt: all, none, O1,O3,..., printed:O3, printed (default all)")
      ->option_text("STEPS")
      ->group(group);
  app->add_option("--files", run.layout.files,
                  "spread the ranks over N shared files; whole nodes stay together")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(group);
  app->add_option("--relations-per-file", run.layout.relations_per_file,
                  "relation versions in one file (default 1; all in the hdf5 modes)")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(group);
  app->add_option("--align", raw.alignment,
                  "where ranks' parts of shared files are cut, e.g. 1M (default: as the file "
                  "system needs)")
      ->option_text("SIZE")
      ->group(group);
  app->add_option("--aggregators", run.layout.aggregators,
                  "ranks that write in shared-opt and hdf5-opt (default: by size)")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(group);
  app->add_option("--deflate", run.layout.deflate_level,
                  "level of hdf5-opt's chunks (default 1, and none on a local disk)")
      ->check(CLI::Range(1U, 9U))
      ->option_text("LEVEL")
      ->group(group);
}

void add_program(CLI::App* app, ProgramArguments& program) {
  app->add_option("PROGRAM", program.file, "the Datalog program (.dl); - reads standard input")
      ->required();
  app->add_option("-I,--include-dir", program.include_directories,
                  "folder searched by #include; may be repeated")
      ->allow_extra_args(false);
  app->add_option("-M,--macro", program.macros,
                  "NAME or NAME=VALUE for the preprocessor; may be repeated")
      ->allow_extra_args(false);
}

void add_run_options(CLI::App* app, RunArguments& run, RawArguments& raw) {
  const std::string checkpoints = "Checkpoints";
  app->add_option("--every", raw.every,
                  "interval: 400it, 60s, 5m, both as 400it,60s, or auto with --mtbf (default 60s)")
      ->allow_extra_args(false)
      ->group(checkpoints);
  app->add_option("--mtbf", raw.mtbf,
                  "with --every auto: how often the machine fails on average, e.g. 24h")
      ->option_text("TIME")
      ->group(checkpoints);
  app->add_option("--stage", run.stage,
                  "write checkpoints to this folder first and drain them to the checkpoint folder "
                  "beside the run; any mode, ranks on one node")
      ->option_text("DIR")
      ->group(checkpoints);
  app->add_option("--mode,--layout", run.mode,
                  "fpp (a file per process), shared, shared-opt (MPI-IO), hdf5, hdf5-opt, "
                  "hdf5-direct, or auto: chosen by what checkpoints cost (default fpp)")
      ->transform(CLI::CheckedTransformer(modes_by_name(), CLI::ignore_case).description(""))
      ->option_text("MODE")
      ->group(checkpoints);
  app->add_option("--encoding", run.encoding,
                  "of modes fpp, shared and shared-opt: compact, streams, auto (the better of the "
                  "two, block by block; with mode auto whichever is quickest) or rows_u64 (default "
                  "compact; with "
                  "mode auto: auto)")
      ->transform(CLI::CheckedTransformer(kEncodings, CLI::ignore_case).description(""))
      ->option_text("ENCODING")
      ->group(checkpoints);
  app->add_option("--durability", run.durability,
                  "full, data or none: what is fsynced (default full)")
      ->transform(CLI::CheckedTransformer(kDurabilities, CLI::ignore_case).description(""))
      ->option_text("LEVEL")
      ->group(checkpoints);
  app->add_option("--keep", run.keep_generations, "how many generations stay (default 2)")
      ->check(CLI::Range(2U, 1000000U))
      ->option_text("N")
      ->group(checkpoints);
  app->add_option("--full-every", run.whole_every,
                  "every N-th generation is whole, the others hold what is new; 1: all are "
                  "(default: by size)")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(checkpoints);
  app->add_flag("--no-overlap", raw.no_overlap,
                "hold the evaluation up while a checkpoint is written")
      ->group(checkpoints);
  add_layout_options(app, run, raw);
  app->add_option("-F,--fact-dir", run.facts, "folder with the fact files")->option_text("DIR");
  app->add_option("-D,--output-dir", run.output, "folder for .output files; - prints them")
      ->option_text("DIR");
  app->add_option("--ranks", run.ranks,
                  "start N ranks with mpiexec (found by MPIEXEC, or on the PATH)")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app->add_option("-j,--jobs", run.threads,
                  "N ranks that are threads of this process, without MPI (default 1)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  app->add_option("--memory-limit", raw.memory_limit,
                  "end with an error before a rank's relations exceed this, e.g. 4G")
      ->option_text("SIZE");
  app->add_option("--report", run.report_file,
                  "write what the run did and where the time went, as JSON")
      ->option_text("FILE");
  app->add_option("--profile", run.profile_file,
                  "write where the time went, rule by rule, for `stratalog profile`")
      ->option_text("FILE");
  app->add_flag("-q,--quiet", raw.is_quiet, "print results and errors only");
  app->add_flag("-v,--verbose", raw.is_verbose,
                "a line for each finished stratum, also into a pipe");
  app->add_flag("--progress{live}", raw.progress,
                "live view even if standard error is no terminal; =json: lines of JSON instead");
  app->add_flag("--no-progress", raw.wants_no_progress, "no live view");
  const std::string engine = "Engine";
  app->add_option(
         "-l,--library", run.libraries,
         "shared library with functions of .functor: NAME for libNAME.so, or a file with a "
         "slash (default functors)")
      ->allow_extra_args(false)
      ->option_text("NAME")
      ->group(engine);
  app->add_option("-L,--library-dir", run.library_directories,
                  "folder of such libraries (default .)")
      ->allow_extra_args(false)
      ->option_text("DIR")
      ->group(engine);
  app->add_option("--replicate-limit", run.replicate_limit_rows,
                  "static relations up to so many rows are copied to all ranks")
      ->option_text("ROWS")
      ->group(engine);
  app->add_option("--mirror-limit", run.mirror_limit_rows,
                  "growing relations of a recursion are kept on every rank while all copies "
                  "together hold fewer rows (default 32 Mi; 0: never)")
      ->option_text("ROWS")
      ->group(engine);
  app->add_flag("--no-pivot", raw.no_pivot, "do not run decomposable recursion by pivot values")
      ->group(engine);
  app->add_flag("--no-sets", raw.no_sets, "do not move whole sets; tuple by tuple")->group(engine);
}

void add_run(CLI::App& app, Invocation& invocation, RawArguments& raw) {
  CLI::App* run = app.add_subcommand("run", "evaluate a program");
  add_program(run, invocation.program);
  run->add_option("--checkpoint", invocation.run.checkpoint, "write checkpoints into this folder")
      ->option_text("DIR")
      ->group("Checkpoints");
  auto* resume = run->add_flag("--resume", raw.wants_resume,
                               "go on from the newest checkpoint; start fresh if there is none")
                     ->group("Checkpoints");
  run->add_flag("--restart-fresh", raw.wants_fresh,
                "start from the facts although there are checkpoints")
      ->excludes(resume)
      ->group("Checkpoints");
  add_run_options(run, invocation.run, raw);
}

void add_resume(CLI::App& app, Invocation& invocation, RawArguments& raw) {
  CLI::App* resume =
      app.add_subcommand("resume", "go on from a checkpoint; program and folders are read from it");
  resume->add_option("DIR", invocation.run.checkpoint, "the checkpoint folder")->required();
  resume->add_option("GENERATION", invocation.run.generation, "this one instead of the newest");
  resume
      ->add_option("--add-facts", invocation.run.added_facts,
                   "folder with new facts only, in files named as the program's .input says: the "
                   "finished run takes them in")
      ->option_text("DIR");
  add_run_options(resume, invocation.run, raw);
}

void add_compact(CLI::App& app, RunArguments& run) {
  CLI::App* compact = app.add_subcommand(
      "compact", "write the newest checkpoint anew, as one that needs no older ones");
  compact->add_option("DIR", run.checkpoint, "the checkpoint folder")->required();
  compact->add_option("--mode,--layout", run.mode, "another layout than it has; modes as in run")
      ->transform(CLI::CheckedTransformer(modes_by_name(), CLI::ignore_case).description(""))
      ->option_text("MODE");
  compact
      ->add_option("--encoding", run.encoding,
                   "of modes fpp, shared and shared-opt: compact, streams, auto (the better of the "
                   "two, block by block) or rows_u64 (default compact)")
      ->transform(CLI::CheckedTransformer(kEncodings, CLI::ignore_case).description(""))
      ->option_text("ENCODING");
  compact->add_option("--durability", run.durability, "full, data or none (default full)")
      ->transform(CLI::CheckedTransformer(kDurabilities, CLI::ignore_case).description(""))
      ->option_text("LEVEL");
  compact->add_option("--keep", run.keep_generations, "checkpoints to keep, at least 2 (default 2)")
      ->check(CLI::Range(2U, 1000000U).description(""))
      ->option_text("N");
}

CLI::App* add_stored(CLI::App& app, const char* name, const char* text, StoredArguments& stored,
                     RawArguments& raw) {
  CLI::App* command = app.add_subcommand(name, text);
  command->add_option("DIR", stored.directory, "the checkpoint folder")->required();
  command->add_flag("--json", raw.is_json, "print JSON");
  return command;
}

void add_generation(CLI::App* command, StoredArguments& stored) {
  command->add_option("GENERATION", stored.generation, "which one (default: the newest valid one)");
}

void add_store_commands(CLI::App& app, StoredArguments& stored, RawArguments& raw) {
  add_stored(app, "ls", "list the generations of a checkpoint folder", stored, raw)
      ->add_flag("--why", stored.why, "say why a generation is not valid");
  CLI::App* inspect = add_stored(app, "inspect", "what a generation holds", stored, raw);
  add_generation(inspect, stored);
  inspect->add_flag("--why", stored.why, "say why it is laid out as it is");
  CLI::App* verify = add_stored(app, "verify", "check a generation", stored, raw);
  add_generation(verify, stored);
  verify->add_flag("--deep", raw.is_deep, "decode every block and recompute every hash");
  CLI::App* write =
      app.add_subcommand("export", "write a relation of a checkpoint to a file, values decoded");
  write
      ->add_option("PLACES", raw.export_places,
                   "DIR [GENERATION] OUT: the checkpoint folder, which generation (default: the "
                   "newest valid one), and the file to write (- is standard output, tsv only)")
      ->expected(1, 3)
      ->required()
      ->option_text("DIR [GENERATION] OUT");
  write->add_flag("--json", raw.is_json, "print JSON about what was written");
  write->add_option("--relation", stored.relation, "which relation")
      ->required()
      ->option_text("NAME");
  write
      ->add_option("--where", stored.where,
                   "COLUMN=VALUE, of numbers also COLUMN=LOW:HIGH (HIGH not included): only such "
                   "tuples; may be repeated")
      ->allow_extra_args(false)
      ->option_text("COLUMN=KEY");
  write
      ->add_option("--version", stored.version,
                   "total, or delta: what the last round added (default total)")
      ->transform(CLI::CheckedTransformer(kVersions).description(""))
      ->option_text("WHICH");
  write
      ->add_option("--to", stored.format,
                   "tsv, hdf5 (columns), hdf5-streams (sorted, small: shuffle + deflate) or "
                   "hdf5-streams-blosc (shuffle + LZ4, needs blosc's HDF5 plugin); default tsv")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->option_text("FORMAT");
}

void add_program_commands(CLI::App& app, Invocation& invocation, RawArguments& raw) {
  CLI::App* check = app.add_subcommand("check", "report the errors of a program, and nothing else");
  add_program(check, invocation.program);
  check->add_flag("--json", raw.is_json, "print JSON");
  CLI::App* explain = app.add_subcommand(
      "explain", "how a program will be run: strata, indices, join orders, and why");
  add_program(explain, invocation.program);
  explain
      ->add_option("-F,--fact-dir", invocation.facts,
                   "plan for the sizes of the fact files in this folder")
      ->option_text("DIR");
  explain->add_flag("--no-pivot", raw.no_pivot, "as in run");
  explain->add_flag("--no-sets", raw.no_sets, "as in run");
  explain->add_flag("--json", raw.is_json, "print JSON");
}

CLI::App* add_goal(CLI::App& app, const char* name, const char* text, RawArguments& raw) {
  CLI::App* command = app.add_subcommand(name, text);
  command
      ->add_option("PLACES", raw.goal_places,
                   "DIR [GENERATION] TUPLE: the checkpoint folder, which generation (default: the "
                   "newest valid one), and a tuple such as 'path(3, 17)'")
      ->expected(2, 3)
      ->required()
      ->option_text("DIR [GENERATION] TUPLE");
  command->add_flag("--json", raw.is_json, "print JSON");
  return command;
}

void add_questions(CLI::App& app, WhyArguments& why, RawArguments& raw) {
  CLI::App* proof = add_goal(app, "why", "how a tuple of a checkpoint is derived", raw);
  proof->add_option("--depth", why.depth, "levels of the tree to print (default 40; 0 prints all)")
      ->option_text("N");
  proof
      ->add_option("--limit", why.max_instances,
                   "give up after so many ways to apply rules (default 5000000)")
      ->option_text("N");
  add_goal(app, "why-not", "where each rule that could derive a tuple fails", raw);
}

void add_profile(CLI::App& app, ProfileArguments& profile) {
  CLI::App* command = app.add_subcommand("profile", "turn a profile into a page with charts");
  command->add_option("FILE", profile.file, "what run --profile wrote")->required();
  command->add_option("-o,--output", profile.page, "the page to write; - is standard output")
      ->required()
      ->option_text("PAGE.html");
}

// The front has options of its own, --help included.
void add_bench(CLI::App& app) {
  app.add_subcommand("bench", "measure: bench checkpoint --help")
      ->prefix_command()
      ->set_help_flag();
}

const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> kCommands = {
      {"run", Command::kRun},         {"resume", Command::kResume},  {"check", Command::kCheck},
      {"explain", Command::kExplain}, {"ls", Command::kList},        {"inspect", Command::kInspect},
      {"verify", Command::kVerify},   {"export", Command::kExport},  {"profile", Command::kProfile},
      {"why", Command::kWhy},         {"why-not", Command::kWhyNot}, {"bench", Command::kBench},
      {"compact", Command::kCompact}};
  return kCommands;
}

// A message if the first word is no command, else nothing.
std::string complain_about_first_word(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return {};
  const std::string& word = arguments.front();
  if (commands().contains(word)) return {};
  if (word.ends_with(".dl")) {
    return fmt::format("'{0}' is no command; to evaluate a program: stratalog run {0}", word);
  }
  std::vector<std::string> names;
  names.reserve(commands().size());
  for (const auto& [name, command] : commands()) names.push_back(name);
  const std::string near = datalog::language::suggest(word, names);
  if (!near.empty()) return fmt::format("'{}' is no command; {}", word, near);
  return fmt::format("'{}' is no command; the commands are {}", word, fmt::join(names, ", "));
}

void note_given(const CLI::App& app, RunArguments& run) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (command->get_option_no_throw("--mode") != nullptr)
      run.has_mode = command->count("--mode") > 0;
    if (command->get_option_no_throw("--encoding") != nullptr)
      run.has_encoding = command->count("--encoding") > 0;
    if (command->get_option_no_throw("--every") == nullptr) return;
    run.has_every = command->count("--every") > 0;
    run.has_durability = command->count("--durability") > 0;
    run.has_keep = command->count("--keep") > 0;
    run.has_whole_every = command->count("--full-every") > 0;
    for (const char* option :
         {"--hdf5-opt", "--files", "--relations-per-file", "--align", "--aggregators", "--deflate"})
      run.has_layout = run.has_layout || command->count(option) > 0;
    run.has_replicate_limit = command->count("--replicate-limit") > 0;
    run.has_mirror_limit = command->count("--mirror-limit") > 0;
  }
}

Status check_layout(const RawArguments& raw, RunArguments& run) {
  if (!raw.ladder.empty()) {
    auto ladder = parse_ladder(raw.ladder);
    if (!ladder.is_ok()) return ladder.status().with_context("--hdf5-opt");
    run.layout.ladder = ladder.value();
  }
  if (!raw.alignment.empty()) {
    auto alignment = parse_size(raw.alignment);
    if (!alignment.is_ok()) return alignment.status().with_context("--align");
    run.layout.alignment = alignment.value();
  }
  LayoutWishes wishes = run.layout;
  // What auto may choose takes all wishes.
  wishes.mode = run.mode == CheckpointMode::kAuto ? CheckpointMode::kSharedOpt : run.mode;
  const auto plan = plan_layout({}, wishes);
  // Modes and wishes of a resumed run are complete only when its checkpoint has been read.
  return run.checkpoint.empty() || run.has_mode ? plan.status() : Status::ok();
}

Status check_run(const RawArguments& raw, RunArguments& run, Command command) {
  STRATALOG_ASSIGN_OR_RETURN(run.every, parse_intervals(raw.every));
  if (!run.has_every) run.every.seconds = 60;
  STRATALOG_RETURN_IF_ERROR(check_layout(raw, run));
  if (run.every.is_automatic == raw.mtbf.empty())
    return Status::invalid_argument("--every auto and --mtbf TIME belong together");
  if (!raw.mtbf.empty()) {
    auto mtbf = parse_duration(raw.mtbf);
    if (!mtbf.is_ok()) return mtbf.status().with_context("--mtbf");
    run.mtbf_seconds = mtbf.value();
  }
  if (!raw.memory_limit.empty()) {
    auto limit = parse_size(raw.memory_limit);
    if (!limit.is_ok()) return limit.status().with_context("--memory-limit");
    run.memory_limit_bytes = limit.value();
  }
  if (run.threads > 1 && run.ranks > 0)
    return Status::invalid_argument(
        "--jobs and --ranks exclude each other: ranks are threads of one process, or processes");
  if (raw.is_quiet && raw.is_verbose)
    return Status::invalid_argument("--quiet and --verbose exclude each other");
  if (!raw.progress.empty() && raw.progress != "live" && raw.progress != "json") {
    return Status::invalid_argument(
        fmt::format("--progress={} is not known; it is --progress (a live view) or --progress=json "
                    "(a line of JSON for each step)",
                    raw.progress));
  }
  if (!raw.progress.empty() && raw.wants_no_progress) {
    return Status::invalid_argument("--progress and --no-progress exclude each other");
  }
  // Mode auto chooses the encoding, too, unless it is told.
  if (run.mode == CheckpointMode::kAuto && !run.has_encoding) run.encoding = ShardEncoding::kAuto;
  if (command == Command::kResume) {
    run.resume = datalog::ResumePolicy::kResume;
    return run.has_mode ? check_encoding(run) : Status::ok();
  }
  STRATALOG_RETURN_IF_ERROR(check_encoding(run));
  if (raw.wants_resume) run.resume = datalog::ResumePolicy::kResumeOrFresh;
  if (raw.wants_fresh) run.resume = datalog::ResumePolicy::kFreshForced;
  if (run.checkpoint.empty()) {
    const char* needs = nullptr;
    if (raw.wants_fresh) needs = "--restart-fresh";
    if (raw.wants_resume) needs = "--resume";
    if (run.has_every) needs = "--every";
    if (run.has_mode) needs = "--mode";
    if (run.has_encoding) needs = "--encoding";
    if (run.has_durability) needs = "--durability";
    if (run.has_keep) needs = "--keep";
    if (run.has_whole_every) needs = "--full-every";
    if (run.has_layout) needs = "a layout option";
    if (needs != nullptr) {
      return Status::invalid_argument(fmt::format("{} needs --checkpoint DIR", needs));
    }
  }
  return Status::ok();
}

Status finish(const CLI::App& app, const RawArguments& raw, Invocation& invocation) {
  invocation.command = commands().at(app.get_subcommands().front()->get_name());
  RunArguments& run = invocation.run;
  note_given(app, run);
  run.allow_pivot = !raw.no_pivot;
  run.allow_sets = !raw.no_sets;
  run.may_overlap = !raw.no_overlap;
  if (raw.is_quiet) run.verbosity = Verbosity::kQuiet;
  if (raw.is_verbose) run.verbosity = Verbosity::kVerbose;
  if (!raw.progress.empty()) run.live_view = LiveViewMode::kAlways;
  if (raw.wants_no_progress || raw.is_quiet) run.live_view = LiveViewMode::kNever;
  if (raw.progress == "json") run.live_view = LiveViewMode::kJson;
  invocation.style = raw.is_json ? OutputStyle::kJson : OutputStyle::kText;
  invocation.stored.style = invocation.style;
  if (raw.is_deep) invocation.stored.depth = VerifyDepth::kContent;
  if (invocation.command == Command::kBench)
    invocation.bench = app.get_subcommands().front()->remaining();
  if (invocation.command == Command::kRun || invocation.command == Command::kResume) {
    return check_run(raw, run, invocation.command);
  }
  if (!raw.goal_places.empty()) {
    invocation.why.directory = raw.goal_places.front();
    invocation.why.goal = raw.goal_places.back();
    if (raw.goal_places.size() == 3) invocation.why.generation = raw.goal_places[1];
    invocation.why.style = invocation.style;
  }
  if (invocation.command == Command::kExport) {
    if (raw.export_places.size() < 2) {
      return Status::invalid_argument("export needs two places: DIR [GENERATION] OUT");
    }
    invocation.stored.directory = raw.export_places.front();
    invocation.stored.target = raw.export_places.back();
    if (raw.export_places.size() == 3) invocation.stored.generation = raw.export_places[1];
  }
  if (invocation.command == Command::kExport && invocation.stored.format != ExportFormat::kTsv &&
      invocation.stored.target == "-") {
    return Status::invalid_argument("HDF5 cannot be written to standard output; name a file");
  }
  return Status::ok();
}

ParsedCommandLine refuse(const std::string& message) {
  ParsedCommandLine parsed;
  parsed.exit_code = ExitCode::kProgram;
  parsed.standard_error = fmt::format("stratalog: {}\n", message);
  return parsed;
}

}  // namespace

Status check_encoding(const RunArguments& run) {
  if (!run.has_encoding || !stores_rows(run.mode) || run.encoding == ShardEncoding::kRowsU64)
    return Status::ok();
  return Status::invalid_argument(fmt::format(
      "--encoding {} is for modes fpp, shared and shared-opt; {} stores rows of 64-bit numbers, "
      "so that HDF5's tools can read them",
      encoding_name(run.encoding), mode_name(run.mode)));
}

ParsedCommandLine parse_command_line(const std::vector<std::string>& arguments) {
  const std::string complaint = complain_about_first_word(arguments);
  if (!complaint.empty()) return refuse(complaint);
  Invocation invocation;
  RawArguments raw;
  CLI::App app{"Stratalog: Datalog on many ranks, with checkpoints that survive crashes",
               "stratalog"};
  app.set_version_flag("--version", "stratalog " STRATALOG_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  add_run(app, invocation, raw);
  add_resume(app, invocation, raw);
  add_program_commands(app, invocation, raw);
  add_store_commands(app, invocation.stored, raw);
  add_compact(app, invocation.run);
  add_profile(app, invocation.profile);
  add_questions(app, invocation.why, raw);
  add_bench(app);
  // CLI11 reports by exceptions; they end here.
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& problem) {
    std::ostringstream out;
    std::ostringstream err;
    ParsedCommandLine parsed;
    const int code = app.exit(problem, out, err);
    parsed.exit_code = code == 0 ? ExitCode::kDone : ExitCode::kProgram;
    parsed.standard_output = out.str();
    parsed.standard_error = code == 0 ? err.str() : fmt::format("stratalog: {}", err.str());
    return parsed;
  }
  const Status finished = finish(app, raw, invocation);
  if (!finished.is_ok()) return refuse(finished.message());
  ParsedCommandLine parsed;
  parsed.invocation = std::move(invocation);
  return parsed;
}

}  // namespace stratalog::cli
