// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>

#include "cli/option_words.h"
#include "policy/plan_layout.h"
#include "read/usable_cores.h"

namespace stratalog::cli {

namespace {

const Words<ShardEncoding> kEncodings = {{"compact", ShardEncoding::kCompact},
                                         {"streams", ShardEncoding::kStreams},
                                         {"rows_u64", ShardEncoding::kRowsU64},
                                         {"auto", ShardEncoding::kAuto}};
const Words<Durability> kDurabilities = {
    {"full", Durability::kFull}, {"data", Durability::kData}, {"none", Durability::kNone}};
const Words<Folding> kFoldings = {{"auto", Folding::kAllowed}, {"none", Folding::kNo}};
const Words<datalog::AtEnd> kAtEnd = {{"save", datalog::AtEnd::kSave},
                                      {"skip", datalog::AtEnd::kSkip}};

const Words<datalog::ExchangeTime> kExchangeTimes = {{"auto", datalog::ExchangeTime::kAuto},
                                                     {"beside", datalog::ExchangeTime::kBeside},
                                                     {"after", datalog::ExchangeTime::kAfter}};

Words<CheckpointMode> modes_by_name() {
  Words<CheckpointMode> modes;
  for (const CheckpointMode mode : all_modes()) modes.emplace_back(mode_name(mode), mode);
  return modes;
}

// Which modes have a use for a layout option. --files is the policy's to judge.
struct LayoutOptionUse {
  const char* option;
  const char* modes;  // as a refusal names them
  bool (*is_for)(CheckpointMode mode);
};
constexpr LayoutOptionUse kLayoutOptionUses[] = {
    {"--hdf5-opt", "mode hdf5-opt",
     [](CheckpointMode mode) { return mode == CheckpointMode::kHdf5Opt; }},
    {"--deflate", "modes hdf5-opt, hdf5-streams and hdf5-auto",
     [](CheckpointMode mode) {
       return mode == CheckpointMode::kHdf5Opt || mode == CheckpointMode::kHdf5Streams ||
              mode == CheckpointMode::kHdf5Auto;
     }},
    {"--aggregators", "modes shared-opt, hdf5-opt, auto and hdf5-auto",
     [](CheckpointMode mode) {
       return mode == CheckpointMode::kSharedOpt || mode == CheckpointMode::kHdf5Opt ||
              is_learned(mode);
     }},
    {"--align", "modes shared, shared-opt, hdf5-opt, hdf5-direct, hdf5-streams, auto and hdf5-auto",
     [](CheckpointMode mode) {
       return mode != CheckpointMode::kFilePerProcess && mode != CheckpointMode::kHdf5;
     }},
};

void add_checkpoint_options(CLI::App* app, RunArguments& run, RunWords& words) {
  const std::string checkpoints = "Checkpoints";
  app->add_option(
         "--every", words.every,
         "interval: 400it, 60s, 5m, both as 400it,60s, 2% (as often as holds the run up for "
         "at most that part of it), or auto with --mtbf (default 60s)")
      ->allow_extra_args(false)
      ->group(checkpoints);
  app->add_option("--mtbf", words.mtbf,
                  "with --every auto: how often the machine fails on average, e.g. 24h")
      ->option_text("TIME")
      ->group(checkpoints);
  app->add_option("--stage", run.stage,
                  "write checkpoints to this folder of each node first and drain them to the "
                  "checkpoint folder beside the run; {node} in it is the node's number")
      ->option_text("DIR")
      ->group(checkpoints);
  add_mode(app, run,
           "fpp (a file per process), shared, shared-opt (MPI-IO), hdf5, hdf5-opt, hdf5-direct, "
           "hdf5-streams; "
           "chosen by what checkpoints cost: auto, or hdf5-auto for HDF5 files (default fpp)")
      ->group(checkpoints);
  add_encoding(
      app, run,
      "of modes fpp, shared and shared-opt: compact, streams, auto (the better of the two, "
      "block by block; with mode auto whichever is quickest) or rows_u64 (default "
      "compact; with mode auto: auto)")
      ->group(checkpoints);
  add_durability(app, run, "full, data or none: what is fsynced (default full)")
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
  app->add_option("--compaction", run.folding,
                  "of chains of growth in modes fpp, shared, hdf5-direct, hdf5-streams, auto and "
                  "hdf5-auto: auto reads them back and writes them as one beside the evaluation, "
                  "where a core is free; none: copies of the relations are written (default auto)")
      ->transform(one_of(kFoldings))
      ->option_text("WHEN")
      ->group(checkpoints);
  app->add_option("--overlap", words.overlap,
                  "what goes on beside the evaluation: pack (packing and writing), write (writing "
                  "only), none, or auto: pack where a core is free, otherwise write (default auto)")
      ->transform(one_of({"auto", "pack", "write", "none"}))
      ->option_text("WHAT")
      ->group(checkpoints);
  app->add_flag("--no-overlap", words.no_overlap,
                "hold the evaluation up while a checkpoint is written: --overlap none")
      ->group(checkpoints);
  app->add_option("--at-end", run.at_end,
                  "save the answer as the last checkpoint, or skip that: for runs whose outputs "
                  "are all that is wanted (default save)")
      ->transform(one_of(kAtEnd))
      ->option_text("WHAT")
      ->group(checkpoints);
}

void add_engine_options(CLI::App* app, RunArguments& run, RunWords& words) {
  const std::string engine = "Engine";
  for (CLI::Option* option : add_libraries(app, run.libraries, run.library_directories))
    option->group(engine);
  app->add_option("--replicate-limit", run.replicate_limit_rows,
                  "static relations up to so many rows are copied to all ranks")
      ->transform(whole_number("rows"))
      ->option_text("ROWS")
      ->group(engine);
  app->add_option("--mirror-limit", run.mirror_limit_rows,
                  "growing relations of a recursion are kept on every rank while all copies "
                  "together hold fewer rows (default 32 Mi; 0: never)")
      ->transform(whole_number("rows"))
      ->option_text("ROWS")
      ->group(engine);
  app->add_option("--eqrel-limit", run.eqrel_limit,
                  "equivalence relations with fewer elements are whole on every rank "
                  "(default 64 Ki; 0: never)")
      ->transform(whole_number("elements"))
      ->option_text("ELEMENTS")
      ->group(engine);
  app->add_option("--exchange", run.exchange,
                  "send tuples to other ranks beside the rules that derive them, or after them "
                  "(default auto: beside where ranks lie on several nodes)")
      ->transform(one_of(kExchangeTimes))
      ->option_text("WHEN")
      ->group(engine);
  app->add_flag("--no-pivot", words.no_pivot, "do not run decomposable recursion by pivot values")
      ->group(engine);
  app->add_flag("--no-sets", words.no_sets, "do not move whole sets; tuple by tuple")
      ->group(engine);
}

}  // namespace

CLI::Option* add_mode(CLI::App* app, RunArguments& run, const std::string& text) {
  return app->add_option("--mode,--layout", run.mode, text)
      ->transform(one_of(modes_by_name()))
      ->option_text("MODE");
}

CLI::Option* add_encoding(CLI::App* app, RunArguments& run, const std::string& text) {
  return app->add_option("--encoding", run.encoding, text)
      ->transform(one_of(kEncodings))
      ->option_text("ENCODING");
}

CLI::Option* add_durability(CLI::App* app, RunArguments& run, const std::string& text) {
  return app->add_option("--durability", run.durability, text)
      ->transform(one_of(kDurabilities))
      ->option_text("LEVEL");
}

std::vector<CLI::Option*> add_libraries(CLI::App* app, std::vector<std::string>& libraries,
                                        std::vector<std::string>& directories) {
  return {app->add_option(
                 "-l,--library", libraries,
                 "shared library with functions of .functor: NAME for libNAME.so, or a file with "
                 "a slash (default functors)")
              ->allow_extra_args(false)
              ->option_text("NAME"),
          app->add_option("-L,--library-dir", directories, "folder of such libraries (default .)")
              ->allow_extra_args(false)
              ->option_text("DIR")};
}

void add_layout_options(CLI::App* app, RunArguments& run, RunWords& words) {
  const std::string group = "Layout of checkpoints";
  app->add_option("--hdf5-opt", words.ladder,
                  "steps of mode hdf5-opt: all, none, O1,O3,..., printed:O3, printed (default all)")
      ->option_text("STEPS")
      ->group(group);
  app->add_option("--files", run.layout.files,
                  "spread the ranks over N shared files; whole nodes stay together (default 1; "
                  "hdf5-direct where one kernel serves all ranks: one for every 16 MB, at most 8)")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(group);
  app->add_option("--relations-per-file", run.layout.relations_per_file,
                  "relation versions in one file (default 1; all in the hdf5 modes)")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(group);
  app->add_option("--align", words.alignment,
                  "where ranks' parts of shared files are cut, e.g. 1M (default: as the file "
                  "system needs)")
      ->option_text("SIZE")
      ->group(group);
  app->add_option("--aggregators", run.layout.aggregators,
                  "ranks that write in shared-opt and hdf5-opt (default: by size)")
      ->check(CLI::Range(1U, 1000000U))
      ->option_text("N")
      ->group(group);
  app->add_option(
         "--deflate", run.layout.deflate_level,
         "level of the chunks of hdf5-opt, hdf5-auto and hdf5-streams, 0: not deflated (default 1, "
         "and 0 in hdf5-opt on a local disk; hdf5-auto: what is quickest)")
      ->check(CLI::Range(0U, 9U))
      ->option_text("LEVEL")
      ->group(group);
}

void add_run_options(CLI::App* app, RunArguments& run, RunWords& words) {
  add_checkpoint_options(app, run, words);
  add_layout_options(app, run, words);
  app->add_option("-F,--fact-dir", run.facts, "folder with the fact files")->option_text("DIR");
  app->add_option("-D,--output-dir", run.output, "folder for .output files; - prints them")
      ->option_text("DIR");
  app->add_option("-j,--jobs", words.jobs,
                  "N ranks that are threads of this process, without MPI; auto: one on each core "
                  "(default 1)")
      ->option_text("N");
  app->add_option("--ranks", run.ranks,
                  "start N ranks with mpiexec (found by MPIEXEC, or on the PATH)")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app->add_option("--ranks-per-node", run.ranks_per_node,
                  "declare that each node holds N consecutive ranks (default: as MPI says)")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app->add_option("--memory-limit", words.memory_limit,
                  "end with an error before a rank's relations exceed this, e.g. 4G")
      ->option_text("SIZE");
  app->add_option("--report", run.report_file,
                  "write what the run did and where the time went, as JSON")
      ->option_text("FILE");
  app->add_option("--profile", run.profile_file,
                  "write where the time went, rule by rule, for `stratalog profile`")
      ->option_text("FILE");
  app->add_flag("-q,--quiet", words.is_quiet, "print results and errors only");
  app->add_flag("-v,--verbose", words.is_verbose,
                "a line for each finished stratum, also into a pipe");
  app->add_flag("--progress{live}", words.progress,
                "live view even if standard error is no terminal; =json: lines of JSON instead");
  app->add_flag("--no-progress", words.wants_no_progress, "no live view");
  add_engine_options(app, run, words);
}

void note_given(const CLI::App& app, RunWords& words, RunArguments& run) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (command->get_option_no_throw("--mode") != nullptr)
      run.has_mode = command->count("--mode") > 0;
    if (command->get_option_no_throw("--encoding") != nullptr)
      run.has_encoding = command->count("--encoding") > 0;
    if (command->get_option_no_throw("--deflate") != nullptr)
      for (const char* option : {"--hdf5-opt", "--files", "--relations-per-file", "--align",
                                 "--aggregators", "--deflate"})
        if (command->count(option) > 0) run.given_layout.emplace_back(option);
    if (command->get_option_no_throw("--keep") != nullptr) {
      run.has_durability = command->count("--durability") > 0;
      run.has_keep = command->count("--keep") > 0;
    }
    if (command->get_option_no_throw("--every") == nullptr) return;
    words.has_jobs = command->count("--jobs") > 0;
    run.has_every = command->count("--every") > 0;
    run.has_whole_every = command->count("--full-every") > 0;
    run.has_folding = command->count("--compaction") > 0;
    run.has_replicate_limit = command->count("--replicate-limit") > 0;
    run.has_mirror_limit = command->count("--mirror-limit") > 0;
  }
}

Status read_layout(const RunWords& words, RunArguments& run) {
  const auto& given = run.given_layout;
  if (std::find(given.begin(), given.end(), "--hdf5-opt") != given.end()) {
    auto ladder = parse_ladder(words.ladder);
    if (!ladder.is_ok()) return ladder.status().with_context("--hdf5-opt");
    run.layout.ladder = ladder.value();
  }
  if (!words.alignment.empty()) {
    auto alignment = parse_size(words.alignment);
    if (!alignment.is_ok()) return alignment.status().with_context("--align");
    run.layout.alignment = alignment.value();
  }
  return Status::ok();
}

namespace {

// Sizes, times and numbers that have words of their own.
Status read_quantities(const RunWords& words, RunArguments& run) {
  STRATALOG_ASSIGN_OR_RETURN(run.every, parse_intervals(words.every));
  if (!run.has_every) run.every.seconds = 60;
  if (run.every.is_automatic == words.mtbf.empty())
    return Status::invalid_argument("--every auto and --mtbf TIME belong together");
  if (!words.mtbf.empty()) {
    auto mtbf = parse_duration(words.mtbf);
    if (!mtbf.is_ok()) return mtbf.status().with_context("--mtbf");
    run.mtbf_seconds = mtbf.value();
  }
  if (!words.memory_limit.empty()) {
    auto limit = parse_size(words.memory_limit);
    if (!limit.is_ok()) return limit.status().with_context("--memory-limit");
    run.memory_limit_bytes = limit.value();
  }
  return Status::ok();
}

Status read_jobs(const RunWords& words, RunArguments& run) {
  if (!words.has_jobs) return Status::ok();
  const auto cores = static_cast<int>(usable_cores());
  auto threads = parse_jobs(words.jobs, cores);
  if (!threads.is_ok()) return threads.status().with_context("--jobs");
  run.threads = threads.value();
  if (run.ranks == 0) return Status::ok();
  return Status::invalid_argument(
      "--jobs (threads of one process) and --ranks (processes of MPI) exclude each other");
}

Status read_overlap(const RunWords& words, RunArguments& run) {
  for (const OverlapWay way : {OverlapWay::kNone, OverlapWay::kWrite, OverlapWay::kPack})
    if (words.overlap == overlap_name(way)) run.overlap = way;
  if (!words.no_overlap) return Status::ok();
  if (!words.overlap.empty() && words.overlap != "none")
    return Status::invalid_argument(
        fmt::format("--no-overlap and --overlap {} exclude each other", words.overlap));
  run.overlap = OverlapWay::kNone;
  return Status::ok();
}

Status choose_view(const RunWords& words, RunArguments& run) {
  if (words.is_quiet && words.is_verbose)
    return Status::invalid_argument("--quiet and --verbose exclude each other");
  if (!words.progress.empty() && words.progress != "live" && words.progress != "json")
    return Status::invalid_argument(
        fmt::format("--progress={} is not known; it is --progress (a live view) or --progress=json "
                    "(a line of JSON for each step)",
                    words.progress));
  if (!words.progress.empty() && words.wants_no_progress)
    return Status::invalid_argument("--progress and --no-progress exclude each other");
  if (words.is_quiet) run.verbosity = Verbosity::kQuiet;
  if (words.is_verbose) run.verbosity = Verbosity::kVerbose;
  if (!words.progress.empty()) run.live_view = LiveViewMode::kAlways;
  if (words.wants_no_progress || words.is_quiet) run.live_view = LiveViewMode::kNever;
  if (words.progress == "json") run.live_view = LiveViewMode::kJson;
  return Status::ok();
}

// What makes no sense without a checkpoint folder.
Status check_folder(const RunWords& words, const RunArguments& run) {
  if (!run.checkpoint.empty()) return Status::ok();
  const char* needs = nullptr;
  if (words.wants_fresh) needs = "--restart-fresh";
  if (words.wants_resume) needs = "--resume";
  if (run.has_every) needs = "--every";
  if (run.has_mode) needs = "--mode";
  if (run.has_encoding) needs = "--encoding";
  if (run.has_durability) needs = "--durability";
  if (run.has_keep) needs = "--keep";
  if (run.has_whole_every) needs = "--full-every";
  if (run.has_folding) needs = "--compaction";
  if (run.at_end == datalog::AtEnd::kSkip) needs = "--at-end";
  if (!words.overlap.empty()) needs = "--overlap";
  if (words.no_overlap) needs = "--no-overlap";
  if (!run.stage.empty()) needs = "--stage";
  if (!run.given_layout.empty()) needs = run.given_layout.front().c_str();
  if (needs == nullptr) return Status::ok();
  return Status::invalid_argument(fmt::format("{} needs --checkpoint DIR", needs));
}

}  // namespace

Status check_encoding(const RunArguments& run) {
  if (!run.has_encoding || stores_blocks(run.mode)) return Status::ok();
  if (stores_streams(run.mode)) {
    if (run.encoding == ShardEncoding::kStreams) return Status::ok();
    return Status::invalid_argument(
        fmt::format("--encoding {} is for modes fpp, shared and shared-opt; mode {} stores streams",
                    encoding_name(run.encoding), mode_name(run.mode)));
  }
  if (run.encoding == ShardEncoding::kRowsU64) return Status::ok();
  return Status::invalid_argument(fmt::format(
      "--encoding {} is for modes fpp, shared and shared-opt; {} stores rows of 64-bit numbers, "
      "so that HDF5's tools can read them",
      encoding_name(run.encoding), mode_name(run.mode)));
}

Status check_layout(const RunArguments& run) {
  LayoutWishes wishes = run.layout;
  wishes.mode = run.mode;
  // What the learned modes may choose takes all wishes.
  if (run.mode == CheckpointMode::kAuto) wishes.mode = CheckpointMode::kSharedOpt;
  if (run.mode == CheckpointMode::kHdf5Auto) wishes.mode = CheckpointMode::kHdf5Opt;
  STRATALOG_RETURN_IF_ERROR(plan_layout({}, wishes).status());
  for (const LayoutOptionUse& use : kLayoutOptionUses) {
    const auto& given = run.given_layout;
    if (use.is_for(run.mode) || std::find(given.begin(), given.end(), use.option) == given.end())
      continue;
    return Status::invalid_argument(fmt::format("{} is for {}; mode {} has no use for it",
                                                use.option, use.modes, mode_name(run.mode)));
  }
  const OverlapWay most = most_overlap(run.mode);
  if (run.overlap && *run.overlap > most)
    return Status::invalid_argument(fmt::format(
        "--overlap {} is for modes {}; a checkpoint in mode {} holds the evaluation up until it is "
        "written",
        overlap_name(*run.overlap), modes_that_overlap(*run.overlap), mode_name(run.mode)));
  return Status::ok();
}

Status complete_run(const RunWords& words, Command command, RunArguments& run) {
  run.allow_pivot = !words.no_pivot;
  run.allow_sets = !words.no_sets;
  STRATALOG_RETURN_IF_ERROR(read_overlap(words, run));
  STRATALOG_RETURN_IF_ERROR(read_quantities(words, run));
  STRATALOG_RETURN_IF_ERROR(read_layout(words, run));
  STRATALOG_RETURN_IF_ERROR(read_jobs(words, run));
  STRATALOG_RETURN_IF_ERROR(choose_view(words, run));
  // Mode auto chooses the encoding, too, unless it is told.
  if (run.mode == CheckpointMode::kAuto && !run.has_encoding) run.encoding = ShardEncoding::kAuto;
  if (command == Command::kResume) {
    run.resume = datalog::ResumePolicy::kResume;
    // Modes and wishes of a resumed run are complete only when its checkpoint has been read.
    return Status::ok();
  }
  STRATALOG_RETURN_IF_ERROR(check_folder(words, run));
  STRATALOG_RETURN_IF_ERROR(check_layout(run));
  STRATALOG_RETURN_IF_ERROR(check_encoding(run));
  if (words.wants_resume) run.resume = datalog::ResumePolicy::kResumeOrFresh;
  if (words.wants_fresh) run.resume = datalog::ResumePolicy::kFreshForced;
  return Status::ok();
}

}  // namespace stratalog::cli
