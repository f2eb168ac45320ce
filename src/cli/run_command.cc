// SPDX-License-Identifier: Apache-2.0
// run and resume: the engine between its preparations (job.h) and its reports. Collective over the
// world, whose ranks may be threads of this process. Only rank 0 speaks; it also decides the exit
// code and tells the others, so that the launcher sees one code.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "checkpoint/node_stages.h"
#include "cli/checkpoint_options_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/job.h"
#include "cli/json_text.h"
#include "cli/live_view.h"
#include "cli/parallel_module.h"
#include "cli/progress_lines.h"
#include "cli/run_report_text.h"
#include "cli/stop_signals.h"
#include "cli/text_file.h"
#include "cli/world.h"
#include "profile/profile_json.h"

namespace stratalog::cli {

namespace {

// A view of a few lines has no room for folders.
std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

LiveViewStyle choose_style(const RunArguments& run, const TerminalTraits& terminal) {
  const LiveViewStyle plain =
      run.verbosity == Verbosity::kVerbose ? LiveViewStyle::kLines : LiveViewStyle::kSilent;
  switch (run.live_view) {
    case LiveViewMode::kAlways:
      return LiveViewStyle::kRedraw;
    case LiveViewMode::kNever:
      return plain;
    case LiveViewMode::kJson:
      return LiveViewStyle::kSilent;
    case LiveViewMode::kAuto:
      break;
  }
  return terminal.is_terminal ? LiveViewStyle::kRedraw : plain;
}

// One run of the engine as rank 0 watches it. On other ranks the hooks are never called.
class Watch {
 public:
  Watch(const Job& job, const TerminalTraits& terminal, int ranks)
      : job_(job),
        style_(choose_style(job.run, terminal)),
        view_(style_,
              {.program = file_name(job.program_name),
               .ranks = ranks,
               .glyphs = terminal.glyphs,
               .takes_checkpoints = job.checkpoints != nullptr},
              standard_error_sink()) {
    if (job.run.live_view == LiveViewMode::kJson) lines_.emplace(standard_error_sink().write);
  }

  // Which rule takes the time is asked only for somebody who sees it.
  bool shows_rules() const { return style_ == LiveViewStyle::kRedraw || lines_.has_value(); }

  datalog::RunHooks hooks() {
    datalog::RunHooks hooks;
    hooks.progress = [this](const datalog::Progress& progress) { see(progress); };
    hooks.at_work = [this](datalog::Phase phase) { at_work_ = phase; };
    hooks.notice = [this](const std::string& line) {
      if (job_.run.verbosity != Verbosity::kQuiet) notice(line);
    };
    // An error, if not the run's: told whatever the verbosity is.
    hooks.failure = [this](const std::string& line) {
      if (lines_)
        lines_->failure(line);
      else
        view_.notice("stratalog: " + line);
    };
    if (job_.checkpoints != nullptr)
      hooks.stop_requested = [this] {
        tell_stage_notes();
        return take_stop_request();
      };
    return hooks;
  }

  // Local. What draining the stage had to say; the run goes on.
  void tell_stage_notes() {
    if (job_.stage == nullptr) return;
    for (const std::string& line : job_.stage->take_notes()) notice(line);
  }
  void finish() { view_.finish(); }
  bool tells_end(const datalog::RunReport& report) {
    if (lines_) lines_->end(report);
    return lines_.has_value();
  }

  // Which part an error of the engine came from. A checkpoint that cannot be written ends no run,
  // so that what ends one while rules are evaluated is of the rules.
  Part part_of(const Status& status) const {
    if (status.code() == StatusCode::kAlreadyExists) return Part::kCheckpoint;
    switch (at_work_) {
      case datalog::Phase::kLoading:
        return Part::kFacts;
      case datalog::Phase::kRestoring:
        // Nothing is written yet: what is full is the memory.
        return status.code() == StatusCode::kNoSpace ? Part::kRun : Part::kCheckpoint;
      case datalog::Phase::kCheckpointing:
        return Part::kCheckpoint;
      case datalog::Phase::kEvaluating:
        return Part::kRun;
      case datalog::Phase::kOutput:
        return Part::kOutput;
    }
    return Part::kRun;
  }

 private:
  void notice(const std::string& line) {
    if (lines_)
      lines_->notice(line);
    else
      view_.notice(line);
  }

  void see(const datalog::Progress& progress) {
    if (lines_)
      lines_->update(progress);
    else
      view_.update(progress);
    // The first checkpoint begins: from here on the folder is this job's.
    if (progress.phase == datalog::Phase::kCheckpointing && !has_options_file_) {
      has_options_file_ = true;
      const Status written = write_options_file(*job_.checkpoints, job_.program_name, job_.run);
      if (!written.is_ok()) notice(fmt::format("note: {}", written.message()));
    }
  }

  const Job& job_;
  LiveViewStyle style_;
  LiveView view_;
  std::optional<ProgressLines> lines_;
  datalog::Phase at_work_ = datalog::Phase::kLoading;
  bool has_options_file_ = false;
};

Result<std::size_t> read_standard_input(std::span<char> buffer) {
  for (;;) {
    const ssize_t bytes = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (bytes >= 0) return static_cast<std::size_t>(bytes);
    if (errno != EINTR)
      return Status::io_error(fmt::format("standard input: {}", std::strerror(errno)));
  }
}

datalog::RunOptions engine_options(const World& world, const Job& job, const Watch& watch) {
  const RunArguments& run = job.run;
  datalog::RunOptions options;
  options.facts = job.facts.get();
  options.read = {.standard_input = read_standard_input,
                  .hdf5 = read_hdf5_by_module,
                  .missing_texts_are_empty = run.missing_facts == MissingFacts::kEmpty,
                  .missing_advice = run.missing_facts == MissingFacts::kErrorOfSouffle
                                        ? "-w takes it as empty"
                                        : ""};
  options.added_facts = job.added_facts.get();
  options.output = job.output.get();
  options.externals = job.externals;
  options.write.hdf5 = write_hdf5_by_module;
  options.memory_limit_bytes = run.memory_limit_bytes;
  if (run.has_replicate_limit) options.replicate_limit_rows = run.replicate_limit_rows;
  options.deal_equivalence_from = run.eqrel_limit.value_or(options.deal_equivalence_from);
  if (run.has_mirror_limit) options.mirror_limit_rows = run.mirror_limit_rows;
  options.exchange = run.exchange;
  options.allow_pivot = run.allow_pivot;
  options.allow_sets = run.allow_sets;
  options.keep_round_counts = !run.report_file.empty();
  options.relations_at_end = datalog::RelationsAtEnd::kLeft;
  if (watch.shows_rules()) options.metering = datalog::Metering::kRules;
  if (!run.profile_file.empty()) options.metering = datalog::Metering::kProfile;
  if (job.checkpoints == nullptr) return options;
  datalog::CheckpointOptions& checkpoint = options.checkpoint;
  checkpoint.store = job.checkpoints.get();
  checkpoint.mode = run.mode;
  checkpoint.encoding = run.encoding;
  checkpoint.writer.durability = run.durability;
  checkpoint.writer.keep_generations = run.keep_generations;
  checkpoint.writer.layout = run.layout;
  checkpoint.writer.backends = world.backends(run.mode);
  checkpoint.chain.whole_every = run.whole_every;
  checkpoint.folding = run.folding;
  checkpoint.every_iterations = run.every.iterations;
  checkpoint.every_seconds = run.every.seconds;
  checkpoint.interval = {.mtbf_seconds = run.mtbf_seconds, .most_share = run.every.most_share};
  checkpoint.writer.overlap = run.overlap;
  checkpoint.at_end = run.at_end;
  checkpoint.resume = run.resume;
  checkpoint.generation = run.generation;
  return options;
}

// The files that were asked for beside the results.
Status write_files(const Job& job, const datalog::RunReport& report) {
  if (!job.run.report_file.empty())
    STRATALOG_RETURN_IF_ERROR(write_text_file("--report", job.run.report_file,
                                              json_text(report_json(report, job.program_name))));
  if (job.run.profile_file.empty() || !report.profile) return Status::ok();
  RunProfile profile = *report.profile;
  profile.program = job.program_name;
  return write_text_file("--profile", job.run.profile_file, profile_to_json(profile));
}

// Rank 0, after a run that did not fail.
ExitCode hand_out(const Job& job, const datalog::RunReport& report, Watch& watch) {
  const bool is_quiet = job.run.verbosity == Verbosity::kQuiet;
  if (!report.stopped_early) {
    std::string results;
    for (const std::string& text : report.console) results += text;
    const Status printed = print_result(results + print_sizes_text(job.program, report));
    if (!printed.is_ok()) {
      complain(printed);
      return ExitCode::kInputOutput;
    }
  }
  if (!watch.tells_end(report) && !is_quiet) {
    if (!report.resumed_from.empty()) tell(fmt::format("resumed from {}\n", report.resumed_from));
    tell(breakdown_text(report));
  }
  const Status written = write_files(job, report);
  if (!written.is_ok()) {
    complain(written);
    return ExitCode::kInputOutput;
  }
  if (const auto* missing = datalog::missing_checkpoint(report)) {
    const std::string newest = newest_generation(report);
    const bool is_staged = job.stage != nullptr && !newest.empty() &&
                           job.stage->place_of(newest) == StagePlace::kStage;
    complain(missing_checkpoint_text(report, job.run.checkpoint,
                                     is_staged ? job.stage->stage_root() : job.run.checkpoint,
                                     stop_signal()));
    return exit_code_of(missing->status, Part::kOutput);
  }
  if (!report.stopped_early) return ExitCode::kDone;
  complain(fmt::format("stopped on signal {} after checkpoint {}; go on with: stratalog resume {}",
                       stop_signal(), newest_generation(report), job.run.checkpoint));
  return ExitCode::kStopped;
}

// At the end of a run: what was staged is where it belongs, above all its newest generation (empty:
// none), or somebody is told. Collective where stages lie on several nodes. Rank 0's status counts.
Status settle_stage(Comm& comm, const Job& job, const std::string& newest, Watch& watch) {
  if (job.stage == nullptr) return Status::ok();
  Status settled;
  if (job.stage->seat().spans_nodes())
    settled = settle_stages(comm, *job.stage);
  else if (comm.rank() == 0)
    settled = job.stage->settle();
  if (comm.rank() != 0) return settled;
  if (settled.is_ok() && !newest.empty() && job.stage->place_of(newest) == StagePlace::kStage)
    settled = Status::io_error(newest + " could not be drained");
  watch.tell_stage_notes();
  if (!settled.is_ok())
    complain(fmt::format(
        "the newest checkpoints are in {} only, not in {}: {}\nthey will be drained when the next "
        "job writes checkpoints there",
        job.stage->stage_root(), job.run.checkpoint, settled.to_string()));
  else if (job.run.verbosity != Verbosity::kQuiet)
    tell(fmt::format("checkpoints were staged in {} and drained to {}\n", job.stage->stage_root(),
                     job.run.checkpoint));
  return settled;
}

// What threads cannot do is said before the run, not at its first checkpoint.
Failure check_threads(const RunArguments& run) {
  const bool is_collective =
      run.mode == CheckpointMode::kHdf5 || run.mode == CheckpointMode::kHdf5Opt;
  if (run.threads <= 1 || run.checkpoint.empty()) return {};
  const bool deflates =
      run.mode == CheckpointMode::kHdf5Auto && run.layout.deflate_level.value_or(0) != 0;
  if (deflates)
    return {.status = Status::not_supported(fmt::format(
                "--deflate {0} of mode hdf5-auto writes through MPI, and the ranks of -j are "
                "threads; take --ranks {1} instead of -j {1}, or leave --deflate away",
                *run.layout.deflate_level, run.threads)),
            .part = Part::kProgram};
  if (stores_rows(run.mode) || stores_streams(run.mode))
    if (const auto module = parallel_module(); !module.is_ok())
      return {.status = module.status(), .part = Part::kProgram};
  if (!is_collective) return {};
  return {.status = Status::not_supported(fmt::format(
              "mode {0} writes through MPI, and the ranks of -j are threads; take --ranks {1} "
              "instead of -j {1}, or another --mode (hdf5-direct writes HDF5, too; `resume` takes "
              "one as "
              "well)",
              mode_name(run.mode), run.threads)),
          .part = Part::kProgram};
}

ExitCode run_or_resume(World& world, const Invocation& invocation) {
  Comm& comm = world.comm();
  Job job;
  Failure failure = invocation.command == Command::kResume ? prepare_resume(comm, invocation, job)
                                                           : prepare_run(comm, invocation, job);
  if (failure.status.is_ok()) failure = check_threads(job.run);
  if (!failure.status.is_ok()) {
    if (comm.rank() == 0) complain(failure.status);
    return exit_code_of(failure.status, failure.part);
  }
  if (job.checkpoints != nullptr) {
    install_stop_signals();
  } else {
    std::signal(SIGUSR1, SIG_IGN);  // asks for a checkpoint; there is nowhere to put one
  }
  Watch watch(job, standard_error_traits(), comm.size());
  auto ran =
      datalog::run_program(comm, job.program, engine_options(world, job, watch), watch.hooks());
  watch.finish();
  const Status settled =
      settle_stage(comm, job, ran.is_ok() ? newest_generation(ran.value()) : std::string(), watch);
  if (comm.rank() != 0) return ExitCode::kDone;
  if (!ran.is_ok()) {
    complain(ran.status());
    return exit_code_of(ran.status(), watch.part_of(ran.status()));
  }
  const ExitCode code = hand_out(job, ran.value(), watch);
  return code == ExitCode::kDone ? exit_code_of(settled, Part::kOutput) : code;
}

MpiNeed mpi_need(const RunArguments& run) {
  // One rank that chooses for itself chooses files of its own.
  const bool is_serial = run.checkpoint.empty() || run.mode == CheckpointMode::kFilePerProcess ||
                         run.mode == CheckpointMode::kAuto;
  return is_serial ? MpiNeed::kOnlyIfLaunched : MpiNeed::kAlways;
}

}  // namespace

ExitCode run_command(const Invocation& invocation) {
  const auto body = [&](World& world) { return run_or_resume(world, invocation); };
  if (invocation.run.threads > 1)
    return in_threads(invocation.run.threads, body, invocation.run.ranks_per_node);
  return in_world(mpi_need(invocation.run), body, invocation.run.ranks_per_node);
}

ExitCode resume_command(const Invocation& invocation) {
  // Which mode the checkpoint has is known only later, so MPI is started where it may be needed.
  const bool is_serial =
      invocation.run.has_mode && invocation.run.mode == CheckpointMode::kFilePerProcess;
  const auto body = [&](World& world) { return run_or_resume(world, invocation); };
  if (invocation.run.threads > 1)
    return in_threads(invocation.run.threads, body, invocation.run.ranks_per_node);
  return in_world(is_serial ? MpiNeed::kOnlyIfLaunched : MpiNeed::kAlways, body,
                  invocation.run.ranks_per_node);
}

}  // namespace stratalog::cli
