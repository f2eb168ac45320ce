// SPDX-License-Identifier: Apache-2.0
#include "policy/learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policy/ladder_plan.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kMinBytes = 1 << 20;  // less is as quick whatever the layout
constexpr std::uint64_t kFewFiles = 1024;  // that metadata servers do not mind
constexpr std::uint64_t kWorthAFile = 1 << 20;
constexpr std::uint64_t kOneWriterBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kGiant = 8;  // times the mean rank
constexpr std::uint64_t kStale = 4;  // measurements at sizes so many times apart are not compared
constexpr std::uint32_t kSavesBeforeTrying = 2;
constexpr std::uint32_t kSavesBetweenTries = 2;  // of a mode that is good, beside each experiment
constexpr std::uint64_t kForgotten = 48;  // saves after which what had lost may be tried again
constexpr double kWorthTrying = 0.05;  // seconds of a save, below which nothing is won
constexpr double kWorthChanging = 0.9;  // of the costs so far
// 0: as the policy thinks best, usually a block or a stripe.
constexpr std::array<std::uint64_t, 4> kAlignments = {0, 64 << 10, 1 << 20, 16 << 20};
constexpr std::uint64_t kAlignedParts = 4;  // that a rank must have to be aligned to one

// For people: estimates need no last digit.
std::string about(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return bytes < 1000000 ? fmt::format("{:.0f} kB", value / 1e3)
                         : fmt::format("{:.0f} MB", value / 1e6);
}

std::string_view coding_name(TupleCoding coding) {
  switch (coding) {
    case TupleCoding::kCompact:
      return "compact";
    case TupleCoding::kStreams:
      return "streams";
    case TupleCoding::kBlockwise:
      return "compact or streams, block by block";
    default:
      return "";
  }
}

bool has_shared_files(const AutoFacts& facts) { return facts.ranks > 1; }

// The modes, each with everything else as the policy thinks best. Never empty.
std::vector<LayoutOption> modes_of(const AutoFacts& facts) {
  const TupleCoding coding =
      facts.coding == CodingWish::kFree ? TupleCoding::kCompact : TupleCoding::kAsAsked;
  const auto shared = [coding](std::uint32_t files) {
    return LayoutOption{.mode = CheckpointMode::kSharedOpt, .files = files, .coding = coding};
  };
  if (facts.wished_files != 0 && has_shared_files(facts)) return {shared(facts.wished_files)};
  std::vector<LayoutOption> options = {{.coding = coding}};
  if (!has_shared_files(facts)) return options;
  options.push_back(shared(1));
  if (facts.nodes > 1) options.push_back(shared(static_cast<std::uint32_t>(facts.nodes)));
  return options;
}

bool are_comparable(std::uint64_t one, std::uint64_t other) {
  return one < other * kStale && other < one * kStale;
}

std::uint32_t ranks_per_file(const LayoutOption& option, const AutoFacts& facts) {
  return std::max(1U, static_cast<std::uint32_t>(facts.ranks) / std::max(1U, option.files));
}

bool is_aligned_within_reason(std::uint64_t alignment, const AutoFacts& facts) {
  return alignment == 0 ||
         facts.bytes / static_cast<std::uint64_t>(facts.ranks) / kAlignedParts >= alignment;
}

// Half and twice as many as `number`, within 1 .. most.
void add_steps(std::uint32_t number, std::uint32_t most, std::vector<std::uint32_t>& steps) {
  if (number > 1) steps.push_back(number / 2);
  if (number <= most / 2) steps.push_back(number * 2);
}

void add_file_neighbours(const LayoutOption& option, const AutoFacts& facts,
                         std::vector<LayoutOption>& all) {
  if (facts.wished_files != 0) return;
  std::vector<std::uint32_t> steps;
  add_steps(option.files, static_cast<std::uint32_t>(facts.ranks), steps);
  for (const std::uint32_t files : steps) {
    LayoutOption other = option;
    other.files = files;
    other.aggregators = std::min(other.aggregators, ranks_per_file(other, facts));
    all.push_back(other);
  }
}

void add_aggregator_neighbours(const LayoutOption& option, const AutoFacts& facts,
                               std::vector<LayoutOption>& all) {
  if (facts.wished_aggregators != 0) return;
  const std::uint32_t most = ranks_per_file(option, facts);
  std::vector<std::uint32_t> steps;
  // From what the policy takes by itself, which is none on a local disk.
  if (option.aggregators == 0)
    add_steps(std::max(1U, most / 4), most, steps);
  else
    add_steps(option.aggregators, most, steps);
  if (option.aggregators == 0 && steps.empty()) steps.push_back(1);
  for (const std::uint32_t aggregators : steps) {
    LayoutOption other = option;
    other.aggregators = aggregators;
    all.push_back(other);
  }
  if (option.aggregators == 0) return;
  LayoutOption other = option;
  other.aggregators = 0;
  all.push_back(other);
}

void add_alignment_neighbours(const LayoutOption& option, const AutoFacts& facts,
                              std::vector<LayoutOption>& all) {
  if (facts.wished_alignment != 0) return;
  const auto at = std::find(kAlignments.begin(), kAlignments.end(), option.alignment);
  if (at == kAlignments.end()) return;
  LayoutOption other = option;
  if (at + 1 != kAlignments.end() && is_aligned_within_reason(*(at + 1), facts)) {
    other.alignment = *(at + 1);
    all.push_back(other);
  }
  if (at == kAlignments.begin()) return;
  other.alignment = *(at - 1);
  all.push_back(other);
}

// Whether what was good for other facts may be taken for these.
bool is_allowed(const LayoutOption& option, const AutoFacts& facts) {
  const bool shared = option.mode == CheckpointMode::kSharedOpt;
  if (shared && !has_shared_files(facts)) return false;
  if (!shared && facts.wished_files != 0 && has_shared_files(facts)) return false;
  if ((option.coding == TupleCoding::kAsAsked) != (facts.coding == CodingWish::kAsAsked))
    return false;
  return option.files <= static_cast<std::uint32_t>(facts.ranks) || facts.wished_files != 0;
}

}  // namespace

std::string option_text(const LayoutOption& option) {
  std::string text(mode_name(option.mode));
  if (option.files != 0)
    text += fmt::format(" over {} file{}", option.files, option.files == 1 ? "" : "s");
  if (option.aggregators != 0)
    text +=
        fmt::format(", {} aggregator{}", option.aggregators, option.aggregators == 1 ? "" : "s");
  if (option.alignment != 0) text += fmt::format(", aligned to {}", bytes_text(option.alignment));
  if (option.relations_per_file == kAllRelations) text += ", all relations in one file";
  if (option.coding != TupleCoding::kAsAsked)
    text += fmt::format(", {}", coding_name(option.coding));
  return text;
}

std::vector<LayoutOption> neighbours(const LayoutOption& option, const AutoFacts& facts) {
  std::vector<LayoutOption> all;
  for (LayoutOption mode : modes_of(facts)) {
    mode.coding = option.coding;
    if (mode.mode != option.mode) all.push_back(mode);
  }
  if (facts.coding == CodingWish::kFree)
    for (const TupleCoding coding :
         {TupleCoding::kCompact, TupleCoding::kStreams, TupleCoding::kBlockwise})
      if (coding != option.coding) {
        all.push_back(option);
        all.back().coding = coding;
      }
  if (facts.wished_relations == 0 && facts.images > 1) {
    all.push_back(option);
    all.back().relations_per_file = option.relations_per_file == 0 ? kAllRelations : 0;
  }
  if (option.mode != CheckpointMode::kSharedOpt) return all;
  add_file_neighbours(option, facts, all);
  add_aggregator_neighbours(option, facts, all);
  add_alignment_neighbours(option, facts, all);
  return all;
}

AutoChoice choose_by_table(const AutoFacts& facts) {
  const std::vector<LayoutOption> options = modes_of(facts);
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

LayoutOption LayoutLearner::settled(const AutoFacts& facts) const {
  if (settled_ && facts.bytes >= kMinBytes && is_allowed(*settled_, facts) &&
      find(*settled_, facts) != nullptr)
    return *settled_;
  return choose_by_table(facts).option;
}

bool LayoutLearner::is_to_be_tried(const LayoutOption& option, const AutoFacts& facts) const {
  const Cost* const cost = find(option, facts);
  return cost == nullptr || saves_ - cost->last > kForgotten;
}

// The mode comes first, as it decides most; then one neighbour after the other, with saves as usual
// in between.
std::optional<LayoutOption> LayoutLearner::next_try(const Cost& settled,
                                                    const AutoFacts& facts) const {
  if (settled.saves < kSavesBeforeTrying ||
      settled.seconds_per_byte * static_cast<double>(facts.bytes) < kWorthTrying)
    return std::nullopt;
  for (const LayoutOption& option : modes_of(facts))
    if (find(option, facts) == nullptr && !(option == settled.option)) return option;
  if (since_try_ < kSavesBetweenTries) return std::nullopt;
  for (const LayoutOption& option : neighbours(settled.option, facts))
    if (is_to_be_tried(option, facts)) return option;
  return std::nullopt;
}

std::string LayoutLearner::measured_text(const AutoFacts& facts) const {
  std::string text;
  for (const Cost& cost : costs_) {
    if (!are_comparable(cost.bytes, facts.bytes)) continue;
    text += fmt::format("{}{}: {:.3f} s for about {} expected after {} save{}",
                        text.empty() ? "" : "; ", option_text(cost.option),
                        cost.seconds_per_byte * static_cast<double>(facts.bytes),
                        about(facts.bytes), cost.saves, cost.saves == 1 ? "" : "s");
  }
  return text;
}

AutoChoice LayoutLearner::choose(const AutoFacts& facts) const {
  AutoChoice choice = choose_by_table(facts);
  if (facts.bytes < kMinBytes) return choice;
  const LayoutOption option = settled(facts);
  const Cost* const cost = find(option, facts);
  if (cost == nullptr) return choice;
  choice.reasons.push_back({"auto: measured", measured_text(facts)});
  if (const auto next = next_try(*cost, facts)) {
    choice.reasons.push_back(
        {"auto: choice", fmt::format("{}, to measure it at this size", option_text(*next))});
    choice.option = *next;
    return choice;
  }
  const bool by_table = option == choice.option;
  choice.option = option;
  choice.reasons.push_back(
      {"auto: choice", fmt::format("{}, {}", option_text(option),
                                   by_table ? "as in the table; nothing measured is a tenth cheaper"
                                            : "no other that was measured is a tenth cheaper")});
  return choice;
}

// Goes over to the cheapest where it is a tenth cheaper than what is settled.
void LayoutLearner::settle(const AutoFacts& facts) {
  settled_ = settled(facts);
  const Cost* const now = find(*settled_, facts);
  if (now == nullptr) return;
  const Cost* best = now;
  for (const Cost& cost : costs_)
    if (are_comparable(cost.bytes, facts.bytes) && is_allowed(cost.option, facts) &&
        cost.seconds_per_byte < best->seconds_per_byte)
      best = &cost;
  if (best->seconds_per_byte < now->seconds_per_byte * kWorthChanging) settled_ = best->option;
}

void LayoutLearner::learn(const LayoutOption& option, const AutoFacts& facts, double seconds) {
  if (facts.bytes == 0) return;
  const double now = seconds / static_cast<double>(facts.bytes);
  since_try_ = option == settled(facts) ? since_try_ + 1 : 0;
  ++saves_;
  auto cost =
      std::find_if(costs_.begin(), costs_.end(), [&](const Cost& c) { return c.option == option; });
  if (cost == costs_.end()) cost = costs_.insert(cost, {.option = option});
  const bool same_size = cost->saves != 0 && are_comparable(cost->bytes, facts.bytes);
  cost->seconds_per_byte = same_size ? (cost->seconds_per_byte + now) / 2 : now;
  cost->saves = same_size ? cost->saves + 1 : 1;
  cost->bytes = facts.bytes;
  cost->last = saves_;
  settle(facts);
}

}  // namespace stratalog
