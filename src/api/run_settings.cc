// SPDX-License-Identifier: Apache-2.0
#include "api/run_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commit/options_file.h"
#include "read/usable_cores.h"

namespace stratalog {
namespace {

// Of a run; the group of threads has no more.
constexpr std::uint32_t kMostThreads = 1024;

}  // namespace

int threads_of(const RunSettings& settings, int ranks) {
  if (settings.threads != 0) return static_cast<int>(settings.threads);
  return ranks > 1 ? 1 : static_cast<int>(std::min(usable_cores(), kMostThreads));
}

Status check_settings(const RunSettings& settings, int ranks, int threads) {
  if (settings.threads > kMostThreads)
    return Status::invalid_argument(
        fmt::format("expected at most {} threads, found {}", kMostThreads, settings.threads));
  if (threads > 1 && ranks > 1)
    return Status::invalid_argument(
        fmt::format("{} threads were asked for in a group of {} ranks; a run has one or the other",
                    threads, ranks));
  std::vector<std::string> places = {settings.facts, settings.output, settings.checkpoint};
  places.insert(places.end(), settings.libraries.begin(), settings.libraries.end());
  places.insert(places.end(), settings.library_directories.begin(),
                settings.library_directories.end());
  for (const std::string& place : places)
    if (place.find('\0') != std::string::npos)
      return Status::invalid_argument(
          fmt::format("the path \"{}\" goes on behind a zero byte", place.c_str()));
  const double every = settings.checkpoint_every_seconds;
  if (!std::isfinite(every) || every < 0)
    return Status::invalid_argument(fmt::format(
        "checkpoint_every_seconds: expected a number of seconds from 0 on, found {}", every));
  return Status::ok();
}

void add_settings(const RunSettings& settings, EqualArguments& arguments) {
  arguments.add("libraries", settings.libraries);
  arguments.add("library folders", settings.library_directories);
  arguments.add("folder of facts", settings.facts);
  arguments.add("folder of outputs", settings.output);
  arguments.add("folder of checkpoints", settings.checkpoint);
  arguments.add("on_checkpoints", fmt::format("{}", static_cast<int>(settings.on_checkpoints)));
  arguments.add("checkpoint_every", fmt::format("{}", settings.checkpoint_every_seconds));
}

nlohmann::json options_to_remember(const std::string& name, const RunSettings& settings) {
  nlohmann::json options =
      places_object(absolute_places({.facts = settings.facts,
                                     .output = settings.output,
                                     .libraries = settings.libraries,
                                     .library_directories = settings.library_directories}));
  options["program"] = name;
  options["every_seconds"] = settings.checkpoint_every_seconds;
  return options;
}

}  // namespace stratalog
