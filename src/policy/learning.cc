// SPDX-License-Identifier: Apache-2.0
#include "policy/learning.h"

#include <fmt/format.h>

#include <algorithm>

namespace stratalog {
namespace {

constexpr std::uint64_t kMinBytes = 1 << 20;  // less is as quick whatever the layout
constexpr std::uint64_t kFewFiles = 1024;  // that metadata servers do not mind
constexpr std::uint64_t kWorthAFile = 1 << 20;
constexpr std::uint64_t kOneWriterBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kGiant = 8;  // times the mean rank
constexpr std::uint64_t kStale = 4;  // measurements at sizes so many times apart are not compared
constexpr std::uint32_t kSavesBeforeTrying = 2;
constexpr double kWorthTrying = 0.05;  // seconds of a save, below which nothing is won
constexpr double kWorthChanging = 0.9;  // of the costs so far

// For people: estimates need no last digit.
std::string about(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return bytes < 1000000 ? fmt::format("{:.0f} kB", value / 1e3)
                         : fmt::format("{:.0f} MB", value / 1e6);
}

std::string option_text(const LayoutOption& option) {
  if (option.mode == CheckpointMode::kFilePerProcess) return std::string(mode_name(option.mode));
  return fmt::format("{} over {} file{}", mode_name(option.mode), option.files,
                     option.files == 1 ? "" : "s");
}

std::vector<LayoutOption> options_of(const AutoFacts& facts) {
  const bool shared = facts.collective == CollectiveIo::kPresent && facts.ranks > 1;
  std::vector<LayoutOption> options;
  if (facts.wished_files != 0 && shared)
    return {{.mode = CheckpointMode::kSharedOpt, .files = facts.wished_files}};
  options.push_back({});
  if (!shared) return options;
  options.push_back({.mode = CheckpointMode::kSharedOpt, .files = 1});
  if (facts.nodes > 1)
    options.push_back(
        {.mode = CheckpointMode::kSharedOpt, .files = static_cast<std::uint32_t>(facts.nodes)});
  return options;
}

bool are_comparable(std::uint64_t one, std::uint64_t other) {
  return one < other * kStale && other < one * kStale;
}

}  // namespace

AutoChoice choose_by_table(const AutoFacts& facts) {
  const std::vector<LayoutOption> options = options_of(facts);
  const auto say = [](const LayoutOption& option, std::string why) {
    return AutoChoice{.option = option,
                      .reasons = {{"auto", fmt::format("{}: {}", option_text(option), why)}}};
  };
  if (options.size() == 1)
    return say(options.front(), facts.wished_files != 0 && options.front().files != 0
                                    ? "a number of files was asked for"
                                    : (facts.ranks == 1 ? "one rank" : "shared files need MPI"));
  if (!blocks_are_contended(facts.file_system.kind))
    return say(options.front(),
               fmt::format("{} is served by one kernel, where files of their own need no "
                           "coordination (RA-checkpoint IV.B; docs/bench.md)",
                           facts.file_system.name));
  const std::uint64_t files = static_cast<std::uint64_t>(facts.ranks) * facts.images;
  if (files > kFewFiles && facts.bytes / files < kWorthAFile)
    return say(options.back(),
               fmt::format("{} files of {} on {} would cost more than they hold", files,
                           about(facts.bytes / files), facts.file_system.name));
  const std::uint64_t mean = facts.bytes / static_cast<std::uint64_t>(facts.ranks);
  if (facts.largest_rank_bytes >= kOneWriterBytes && facts.largest_rank_bytes > kGiant * mean)
    return say(options.back(),
               fmt::format("one rank has {} of {}, which aggregators write together",
                           about(facts.largest_rank_bytes), about(facts.bytes)));
  return say(options.front(),
             fmt::format("{} files of {} on {}; a file per process was faster than a shared one "
                         "up to 4,096 ranks (RA-checkpoint IV.B)",
                         files, about(facts.bytes / std::max<std::uint64_t>(files, 1)),
                         facts.file_system.name));
}

const LayoutLearner::Cost* LayoutLearner::find(const LayoutOption& option,
                                               const AutoFacts& facts) const {
  for (const Cost& cost : costs_)
    if (cost.option == option && are_comparable(cost.bytes, facts.bytes)) return &cost;
  return nullptr;
}

AutoChoice LayoutLearner::choose(const AutoFacts& facts) const {
  AutoChoice choice = choose_by_table(facts);
  const Cost* table = find(choice.option, facts);
  if (table == nullptr || facts.bytes < kMinBytes) return choice;
  const auto expected = [&](const Cost& cost) {
    return cost.seconds_per_byte * static_cast<double>(facts.bytes);
  };
  const Cost* best = table;
  std::string measured;
  for (const LayoutOption& option : options_of(facts)) {
    const Cost* cost = find(option, facts);
    if (cost == nullptr) continue;
    measured += fmt::format("{}{}: {:.3f} s for about {} expected after {} save{}",
                            measured.empty() ? "" : "; ", option_text(option), expected(*cost),
                            about(facts.bytes), cost->saves, cost->saves == 1 ? "" : "s");
    if (expected(*cost) < expected(*best) * (best == table ? kWorthChanging : 1.0)) best = cost;
  }
  choice.reasons.push_back({"auto: measured", measured});
  if (table->saves >= kSavesBeforeTrying && expected(*best) >= kWorthTrying)
    for (const LayoutOption& option : options_of(facts))
      if (find(option, facts) == nullptr) {
        choice.option = option;
        choice.reasons.push_back(
            {"auto: choice", fmt::format("{}, to measure it at this size", option_text(option))});
        return choice;
      }
  choice.option = best->option;
  choice.reasons.push_back(
      {"auto: choice", fmt::format("{}, {}", option_text(best->option),
                                   best == table ? "as in the table; nothing measured is a tenth "
                                                   "cheaper"
                                                 : "the cheapest that was measured")});
  return choice;
}

void LayoutLearner::learn(const LayoutOption& option, const AutoFacts& facts, double seconds) {
  if (facts.bytes == 0) return;
  const double now = seconds / static_cast<double>(facts.bytes);
  for (Cost& cost : costs_) {
    if (!(cost.option == option)) continue;
    const bool same_size = are_comparable(cost.bytes, facts.bytes);
    cost.seconds_per_byte = same_size ? (cost.seconds_per_byte + now) / 2 : now;
    cost.saves = same_size ? cost.saves + 1 : 1;
    cost.bytes = facts.bytes;
    return;
  }
  costs_.push_back({.option = option, .bytes = facts.bytes, .seconds_per_byte = now, .saves = 1});
}

}  // namespace stratalog
