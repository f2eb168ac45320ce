// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each does its work, prints results to standard output and complaints to standard
// error, and returns the exit code. run, resume and compact are collective over the world; the
// others are local and run on one rank.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace stratalog::cli {

ExitCode run_command(const Invocation& invocation);
ExitCode resume_command(const Invocation& invocation);
ExitCode compact_command(const Invocation& invocation);

ExitCode check_command(const Invocation& invocation);
ExitCode explain_command(const Invocation& invocation);

ExitCode list_command(const StoredArguments& arguments);
ExitCode inspect_command(const StoredArguments& arguments);
ExitCode verify_command(const StoredArguments& arguments);
ExitCode export_command(const StoredArguments& arguments);

ExitCode why_command(const WhyArguments& arguments);
ExitCode why_not_command(const WhyArguments& arguments);

ExitCode profile_command(const ProfileArguments& arguments);

// `words`: what follows "bench". Collective for `bench worker`.
ExitCode bench_command(const std::vector<std::string>& words);

}  // namespace stratalog::cli
