// SPDX-License-Identifier: Apache-2.0
#include "write/lustre_striping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "write/errno_status.h"
#include "write/file_descriptor.h"

extern char** environ;

namespace stratalog {
namespace {

constexpr std::size_t kMostWords = 400;

// The beginning of what was said, as one line.
std::string words_in(const FileDescriptor& file) {
  std::array<char, kMostWords> bytes{};
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  std::string text(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text.empty() ? "it gave no reason" : text;
}

}  // namespace

std::vector<std::string> setstripe_arguments(const std::string& folder,
                                             const StripingPlan& striping) {
  // A name that begins like an option is not one.
  const std::string name = folder.starts_with('-') ? "./" + folder : folder;
  if (striping.stripe_count == 0) return {"lfs", "setstripe", "-d", name};
  return {"lfs", "setstripe",
          "-c",  std::to_string(striping.stripe_count),
          "-S",  std::to_string(striping.stripe_bytes),
          name};
}

Status set_new_file_striping(const std::string& folder, const StripingPlan& striping) {
  std::vector<std::string> arguments = setstripe_arguments(folder, striping);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const FileDescriptor said(::memfd_create("lfs", MFD_CLOEXEC));
  if (!said.is_open()) return errno_status(errno, "keep what lfs says of", folder);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, said.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, said.get(), 2);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return Status::not_supported("there is no lfs on the PATH");
  if (error != 0) return errno_status(error, "start lfs for", folder);
  int ended = 0;
  while (::waitpid(child, &ended, 0) < 0)
    if (errno != EINTR) return errno_status(errno, "wait for lfs, which sets stripes of", folder);
  if (ended == 0) return Status::ok();
  return Status::io_error(
      fmt::format("`{}` failed: {}", fmt::join(arguments, " "), words_in(said)));
}

}  // namespace stratalog
