// SPDX-License-Identifier: Apache-2.0
// bench: hands over to the Python front (python/stratalog_bench), or is one of the ranks that it
// starts (bench worker FILE), or prices plans for it (bench model FILE).
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/told.h"
#include "cli/bench_worker.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/launch.h"
#include "cli/model_lines.h"
#include "cli/model_spec.h"
#include "cli/text_file.h"
#include "cli/world.h"

namespace stratalog::cli {
namespace {

constexpr std::string_view kUsage =
    "stratalog bench checkpoint [OPTIONS]: checkpoint strategies side by side (--help)\n";

// Of `what`, in words.
Result<std::string> read_specification(std::string_view what, const std::string& path) {
  auto text = read_text_file(path);
  if (!text)
    return Status::not_found(fmt::format("cannot read {}, the specification of {}", path, what));
  return *std::move(text);
}

Status work(World& world, const std::string& file) {
  Comm& comm = world.comm();
  Result<std::string> text = std::string();
  if (comm.rank() == 0) text = read_specification("measurements", file);
  STRATALOG_ASSIGN_OR_RETURN(const std::string told, tell(comm, text));
  STRATALOG_ASSIGN_OR_RETURN(const BenchSpec spec, parse_bench_spec(told));
  return run_bench(world, spec);
}

ExitCode worker(const std::vector<std::string>& words) {
  if (words.size() != 2) {
    complain("bench worker needs the file of its specification; bench checkpoint writes one");
    return ExitCode::kProgram;
  }
  auto world = World::enter(MpiNeed::kAlways);
  if (!world.is_ok()) {
    if (rank_by_environment() == 0) complain(world.status());
    return ExitCode::kInternal;
  }
  const Status status = work(world.value(), words[1]);
  if (status.is_ok()) return ExitCode::kDone;
  if (world.value().is_first()) complain(status);
  return exit_code_of(status, Part::kRun);
}

Status forecast(const std::string& file) {
  STRATALOG_ASSIGN_OR_RETURN(const std::string text, read_specification("a model", file));
  STRATALOG_ASSIGN_OR_RETURN(const ModelSpec spec, parse_model_spec(text));
  for (const ModelCase& one : spec.cases) {
    STRATALOG_ASSIGN_OR_RETURN(const std::string line, model_line(one, spec.machine));
    STRATALOG_RETURN_IF_ERROR(print_result(line + "\n"));
  }
  return Status::ok();
}

ExitCode model(const std::vector<std::string>& words) {
  if (words.size() != 2) {
    complain("bench model needs the file of its specification; bench checkpoint writes one");
    return ExitCode::kProgram;
  }
  const Status status = forecast(words[1]);
  if (status.is_ok()) return ExitCode::kDone;
  complain(status);
  return exit_code_of(status, Part::kRun);
}

bool is_readable(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// The folder that holds the package: beside an installed program, or the source tree's.
std::string python_folder() {
  const std::string self = own_path();
  const std::string installed = self.substr(0, self.rfind('/') + 1) + "../share/stratalog/python";
  for (const std::string& folder : {installed, std::string(STRATALOG_PYTHON_FOLDER)})
    if (is_readable(folder + "/stratalog_bench/__main__.py")) return folder;
  return {};
}

// Returns only on failure.
Status become_python(const std::vector<std::string>& words) {
  const std::string folder = python_folder();
  if (folder.empty())
    return Status::not_found(
        fmt::format("the Python package stratalog_bench is neither in ../share/stratalog/python "
                    "beside the program nor in {}",
                    STRATALOG_PYTHON_FOLDER));
  std::string path = folder;
  if (const char* old = std::getenv("PYTHONPATH"); old != nullptr && *old != '\0')
    path += fmt::format(":{}", old);
  setenv("PYTHONPATH", path.c_str(), 1);
  setenv("STRATALOG", own_path().c_str(), 1);
  if (const auto launcher = find_launcher(); launcher.is_ok())
    setenv("MPIEXEC", launcher.value().c_str(), 1);
  std::string python = STRATALOG_PYTHON_PROGRAM;
  if (const char* named = std::getenv("STRATALOG_PYTHON"); named != nullptr && *named != '\0')
    python = named;
  else if (access(python.c_str(), X_OK) != 0)
    python = "python3";
  std::vector<std::string> command = {python, "-m", "stratalog_bench"};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  pointers.reserve(command.size() + 1);
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(python.c_str(), pointers.data());
  return Status::not_found(fmt::format("cannot start {}: {}; STRATALOG_PYTHON names another one",
                                       python, std::strerror(errno)));
}

}  // namespace

ExitCode bench_command(const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "worker") return worker(words);
  if (!words.empty() && words.front() == "model") return model(words);
  if (words.size() == 1 && (words.front() == "--help" || words.front() == "-h"))
    return end_with_result(kUsage);
  if (is_under_launcher()) {
    if (rank_by_environment() == 0)
      complain("bench starts its ranks itself; run it without mpiexec, and give it --ranks");
    return ExitCode::kProgram;
  }
  complain(become_python(words));
  return ExitCode::kProgram;
}

}  // namespace stratalog::cli
