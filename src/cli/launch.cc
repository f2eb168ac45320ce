// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cli/live_view.h"
#include "cli/shared_cores.h"

namespace stratalog::cli {

namespace {

bool is_program(const std::string& path) {
  return !path.empty() && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string own_path() {
  std::array<char, PATH_MAX> buffer = {};
  const ssize_t length = readlink("/proc/self/exe", buffer.data(), buffer.size() - 1);
  return length > 0 ? std::string(buffer.data(), static_cast<std::size_t>(length))
                    : std::string("stratalog");
}

namespace {

std::string find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    std::string candidate = fmt::format("{}/{}", rest.substr(0, colon), name);
    if (is_program(candidate)) return candidate;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return {};
}

}  // namespace

std::vector<std::string> without_ranks(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--ranks") {
      ++i;
    } else if (!arguments[i].starts_with("--ranks=")) {
      rest.push_back(arguments[i]);
    }
  }
  return rest;
}

Result<std::string> find_launcher() {
  if (const char* named = std::getenv("MPIEXEC"); named != nullptr && *named != '\0') {
    std::string path = named;
    if (path.find('/') == std::string::npos) path = find_on_path(path);
    if (is_program(path)) return path;
    return Status::not_found(fmt::format("MPIEXEC is '{}', which is no program", named));
  }
  if (is_program(STRATALOG_MPIEXEC)) return std::string(STRATALOG_MPIEXEC);
  const std::string self = own_path();
  std::string beside = self.substr(0, self.rfind('/') + 1) + "mpiexec";
  if (is_program(beside)) return beside;
  std::string found = find_on_path("mpiexec");
  if (!found.empty()) return found;
  return Status::not_found(
      "--ranks needs mpiexec, and there is none on the PATH; name it with "
      "MPIEXEC=/path/to/mpiexec");
}

Status become_ranks(int ranks, const std::vector<std::string>& arguments) {
  STRATALOG_ASSIGN_OR_RETURN(std::string launcher, find_launcher());
  give_way_on_shared_cores(ranks);
  const TerminalTraits terminal = standard_error_traits();
  if (terminal.is_terminal)
    setenv("STRATALOG_TERMINAL", std::to_string(terminal.columns).c_str(), 1);
  std::vector<std::string> words = {launcher, "-n", std::to_string(ranks), own_path()};
  for (const std::string& word : without_ranks(arguments)) words.push_back(word);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(launcher.c_str(), pointers.data());
  return Status::internal(fmt::format("cannot start {}: {}", launcher, std::strerror(errno)));
}

}  // namespace stratalog::cli
