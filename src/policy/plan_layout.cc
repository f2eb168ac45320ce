// SPDX-License-Identifier: Apache-2.0
#include "policy/plan_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "policy/ladder_plan.h"
#include "policy/layout_option.h"
#include "policy/skew.h"
#include "policy/thresholds.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kSharedAlignment = 4096;
constexpr std::uint64_t kMostAlignment = std::uint64_t{1} << 30;

Status check_wishes(const LayoutFacts& facts, const LayoutWishes& wishes) {
  if (is_learned(wishes.mode))
    return Status::invalid_argument(
        fmt::format("mode {} must be resolved before a layout is planned", mode_name(wishes.mode)));
  if (facts.ranks < 1) return Status::invalid_argument("a layout for no ranks");
  for (const DatasetFacts& dataset : facts.datasets)
    if (dataset.rows_of_rank.size() != static_cast<std::size_t>(facts.ranks) ||
        dataset.columns == 0)
      return Status::invalid_argument("a data set needs columns, and rows of every rank");
  if (wishes.files > 1 && wishes.mode == CheckpointMode::kFilePerProcess)
    return Status::invalid_argument(
        "--files spreads ranks over shared files; mode fpp has one per rank anyway, use shared, "
        "shared-opt or one of the hdf5 modes");
  if (wishes.alignment > kMostAlignment ||
      (wishes.alignment != 0 && !std::has_single_bit(wishes.alignment)))
    return Status::invalid_argument(
        fmt::format("an alignment is a power of two up to 1 GiB, not {}", wishes.alignment));
  if (wishes.deflate_level.value_or(0) > 9)
    return Status::invalid_argument(
        fmt::format("deflate levels are 0 to 9, not {}", *wishes.deflate_level));
  return Status::ok();
}

// The unit over which ranks on different machines fight, if they do.
std::uint64_t contended_unit(const FileSystemFacts& fs) {
  return std::max(fs.block_bytes, fs.stripe_bytes);
}

void plan_striping(const LayoutFacts& facts, std::uint64_t output, LayoutPlan& plan) {
  if (facts.file_system.kind != FileSystemKind::kLustre) {
    plan.reasons.push_back(
        {"striping", fmt::format("none: {} has no stripes to set", facts.file_system.name)});
    return;
  }
  if (plan.mode == CheckpointMode::kFilePerProcess ||
      output / plan.files <= value_of(Limit::kStripedOutput)) {
    plan.reasons.push_back({"striping", "the file system's default: no file above 1 GiB"});
    return;
  }
  plan.striping.stripe_count = static_cast<std::uint32_t>(value_of(Limit::kStripeCount));
  plan.striping.stripe_bytes = value_of(Limit::kStripeBytes);
  plan.reasons.push_back(
      {"striping",
       fmt::format("{} stripes of {} asked for: files above 1 GiB ({})", plan.striping.stripe_count,
                   bytes_text(plan.striping.stripe_bytes), source_of(Limit::kStripeCount))});
}

void plan_files(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
                LayoutPlan& plan) {
  plan.relations_per_file = wishes.relations_per_file != 0 ? wishes.relations_per_file
                            : stores_blocks(plan.mode)     ? 1
                                                           : 0;
  if (plan.mode == CheckpointMode::kFilePerProcess) return;
  std::uint32_t files = wishes.files;
  if (files == 0 && plan.mode == CheckpointMode::kHdf5Direct)
    files = plan_direct_files(facts.file_system, static_cast<std::uint64_t>(facts.ranks), output);
  if (files <= 1) {
    // Wishes are the user's or what a learned mode chose, whose own reasons come first.
    plan.reasons.push_back(
        {"files", wishes.files == 1 ? "one group of ranks, as chosen" : "all ranks share files"});
    return;
  }
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(facts.ranks), 0);
  for (const DatasetFacts& dataset : facts.datasets)
    for (std::size_t r = 0; r < bytes.size(); ++r)
      bytes[r] += dataset.rows_of_rank[r] * dataset.row_bytes();
  plan.file_of_rank = group_ranks(bytes, facts.node_of_rank, files);
  plan.files = *std::max_element(plan.file_of_rank.begin(), plan.file_of_rank.end()) + 1;
  if (plan.files == 1) plan.file_of_rank.clear();
  plan.reasons.push_back(
      {"files", fmt::format("{} groups of ranks of about equal bytes, each with files of its own "
                            "({})",
                            plan.files,
                            wishes.files != 0
                                ? fmt::format("{} chosen", wishes.files)
                                : fmt::format("one kernel lets one writer at a time into a file; "
                                              "{} or more for each, {} at most",
                                              about_bytes(value_of(Limit::kLeastOwnFile)),
                                              value_of(Limit::kMostOwnFiles)))});
}

void plan_alignment(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
                    LayoutPlan& plan) {
  const FileSystemFacts& fs = facts.file_system;
  const bool contended = blocks_are_contended(fs.kind);
  const std::uint64_t unit = contended ? contended_unit(fs) : fs.block_bytes;
  plan.extent_alignment = kSharedAlignment;
  // What lies between two ranks is written, too: whole stripes only where ranks fill several.
  const bool worth = output / plan.files / static_cast<std::uint64_t>(facts.ranks) /
                         value_of(Limit::kAlignmentWorth) >=
                     unit;
  if (plan.mode == CheckpointMode::kSharedOpt)
    plan.extent_alignment = std::max(worth ? unit : fs.block_bytes, kSharedAlignment);
  if (stores_streams(plan.mode)) plan.extent_alignment = std::max(fs.block_bytes, kSharedAlignment);
  plan.edge_alignment = contended ? unit : 1;
  std::string why =
      contended ? fmt::format("{}: writers on {} must not share {}", bytes_text(unit), fs.name,
                              fs.stripe_bytes != 0 ? "a stripe" : "a block")
                : fmt::format(
                      "{} blocks of {}; ranks may meet inside one, as one kernel's page cache "
                      "serves them all",
                      fs.name, bytes_text(fs.block_bytes));
  if (wishes.alignment != 0) {
    plan.extent_alignment = std::max(wishes.alignment, kSharedAlignment);
    plan.edge_alignment = wishes.alignment;
    why = fmt::format("{}, as chosen", bytes_text(wishes.alignment));
  }
  // What does not fill a unit travels to the rank that writes it, so that nothing lies between.
  if (stores_streams(plan.mode) && plan.edge_alignment > 1) plan.extent_alignment = 1;
  plan.reasons.push_back({"alignment", why});
}

void plan_direct(const LayoutFacts& facts, LayoutPlan& plan) {
  plan.creation = FileCreation::kRankZeroLaysOut;
  std::uint64_t output = 0;
  for (const DatasetFacts& dataset : facts.datasets) output += dataset.rows() * dataset.row_bytes();
  const std::uint64_t block = facts.file_system.block_bytes;
  const std::uint64_t unit = std::max(plan.edge_alignment, block);
  const bool worth =
      output / std::max<std::size_t>(1, facts.datasets.size()) / value_of(Limit::kAlignmentWorth) >=
      unit;
  plan.tuning.align_from = block;
  plan.tuning.alignment = worth ? unit : block;
  plan.datasets.assign(
      facts.datasets.size(),
      {.space = SpaceTime::kEarly, .fill = FillValues::kNever, .phase_of_rank = {}});
  plan.reasons.push_back(
      {"direct",
       fmt::format(
           "one rank a file lays out contiguous data sets from multiples of {}; all ranks write "
           "their rows at the offsets, without a collective of HDF5 or MPI-IO",
           bytes_text(plan.tuning.alignment))});
}

void plan_stream_files(const LayoutFacts& facts, const LayoutWishes& wishes, LayoutPlan& plan) {
  const auto level =
      wishes.deflate_level.value_or(static_cast<std::uint32_t>(value_of(Limit::kDeflateLevel)));
  plan.creation = FileCreation::kRankZeroLaysOut;
  plan.datasets.assign(facts.datasets.size(), {.deflate_level = level, .phase_of_rank = {}});
  plan.reasons.push_back(
      {"streams",
       fmt::format("ranks append chunks, shuffled and {}, and rank 0 lays out the HDF5 file around "
                   "them; without a collective of HDF5 or MPI-IO",
                   level == 0 ? "not deflated" : fmt::format("deflated at level {}", level))});
}

}  // namespace

std::uint32_t plan_direct_files(const FileSystemFacts& file_system, std::uint64_t ranks,
                                std::uint64_t bytes) {
  if (blocks_are_contended(file_system.kind)) return 1;
  const std::uint64_t most = std::min(ranks, value_of(Limit::kMostOwnFiles));
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, std::min(most, bytes / value_of(Limit::kLeastOwnFile))));
}

std::uint64_t DatasetFacts::rows() const {
  return std::accumulate(rows_of_rank.begin(), rows_of_rank.end(), std::uint64_t{0});
}

Result<LayoutPlan> plan_layout(const LayoutFacts& facts, const LayoutWishes& wishes) {
  STRATALOG_RETURN_IF_ERROR(check_wishes(facts, wishes));
  LayoutPlan plan;
  plan.mode = wishes.mode;
  std::uint64_t rows_bytes = 0;
  for (const DatasetFacts& dataset : facts.datasets)
    rows_bytes += dataset.rows() * dataset.row_bytes();
  const std::uint64_t output =
      stores_rows(plan.mode) ? rows_bytes : rows_bytes / 1000 * facts.encoded_milli;
  plan_files(facts, wishes, output, plan);
  plan_striping(facts, output, plan);
  plan_alignment(facts, wishes, output, plan);
  switch (plan.mode) {
    case CheckpointMode::kSharedOpt:
      plan_hints(facts, wishes, output / plan.files, plan);
      break;
    case CheckpointMode::kHdf5:
      plan.datasets.assign(
          facts.datasets.size(),
          {.space = SpaceTime::kEarly, .fill = FillValues::kNever, .phase_of_rank = {}});
      plan.reasons.push_back({"baseline", "contiguous data sets, collective hyperslabs, no hints"});
      break;
    case CheckpointMode::kHdf5Opt:
      plan_ladder(facts, wishes, output / plan.files, plan);
      break;
    case CheckpointMode::kHdf5Direct:
      plan_direct(facts, plan);
      break;
    case CheckpointMode::kHdf5Streams:
      plan_stream_files(facts, wishes, plan);
      break;
    default:
      break;
  }
  return plan;
}

std::vector<std::uint32_t> group_ranks(std::span<const std::uint64_t> bytes_of_rank,
                                       std::span<const int> node_of_rank, std::uint32_t files) {
  const std::size_t ranks = bytes_of_rank.size();
  if (!node_of_rank.empty() &&
      *std::max_element(node_of_rank.begin(), node_of_rank.end()) + 1 == static_cast<int>(files))
    return {node_of_rank.begin(), node_of_rank.end()};
  // Units that stay together: nodes (whose ranks may lie apart, then ranks it is), else ranks.
  std::vector<std::size_t> unit_begin;
  for (std::size_t r = 0; r < ranks; ++r)
    if (r == 0 || node_of_rank.empty() || node_of_rank[r] != node_of_rank[r - 1])
      unit_begin.push_back(r);
  if (unit_begin.size() < files) {
    unit_begin.resize(ranks);
    std::iota(unit_begin.begin(), unit_begin.end(), std::size_t{0});
  }
  const std::size_t units = unit_begin.size();
  const std::uint64_t groups = std::min<std::uint64_t>(files, units);
  // One byte for each rank besides its own, so that ranks without bytes are spread, too.
  std::uint64_t total = ranks;
  for (const std::uint64_t b : bytes_of_rank) total += b;
  __extension__ using Wide = unsigned __int128;
  std::vector<std::uint32_t> file_of(ranks, 0);
  std::uint64_t before = 0;
  std::uint64_t share_before = 0;
  std::uint32_t file = 0;
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t end = u + 1 < units ? unit_begin[u + 1] : ranks;
    std::uint64_t mine = 0;
    for (std::size_t r = unit_begin[u]; r < end; ++r) mine += bytes_of_rank[r] + 1;
    // The share of the total in which the unit's middle lies. A giant may skip shares; files are
    // numbered without gaps.
    const auto share =
        static_cast<std::uint64_t>((Wide{before} * 2 + mine) * groups / (Wide{total} * 2));
    if (u > 0 && share != share_before) ++file;
    share_before = share;
    for (std::size_t r = unit_begin[u]; r < end; ++r) file_of[r] = file;
    before += mine;
  }
  return file_of;
}

}  // namespace stratalog
