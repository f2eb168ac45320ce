// SPDX-License-Identifier: Apache-2.0
// The stratalog command: parses its arguments, becomes several ranks if asked to, and calls the
// subcommand.
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/launch.h"
#include "cli/souffle_command.h"
#include "cli/world.h"

namespace stratalog::cli {

namespace {

ExitCode dispatch(const Invocation& invocation) {
  switch (invocation.command) {
    case Command::kRun:
      return run_command(invocation);
    case Command::kResume:
      return resume_command(invocation);
    case Command::kBench:
      return bench_command(invocation.bench);
    case Command::kCompact:
      return compact_command(invocation);
    default:
      break;
  }
  // The others need one rank only; more would print everything again.
  if (rank_by_environment() != 0) return ExitCode::kDone;
  switch (invocation.command) {
    case Command::kCheck:
      return check_command(invocation);
    case Command::kExplain:
      return explain_command(invocation);
    case Command::kList:
      return list_command(invocation.stored);
    case Command::kInspect:
      return inspect_command(invocation.stored);
    case Command::kVerify:
      return verify_command(invocation.stored);
    case Command::kWhy:
      return why_command(invocation.why);
    case Command::kWhyNot:
      return why_not_command(invocation.why);
    case Command::kProfile:
      return profile_command(invocation.profile);
    default:
      return export_command(invocation.stored);
  }
}

enum class Called : std::uint8_t { kByOwnName, kSouffle };

ExitCode start(const std::vector<std::string>& arguments, Called called) {
  ParsedCommandLine parsed = parse_command_line(arguments);
  if (!parsed.invocation) {
    if (rank_by_environment() != 0) return parsed.exit_code;
    tell(parsed.standard_error);
    if (called == Called::kSouffle && arguments.front() == "--version")
      parsed.standard_output = version_like_souffle(parsed.standard_output);
    return end_with_result(parsed.standard_output, parsed.exit_code);
  }
  const int ranks = parsed.invocation->run.ranks;
  if (parsed.invocation->run.threads > 1 && is_under_launcher()) {
    if (rank_by_environment() == 0)
      complain(
          "-j makes ranks of threads in one process; leave it away under mpiexec, whose processes "
          "are ranks");
    return ExitCode::kProgram;
  }
  if (ranks > 0 && is_under_launcher()) {
    if (rank_by_environment() == 0) {
      complain(
          "--ranks starts mpiexec itself; leave it away under mpiexec, which was told the number "
          "of ranks");
    }
    return ExitCode::kProgram;
  }
  if (ranks > 1) {
    const Status status = become_ranks(ranks, arguments);
    complain(status);
    return ExitCode::kProgram;
  }
  return dispatch(*parsed.invocation);
}

}  // namespace

}  // namespace stratalog::cli

int main(int argc, char** argv) {
  // Beyond a limit of file sizes (ulimit -f) writes fail and are reported as others are.
  std::signal(SIGXFSZ, SIG_IGN);
  // So do those to a pipe that nobody reads any more: no reason for a run to end without its
  // answer.
  std::signal(SIGPIPE, SIG_IGN);
  // Asks for a checkpoint, which comes when there is something to save (stop_signals.h): until
  // then, and before MPI has started the ranks, it must not end them.
  std::signal(SIGUSR1, SIG_IGN);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  // Not for the ranks that it becomes: these are called by its own name.
  using stratalog::cli::Called;
  Called called = Called::kByOwnName;
  if (argc > 0 && stratalog::cli::is_named_souffle(argv[0])) {
    called = Called::kSouffle;
    arguments = stratalog::cli::arguments_from_souffle(arguments);
  }
  return static_cast<int>(stratalog::cli::start(arguments, called));
}
