// SPDX-License-Identifier: Apache-2.0
#include "policy/ladder_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/byte_units.h"
#include "policy/skew.h"
#include "policy/thresholds.h"

namespace stratalog {
namespace {

// A value of each size tier that has a row in the table.
struct TierLimits {
  Limit divisor;
  Limit most;
  Limit align_from;
  Limit alignment;
};

TierLimits limits_of(SizeTier tier) {
  switch (tier) {
    case SizeTier::kTiny:
      return {Limit::kSmallAggregatorDivisor, Limit::kSmallAggregators, Limit::kTinyAlignmentFrom,
              Limit::kTinyAlignment};
    case SizeTier::kSmall:
      return {Limit::kSmallAggregatorDivisor, Limit::kSmallAggregators, Limit::kSmallAlignmentFrom,
              Limit::kSmallAlignment};
    case SizeTier::kMedium:
      return {Limit::kMediumAggregatorDivisor, Limit::kMediumAggregators,
              Limit::kMediumAlignmentFrom, Limit::kMediumAlignment};
    case SizeTier::kLarge:
      break;
  }
  return {Limit::kLargeAggregatorDivisor, Limit::kLargeAggregators, Limit::kLargeAlignmentFrom,
          Limit::kLargeAlignment};
}

// One kernel merges what the ranks write: collective buffering would only copy rows around.
bool writes_alone(const LayoutFacts& facts, const LayoutWishes& wishes) {
  if (blocks_are_contended(facts.file_system.kind) || wishes.aggregators != 0) return false;
  return std::none_of(
      printed_details().begin(), printed_details().end(), [&](const DetailRow& row) {
        return row.step == LadderStep::kHints && wishes.ladder.as_printed(row.detail);
      });
}

// Of a new file of this plan, where that is known; else 0.
std::uint64_t stripes_of_file(const LayoutFacts& facts, const LayoutPlan& plan) {
  if (facts.file_system.kind != FileSystemKind::kLustre) return 0;
  return plan.striping.stripe_count != 0 ? plan.striping.stripe_count
                                         : facts.file_system.stripe_count;
}

// Takes the steps one after another; each says what it decided and why.
class Ladder {
 public:
  Ladder(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
         LayoutPlan& plan)
      : facts_(facts), wishes_(wishes), output_(output), plan_(plan), choice_(wishes.ladder) {}

  void climb() {
    plan_.ladder = choice_;
    plan_.datasets.resize(facts_.datasets.size());
    creation();
    layout();
    allocation();
    if (plan_.creation == FileCreation::kRankZeroOnly) {
      say(LadderStep::kHints, "not needed: rank 0 writes alone");
    } else if (choice_.takes(LadderStep::kHints)) {
      plan_hints(facts_, wishes_, output_, plan_);
      if (writes_alone(facts_, wishes_))
        for (DatasetPlan& dataset : plan_.datasets)
          if (dataset.layout == DataLayout::kContiguous)
            dataset.transfer = RowTransfer::kIndependent;
    } else {
      say(LadderStep::kHints, "off: ROMIO's defaults");
    }
    tuning();
    phases();
  }

 private:
  void say(LadderStep step, std::string text) {
    plan_.reasons.push_back(
        {std::string(ladder_steps()[static_cast<std::size_t>(step)].name), std::move(text)});
  }
  EmptyRanks empty_ranks() const {
    return choice_.as_printed(PrintedDetail::kEmptyRanks) ? EmptyRanks::kAsPrinted
                                                          : EmptyRanks::kLeftOut;
  }

  void creation() {
    const bool tiny = tier_of(output_) == SizeTier::kTiny;
    const std::string size = bytes_text(output_);
    if (!choice_.takes(LadderStep::kTinyGather)) {
      say(LadderStep::kTinyGather, "off");
    } else if (tiny && plan_.files > 1) {
      say(LadderStep::kTinyGather, "not taken: several files are asked for");
    } else if (tiny) {
      plan_.creation = FileCreation::kRankZeroOnly;
      say(LadderStep::kTinyGather,
          fmt::format("rank 0 collects {} and writes alone: less than {} ({})", size,
                      bytes_text(value_of(Limit::kTinyOutput)), source_of(Limit::kTinyOutput)));
      say(LadderStep::kSerialCreate, "not needed: rank 0 writes alone");
      return;
    } else {
      say(LadderStep::kTinyGather, fmt::format("not taken: {} are not less than {}", size,
                                               bytes_text(value_of(Limit::kTinyOutput))));
    }
    if (!choice_.takes(LadderStep::kSerialCreate)) {
      say(LadderStep::kSerialCreate, "off: all ranks create the file together");
      return;
    }
    plan_.creation = FileCreation::kByRankZero;
    say(LadderStep::kSerialCreate, "rank 0 creates file and data sets, then all ranks open it");
    if (choice_.as_printed(PrintedDetail::kTransferBuffer)) {
      const bool huge = output_ > value_of(Limit::kHugeOutput);
      plan_.tuning.transfer_bytes =
          value_of(huge ? Limit::kHugeTransferBuffer : Limit::kTransferBuffer);
      say(LadderStep::kSerialCreate,
          fmt::format("as printed: a transfer buffer of {}, unused without type conversion",
                      bytes_text(plan_.tuning.transfer_bytes)));
    }
  }

  void layout() {
    if (!choice_.takes(LadderStep::kLayout)) {
      say(LadderStep::kLayout, "off: contiguous");
      return;
    }
    if (plan_.creation == FileCreation::kRankZeroOnly) {
      say(LadderStep::kLayout, "contiguous: a tiny output");
      return;
    }
    for (std::size_t i = 0; i < facts_.datasets.size(); ++i) choose_layout(i);
  }

  // Why a data set stays contiguous; empty: it does not.
  std::string why_contiguous(std::uint64_t bytes, const std::vector<std::uint64_t>& rows_of_rank) {
    if (tier_of(bytes) == SizeTier::kTiny) return "less than 10 MB";
    if (wishes_.deflate_level)
      return *wishes_.deflate_level == 0 ? "no deflate, as chosen" : std::string();
    if (tier_of(bytes) == SizeTier::kLarge) return "more than 10 GB";
    const Skew skew = measure_skew(rows_of_rank);
    if (skew.ratio_exceeds(value_of(Limit::kUnevenRatio), empty_ranks()))
      return fmt::format(
          "largest rank {} rows, smallest {}", skew.largest,
          choice_.as_printed(PrintedDetail::kEmptyRanks) && skew.empty != 0 ? 0 : skew.smallest);
    if (!blocks_are_contended(facts_.file_system.kind) &&
        !choice_.as_printed(PrintedDetail::kDeflateLocal))
      return fmt::format("{} takes rows faster than deflate gives them", facts_.file_system.name);
    return {};
  }

  void choose_layout(std::size_t index) {
    const DatasetFacts& about = facts_.datasets[index];
    DatasetPlan& dataset = plan_.datasets[index];
    const std::uint64_t rows = about.rows();
    const std::uint64_t bytes = rows * about.row_bytes();
    const std::string why = why_contiguous(bytes, about.rows_of_rank);
    if (!why.empty()) {
      say(LadderStep::kLayout,
          fmt::format("data set {}: contiguous: {} in all, {} ({})", index, bytes_text(bytes), why,
                      source_of(Limit::kDeflateLevel)));
      return;
    }
    dataset.layout = DataLayout::kChunked;
    const Limit chunk = rows > value_of(Limit::kManyRows)    ? Limit::kManyRowsChunk
                        : rows >= value_of(Limit::kSomeRows) ? Limit::kSomeRowsChunk
                                                             : Limit::kFewRowsChunk;
    dataset.chunk_rows =
        std::min({value_of(chunk), rows, value_of(Limit::kMostChunkBytes) / about.row_bytes()});
    dataset.deflate_level =
        wishes_.deflate_level.value_or(static_cast<std::uint32_t>(value_of(Limit::kDeflateLevel)));
    say(LadderStep::kLayout,
        fmt::format("data set {}: chunks of {} rows, deflate {}: {} rows, {}, {} ({})", index,
                    dataset.chunk_rows, dataset.deflate_level, rows, bytes_text(bytes),
                    wishes_.deflate_level ? "as chosen" : "balanced", source_of(chunk)));
  }

  void allocation() {
    if (!choice_.takes(LadderStep::kEarlyAllocation)) {
      const bool alone = plan_.creation == FileCreation::kRankZeroOnly;
      // Rank 0 writes at offsets, and HDF5 gives none before the space is there.
      for (DatasetPlan& dataset : plan_.datasets)
        if (alone) dataset.space = SpaceTime::kEarly;
      say(LadderStep::kEarlyAllocation,
          alone ? "off, but space early all the same: rank 0 writes at its offsets (O1)"
                : "off: HDF5's defaults");
      return;
    }
    bool moved = false;
    for (DatasetPlan& dataset : plan_.datasets) {
      const bool deflated = dataset.layout == DataLayout::kChunked;
      const bool early = !deflated || choice_.as_printed(PrintedDetail::kEarlyDeflate);
      dataset.space = early ? SpaceTime::kEarly : SpaceTime::kIncremental;
      dataset.fill = FillValues::kNever;
      moved = moved || deflated;
    }
    std::string text = "space early, no fill values (HDF5-OPT 3.3 \"Creation-time policies\")";
    if (moved)
      text += choice_.as_printed(PrintedDetail::kEarlyDeflate)
                  ? "; as printed also for chunks, which are then written twice"
                  : "; chunks when they are written, or each would be written twice";
    say(LadderStep::kEarlyAllocation, text);
  }

  void tuning() {
    if (wishes_.alignment != 0) align_as_asked();
    if (!choice_.takes(LadderStep::kTuning)) {
      say(LadderStep::kTuning, "off: HDF5's defaults");
      return;
    }
    const TierLimits limits = limits_of(tier_of(output_));
    if (wishes_.alignment == 0) align(value_of(limits.align_from), value_of(limits.alignment));
    const auto scaled = [&](Limit least, Limit most) {
      return std::clamp(output_ / value_of(Limit::kCacheShare), value_of(least), value_of(most));
    };
    const std::uint64_t cache = scaled(Limit::kLeastCache, Limit::kMostCache);
    if (choice_.as_printed(PrintedDetail::kCacheCall)) {
      plan_.tuning.cache_call_bytes = cache;
      say(LadderStep::kTuning,
          fmt::format("as printed: H5Pset_cache of {}, which is the chunk cache",
                      bytes_text(cache)));
    } else {
      plan_.tuning.metadata_cache_bytes = cache;
      say(LadderStep::kTuning,
          fmt::format("metadata cache of {}: 1/{} of the output within 4 .. 256 MiB",
                      bytes_text(cache), value_of(Limit::kCacheShare)));
    }
    if (choice_.as_printed(PrintedDetail::kSieveBuffer)) {
      plan_.tuning.sieve_bytes = scaled(Limit::kLeastSieve, Limit::kMostSieve);
      say(LadderStep::kTuning, fmt::format("as printed: sieve buffer of {}, unused by MPI-IO",
                                           bytes_text(plan_.tuning.sieve_bytes)));
    }
  }

  void align_as_asked() {
    plan_.tuning.align_from = wishes_.alignment;
    plan_.tuning.alignment = wishes_.alignment;
    say(LadderStep::kTuning,
        fmt::format("objects from {0} aligned to {0}, as chosen", bytes_text(wishes_.alignment)));
  }

  void align(std::uint64_t from, std::uint64_t alignment) {
    const std::uint64_t average = output_ / std::max<std::size_t>(1, facts_.datasets.size());
    const bool worth = average / value_of(Limit::kAlignmentWorth) >= alignment;
    if (!worth && !choice_.as_printed(PrintedDetail::kAlignEverything)) {
      say(LadderStep::kTuning,
          fmt::format("no alignment: data sets of {} on average are less than {} alignments of {} "
                      "({})",
                      bytes_text(average), value_of(Limit::kAlignmentWorth), bytes_text(alignment),
                      source_of(Limit::kAlignmentWorth)));
      return;
    }
    plan_.tuning.align_from = from;
    plan_.tuning.alignment = std::max(alignment, plan_.striping.stripe_bytes);
    say(LadderStep::kTuning,
        fmt::format("objects from {} aligned to {}: output {} ({})", bytes_text(from),
                    bytes_text(plan_.tuning.alignment), tier_name(tier_of(output_)),
                    source_of(Limit::kSmallAlignment)));
  }

  void phases() {
    if (!choice_.takes(LadderStep::kPhases)) {
      say(LadderStep::kPhases, "off: one phase");
      return;
    }
    if (plan_.creation == FileCreation::kRankZeroOnly) {
      say(LadderStep::kPhases, "not needed: rank 0 writes alone");
      return;
    }
    for (std::size_t i = 0; i < facts_.datasets.size(); ++i) {
      const std::vector<std::uint64_t>& rows = facts_.datasets[i].rows_of_rank;
      const Skew skew = measure_skew(rows);
      DatasetPlan& dataset = plan_.datasets[i];
      if (dataset.transfer == RowTransfer::kIndependent) {
        say(LadderStep::kPhases,
            fmt::format("data set {}: not needed: no rank waits for another", i));
        continue;
      }
      dataset.phases = phases_for(skew, empty_ranks());
      if (dataset.phases > 1) dataset.phase_of_rank = deal_phases(rows, dataset.phases);
      say(LadderStep::kPhases,
          fmt::format("data set {}: {} phase{}: largest rank {} rows, smallest {}, {} without, "
                      "(deviation/mean)^2 {}.{:03} ({})",
                      i, dataset.phases, dataset.phases == 1 ? "" : "s", skew.largest,
                      skew.smallest, skew.empty, skew.spread_squared_milli / 1000,
                      skew.spread_squared_milli % 1000, source_of(Limit::kSomePhases)));
    }
  }

  const LayoutFacts& facts_;
  const LayoutWishes& wishes_;
  std::uint64_t output_;
  LayoutPlan& plan_;
  LadderChoice choice_;
};

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  struct Unit {
    std::uint64_t bytes;
    const char* name;
  };
  constexpr Unit kUnits[] = {{kGiB, "GiB"}, {kGB, "GB"}, {kMiB, "MiB"}, {kMB, "MB"}, {kKiB, "KiB"}};
  for (const Unit& unit : kUnits)
    if (bytes >= unit.bytes && bytes % unit.bytes == 0)
      return fmt::format("{} {}", bytes / unit.bytes, unit.name);
  return fmt::format("{} bytes", bytes);
}

void plan_hints(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
                LayoutPlan& plan) {
  if (writes_alone(facts, wishes)) {
    plan.hints.push_back({"romio_cb_write", "disable"});
    plan.hints.push_back({"romio_ds_write", "disable"});
    plan.round_bytes = value_of(Limit::kCachedRound);
    plan.reasons.push_back(
        {"O5", fmt::format("no aggregators: one kernel merges what the ranks write to {}, each "
                           "{} at a time ({})",
                           facts.file_system.name, bytes_text(plan.round_bytes),
                           source_of(Limit::kCachedRound))});
    return;
  }
  const auto ranks = static_cast<std::uint64_t>(facts.ranks) / plan.files;
  const TierLimits limits = limits_of(tier_of(output));
  const bool printed = wishes.ladder.as_printed(PrintedDetail::kZeroAggregators);
  std::uint64_t aggregators = std::min(ranks / value_of(limits.divisor), value_of(limits.most));
  const std::uint64_t stripes = stripes_of_file(facts, plan);
  const bool for_stripes = !printed && wishes.aggregators == 0 && stripes > aggregators;
  // A stripe has one writer, and an aggregator's rate counts: fewer than stripes leave servers
  // idle.
  if (for_stripes) aggregators = std::min(stripes, ranks);
  if (!printed) aggregators = std::max<std::uint64_t>(1, aggregators);
  if (wishes.aggregators != 0)
    aggregators = std::min<std::uint64_t>(wishes.aggregators, std::max<std::uint64_t>(1, ranks));
  const bool large = tier_of(output) == SizeTier::kLarge;
  const std::uint64_t budget = value_of(large ? Limit::kLargeBufferBudget : Limit::kBufferBudget);
  std::uint64_t buffer = std::clamp(budget / std::max<std::uint64_t>(1, ranks),
                                    value_of(Limit::kLeastBuffer), value_of(Limit::kMostBuffer));
  std::string capped;
  if (!printed) {
    const std::uint64_t share = output / std::max<std::uint64_t>(1, aggregators);
    const std::uint64_t useful = (share / kMiB + 1) * kMiB;
    if (useful < buffer) {
      buffer = useful;
      capped = ", capped at an aggregator's share of the output";
    }
  }
  plan.hints.push_back({"romio_cb_write", "enable"});
  plan.hints.push_back({"romio_ds_write", "disable"});
  plan.hints.push_back({"cb_nodes", std::to_string(aggregators)});
  plan.hints.push_back({"cb_buffer_size", std::to_string(buffer)});
  // cb_nodes alone gives one aggregator per host.
  if (!printed) plan.hints.push_back({"cb_config_list", "*:*"});
  if (wishes.ladder.as_printed(PrintedDetail::kNoIndependentWrites))
    plan.hints.push_back({"romio_no_indep_rw", "true"});
  const std::string how = wishes.aggregators != 0 ? "as chosen"
                          : printed               ? "as printed"
                          : for_stripes           ? fmt::format("for {} stripes of a file", stripes)
                                                  : "at least one";
  plan.reasons.push_back(
      {"O5", fmt::format("{} aggregator{} of {} ranks ({}), buffers of {}{}: output {} ({})",
                         aggregators, aggregators == 1 ? "" : "s", ranks, how, bytes_text(buffer),
                         capped, tier_name(tier_of(output)), source_of(limits.divisor))});
}

void plan_ladder(const LayoutFacts& facts, const LayoutWishes& wishes, std::uint64_t output,
                 LayoutPlan& plan) {
  Ladder(facts, wishes, output, plan).climb();
}

}  // namespace stratalog
