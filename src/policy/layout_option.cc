// SPDX-License-Identifier: Apache-2.0
#include "policy/layout_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policy/ladder_plan.h"
#include "policy/plan_layout.h"
#include "policy/thresholds.h"

namespace stratalog {
namespace {

// 0: as the policy thinks best, usually a block or a stripe.
std::array<std::uint64_t, 4> tried_alignments() {
  return {0, value_of(Limit::kFirstTriedAlignment), value_of(Limit::kSecondTriedAlignment),
          value_of(Limit::kThirdTriedAlignment)};
}

std::array<std::uint32_t, 5> tried_levels() {
  const auto level = [](Limit limit) { return static_cast<std::uint32_t>(value_of(limit)); };
  return {0, level(Limit::kDeflateLevel), level(Limit::kFirstTriedDeflate),
          level(Limit::kSecondTriedDeflate), level(Limit::kThirdTriedDeflate)};
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

// Of the HDF5 modes: one that writes a tiny output lets one rank write, and deflates nothing.
bool is_tiny(const AutoFacts& facts) { return tier_of(facts.bytes) == SizeTier::kTiny; }

std::vector<LayoutOption> starting_rows(const AutoFacts& facts) {
  const std::uint32_t files = std::max(1U, facts.wished_files);
  std::vector<LayoutOption> options;
  if (facts.wished_deflate.value_or(0) == 0)
    options.push_back(
        {.mode = CheckpointMode::kHdf5Direct,
         .files = facts.wished_files != 0
                      ? facts.wished_files
                      : plan_direct_files(facts.file_system,
                                          static_cast<std::uint64_t>(facts.ranks), facts.bytes)});
  const auto add_opt = [&](std::uint32_t level) {
    options.push_back({.mode = CheckpointMode::kHdf5Opt, .files = files, .deflate_level = level});
  };
  // Where deflate is asked for and nobody can, the writer says so.
  if (facts.collective_hdf5 == CollectiveHdf5::kMissing && !options.empty()) return options;
  if (facts.wished_deflate) {
    add_opt(*facts.wished_deflate);
    return options;
  }
  add_opt(0);
  if (!is_tiny(facts)) add_opt(tried_levels()[1]);
  return options;
}

std::vector<LayoutOption> starting_encoded(const AutoFacts& facts) {
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

std::uint32_t ranks_per_file(const LayoutOption& option, const AutoFacts& facts) {
  return std::max(1U, static_cast<std::uint32_t>(facts.ranks) / std::max(1U, option.files));
}

bool is_aligned_within_reason(std::uint64_t alignment, const AutoFacts& facts) {
  // Data sets of HDF5 begin at multiples of it.
  const auto parts = static_cast<std::uint64_t>(
      facts.format == LearnedFormat::kRows
          ? std::max(static_cast<std::uint32_t>(facts.ranks), facts.images)
          : static_cast<std::uint32_t>(facts.ranks));
  return alignment == 0 || facts.bytes / parts / value_of(Limit::kTriedAlignmentWorth) >= alignment;
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
  const auto alignments = tried_alignments();
  const auto at = std::find(alignments.begin(), alignments.end(), option.alignment);
  if (at == alignments.end()) return;
  LayoutOption other = option;
  if (at + 1 != alignments.end() && is_aligned_within_reason(*(at + 1), facts)) {
    other.alignment = *(at + 1);
    all.push_back(other);
  }
  if (at == alignments.begin()) return;
  other.alignment = *(at - 1);
  all.push_back(other);
}

void add_deflate_neighbours(const LayoutOption& option, const AutoFacts& facts,
                            std::vector<LayoutOption>& all) {
  if (facts.wished_deflate || is_tiny(facts)) return;
  const auto levels = tried_levels();
  const auto at = std::find(levels.begin(), levels.end(), option.deflate_level.value_or(0));
  if (at == levels.end()) return;
  // Two steps up, as one alone may win less than is worth a change; but the last level by itself,
  // which takes several times as long as the one before.
  const auto most_steps = std::min<std::ptrdiff_t>(2, levels.end() - at - 1);
  for (std::ptrdiff_t step = 1; step <= most_steps; ++step) {
    if (step > 1 && at[step] == levels.back()) continue;
    all.push_back(option);
    all.back().deflate_level = at[step];
  }
  if (at == levels.begin()) return;
  all.push_back(option);
  all.back().deflate_level = *(at - 1);
}

void add_mode_neighbours(const LayoutOption& option, const AutoFacts& facts,
                         std::vector<LayoutOption>& all) {
  const std::vector<LayoutOption> starts = starting_options(facts);
  // Each mode over as many files as the table gives it, until another number was found better.
  const bool has_usual_files = std::any_of(starts.begin(), starts.end(), [&](const auto& start) {
    return start.mode == option.mode && start.files == option.files;
  });
  for (LayoutOption other : starts) {
    if (other.mode == option.mode) continue;
    other.coding = option.coding;
    if (facts.format == LearnedFormat::kRows) {
      if (!has_usual_files) other.files = option.files;
      other.relations_per_file = option.relations_per_file;
      other.alignment = option.alignment;
    }
    all.push_back(other);
  }
}

// Of the modes that write rows.
bool are_rows_allowed(const LayoutOption& option, const AutoFacts& facts) {
  const bool is_opt = option.mode == CheckpointMode::kHdf5Opt;
  if (!is_opt && option.mode != CheckpointMode::kHdf5Direct) return false;
  const std::uint32_t level = option.deflate_level.value_or(0);
  if (facts.wished_deflate && level != *facts.wished_deflate) return false;
  if (!facts.wished_deflate && level != 0 && is_tiny(facts)) return false;
  return !is_opt || facts.collective_hdf5 == CollectiveHdf5::kThere;
}

bool is_encoded_allowed(const LayoutOption& option, const AutoFacts& facts) {
  const bool shared = option.mode == CheckpointMode::kSharedOpt;
  if (!shared && option.mode != CheckpointMode::kFilePerProcess) return false;
  if (shared && !has_shared_files(facts)) return false;
  if (!shared && facts.wished_files != 0 && has_shared_files(facts)) return false;
  return (option.coding == TupleCoding::kAsAsked) == (facts.coding == CodingWish::kAsAsked);
}

// A user's number of files is taken to the letter, also beyond the number of ranks.
bool are_files_allowed(const LayoutOption& option, const AutoFacts& facts) {
  if (option.mode == CheckpointMode::kFilePerProcess) return true;
  if (facts.wished_files != 0) return option.files == facts.wished_files;
  return option.files <= static_cast<std::uint32_t>(facts.ranks);
}

}  // namespace

bool is_possible(const LayoutOption& option) {
  const bool is_own = option.mode == CheckpointMode::kFilePerProcess;
  const bool is_opt = option.mode == CheckpointMode::kHdf5Opt;
  const bool has_rows = is_opt || option.mode == CheckpointMode::kHdf5Direct;
  const bool has_aggregators = is_opt || option.mode == CheckpointMode::kSharedOpt;
  if (!is_own && !has_rows && !has_aggregators) return false;
  if (is_own ? option.files != 0 || option.alignment != 0 : option.files == 0) return false;
  if (option.aggregators != 0 && !has_aggregators) return false;
  if (option.deflate_level && (!is_opt || *option.deflate_level > tried_levels().back()))
    return false;
  if (has_rows && option.coding != TupleCoding::kAsAsked) return false;
  const auto alignments = tried_alignments();
  return std::find(alignments.begin(), alignments.end(), option.alignment) != alignments.end();
}

bool is_allowed(const LayoutOption& option, const AutoFacts& facts) {
  const bool is_of_format = facts.format == LearnedFormat::kRows
                                ? are_rows_allowed(option, facts)
                                : is_encoded_allowed(option, facts);
  return is_of_format && are_files_allowed(option, facts);
}

double least_seconds(const LayoutOption& option, const AutoFacts& facts) {
  if (option.deflate_level.value_or(0) == 0) return 0;
  return static_cast<double>(facts.bytes) / facts.ranks /
         static_cast<double>(value_of(Limit::kMostDeflated));
}

std::vector<LayoutOption> starting_options(const AutoFacts& facts) {
  return facts.format == LearnedFormat::kRows ? starting_rows(facts) : starting_encoded(facts);
}

std::string about_bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return bytes < 1000000 ? fmt::format("{:.0f} kB", value / 1e3)
                         : fmt::format("{:.0f} MB", value / 1e6);
}

std::string option_text(const LayoutOption& option) {
  std::string text(mode_name(option.mode));
  if (option.files != 0)
    text += fmt::format(" over {} file{}", option.files, option.files == 1 ? "" : "s");
  if (option.aggregators != 0)
    text +=
        fmt::format(", {} aggregator{}", option.aggregators, option.aggregators == 1 ? "" : "s");
  if (option.alignment != 0) text += fmt::format(", aligned to {}", bytes_text(option.alignment));
  if (option.relations_per_file == kAllRelations) text += ", all relations in one file";
  if (option.relations_per_file == 1) text += ", a file for each relation";
  if (option.deflate_level)
    text += *option.deflate_level == 0 ? ", contiguous"
                                       : fmt::format(", deflate {}", *option.deflate_level);
  if (option.coding != TupleCoding::kAsAsked)
    text += fmt::format(", {}", coding_name(option.coding));
  return text;
}

std::vector<LayoutOption> neighbours(const LayoutOption& option, const AutoFacts& facts) {
  const bool has_rows = facts.format == LearnedFormat::kRows;
  std::vector<LayoutOption> all;
  add_mode_neighbours(option, facts, all);
  if (facts.coding == CodingWish::kFree && !has_rows)
    for (const TupleCoding coding :
         {TupleCoding::kCompact, TupleCoding::kStreams, TupleCoding::kBlockwise})
      if (coding != option.coding) {
        all.push_back(option);
        all.back().coding = coding;
      }
  const bool is_opt = option.mode == CheckpointMode::kHdf5Opt;
  if (is_opt) add_deflate_neighbours(option, facts, all);
  if (facts.wished_relations == 0 && facts.images > 1) {
    const std::uint32_t other = has_rows ? 1 : kAllRelations;  // than what the policy takes
    all.push_back(option);
    all.back().relations_per_file = option.relations_per_file == 0 ? other : 0;
  }
  if (option.mode == CheckpointMode::kFilePerProcess) return all;
  add_file_neighbours(option, facts, all);
  if (option.mode == CheckpointMode::kSharedOpt || (is_opt && !is_tiny(facts)))
    add_aggregator_neighbours(option, facts, all);
  add_alignment_neighbours(option, facts, all);
  return all;
}

namespace {

AutoChoice say(const LayoutOption& option, std::string_view why) {
  return {.option = option, .reasons = {{"auto", fmt::format("{}: {}", option_text(option), why)}}};
}

// HDF5-OPT's rule for deflate, and hdf5-direct wherever it leaves rows as they are.
AutoChoice choose_rows_by_table(const AutoFacts& facts) {
  const std::vector<LayoutOption> options = starting_rows(facts);
  const LayoutOption& first = options.front();
  if (options.size() == 1)
    return say(first, first.mode == CheckpointMode::kHdf5Opt
                          ? "a deflate level was asked for"
                          : "collective HDF5 needs MPI, and ranks that are its processes");
  if (is_tiny(facts)) return say(first, "less than 10 MB");
  if (!blocks_are_contended(facts.file_system.kind))
    return say(first, fmt::format("{} takes rows faster than deflate gives them, and no rank "
                                  "waits for another",
                                  facts.file_system.name));
  if (facts.wished_deflate) return say(first, "no deflate was asked for");
  if (tier_of(facts.bytes) == SizeTier::kLarge)
    return say(first, fmt::format("more than 10 GB ({})", source_of(Limit::kDeflateLevel)));
  const std::uint64_t mean = facts.bytes / static_cast<std::uint64_t>(facts.ranks);
  if (facts.largest_rank_bytes > value_of(Limit::kGiantRatio) * mean)
    return say(first,
               fmt::format("one rank has {} of {} ({})", about_bytes(facts.largest_rank_bytes),
                           about_bytes(facts.bytes), source_of(Limit::kDeflateLevel)));
  return say(options.back(), fmt::format("{} on {}, balanced ({})", about_bytes(facts.bytes),
                                         facts.file_system.name, source_of(Limit::kDeflateLevel)));
}

AutoChoice choose_encoded_by_table(const AutoFacts& facts) {
  const std::vector<LayoutOption> options = starting_encoded(facts);
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
  if (files > value_of(Limit::kManyFiles) && facts.bytes / files < value_of(Limit::kSmallFile))
    return say(options.back(),
               fmt::format("{} files of {} on {} would cost more than they hold", files,
                           about_bytes(facts.bytes / files), facts.file_system.name));
  const std::uint64_t mean = facts.bytes / static_cast<std::uint64_t>(facts.ranks);
  if (facts.largest_rank_bytes >= value_of(Limit::kGiantBytes) &&
      facts.largest_rank_bytes > value_of(Limit::kGiantRatio) * mean)
    return say(options.back(),
               fmt::format("one rank has {} of {}, which aggregators write together",
                           about_bytes(facts.largest_rank_bytes), about_bytes(facts.bytes)));
  return say(options.front(),
             fmt::format("{} files of {} on {}; a file per process was faster than a shared one "
                         "up to 4,096 ranks (RA-checkpoint IV.B)",
                         files, about_bytes(facts.bytes / std::max<std::uint64_t>(files, 1)),
                         facts.file_system.name));
}

}  // namespace

AutoChoice choose_by_table(const AutoFacts& facts) {
  return facts.format == LearnedFormat::kRows ? choose_rows_by_table(facts)
                                              : choose_encoded_by_table(facts);
}

}  // namespace stratalog
