// SPDX-License-Identifier: Apache-2.0
#include "policy/thresholds.h"

#include <array>

#include "policy/byte_units.h"

namespace stratalog {
namespace {

constexpr std::string_view kGather =
    "HDF5-OPT 3.3 \"Aggregation of small data writes\", table 1 O1";
constexpr std::string_view kTwoPhase = "HDF5-OPT 3.3 \"Two-phase workflow\", O2";
constexpr std::string_view kLayout = "HDF5-OPT 3.3 \"Layout selection\", table 1 O4";
constexpr std::string_view kHints = "HDF5-OPT 3.3 \"Size-Aware Configuration\", table 1 O5";
constexpr std::string_view kTuning = "HDF5-OPT 3.3 \"Size-Aware Configuration\", table 1 O6";
constexpr std::string_view kPhasePlan = "HDF5-OPT table 1 O7";
constexpr std::string_view kTiers = "HDF5-OPT 3.3 \"Parameter selection policy\"";
constexpr std::string_view kStriping = "RA-checkpoint III (adaptive striping on Theta)";

constexpr std::string_view kOwnFiles =
    "ours: a kernel lets one writer at a time into a file (docs/bench.md)";
constexpr std::string_view kTried = "ours: sixteen times apart, from a network's packet to O6's";
constexpr std::string_view kZlib = "ours: where zlib takes other methods or limits";

constexpr std::array kThresholds = {
    Threshold{Limit::kTinyOutput, "tiny output", 10 * kMB, "bytes", kGather},
    Threshold{Limit::kMediumOutput, "medium output", kGB, "bytes", kTiers},
    Threshold{Limit::kLargeOutput, "large output", 10 * kGB, "bytes", kTiers},
    Threshold{Limit::kHugeOutput, "huge output", 100 * kGB, "bytes", kTwoPhase},
    Threshold{Limit::kUnevenRatio, "uneven: largest / smallest rank", 10, "", kPhasePlan},
    Threshold{Limit::kVeryUnevenRatio, "very uneven: largest / smallest rank", 100, "", kPhasePlan},
    Threshold{Limit::kUnevenSpread, "uneven: standard deviation / mean", 1, "", kPhasePlan},
    Threshold{Limit::kVeryUnevenSpread, "very uneven: standard deviation / mean", 2, "",
              kPhasePlan},
    Threshold{Limit::kSomePhases, "phases if uneven", 4, "", kPhasePlan},
    Threshold{Limit::kManyPhases, "phases if very uneven", 8, "", kPhasePlan},
    Threshold{Limit::kManyRows, "many rows: above", kMB, "rows", kLayout},
    Threshold{Limit::kSomeRows, "some rows: from", 100000, "rows", kLayout},
    Threshold{Limit::kManyRowsChunk, "chunk of many rows", 64 * kKiB, "rows", kLayout},
    Threshold{Limit::kSomeRowsChunk, "chunk of some rows", 32 * kKiB, "rows", kLayout},
    Threshold{Limit::kFewRowsChunk, "chunk of few rows", 8 * kKiB, "rows", kLayout},
    Threshold{Limit::kMostChunkBytes, "largest chunk", 64 * kMiB, "bytes",
              "ours: what a reader has to hold"},
    Threshold{Limit::kDeflateLevel, "deflate level", 1, "", kLayout},
    Threshold{Limit::kSmallAggregatorDivisor, "ranks per aggregator < 1 GB", 4, "", kHints},
    Threshold{Limit::kMediumAggregatorDivisor, "ranks per aggregator 1 .. 10 GB", 8, "", kHints},
    Threshold{Limit::kLargeAggregatorDivisor, "ranks per aggregator > 10 GB", 16, "", kHints},
    Threshold{Limit::kSmallAggregators, "most aggregators < 1 GB", 64, "", kHints},
    Threshold{Limit::kMediumAggregators, "most aggregators 1 .. 10 GB", 32, "", kHints},
    Threshold{Limit::kLargeAggregators, "most aggregators > 10 GB", 16, "", kHints},
    Threshold{Limit::kBufferBudget, "buffer budget up to 10 GB", 4 * kGiB, "bytes", kHints},
    Threshold{Limit::kLargeBufferBudget, "buffer budget above 10 GB", 8 * kGiB, "bytes", kHints},
    Threshold{Limit::kLeastBuffer, "smallest collective buffer", 32 * kMiB, "bytes", kHints},
    Threshold{Limit::kMostBuffer, "largest collective buffer", 512 * kMiB, "bytes", kHints},
    Threshold{Limit::kCachedRound, "round without aggregators", 2 * kMiB, "bytes",
              "ours: written while it is in cache"},
    Threshold{Limit::kTinyAlignmentFrom, "align objects from, < 10 MB", 4 * kKiB, "bytes", kTuning},
    Threshold{Limit::kTinyAlignment, "alignment, < 10 MB", 16 * kKiB, "bytes", kTuning},
    Threshold{Limit::kSmallAlignmentFrom, "align objects from, < 1 GB", 4 * kMiB, "bytes", kTuning},
    Threshold{Limit::kSmallAlignment, "alignment, < 1 GB", 16 * kMiB, "bytes", kTuning},
    Threshold{Limit::kMediumAlignmentFrom, "align objects from, 1 .. 10 GB", 8 * kMiB, "bytes",
              kTuning},
    Threshold{Limit::kMediumAlignment, "alignment, 1 .. 10 GB", 32 * kMiB, "bytes", kTuning},
    Threshold{Limit::kLargeAlignmentFrom, "align objects from, > 10 GB", 16 * kMiB, "bytes",
              kTuning},
    Threshold{Limit::kLargeAlignment, "alignment, > 10 GB", 64 * kMiB, "bytes", kTuning},
    Threshold{Limit::kAlignmentWorth, "align only if data sets average this many alignments", 4, "",
              "ours: five data sets of 9.6 MB made a file of 93 MB at 16 MB"},
    Threshold{Limit::kLeastCache, "smallest metadata cache", 4 * kMiB, "bytes", kTuning},
    Threshold{Limit::kMostCache, "largest metadata cache", 256 * kMiB, "bytes", kTuning},
    Threshold{Limit::kCacheShare, "output bytes per byte of metadata cache", 64, "",
              "ours: the paper says \"based on expected I/O volume\""},
    Threshold{Limit::kLeastSieve, "smallest sieve buffer", 32 * kMiB, "bytes", kTuning},
    Threshold{Limit::kMostSieve, "largest sieve buffer", 256 * kMiB, "bytes", kTuning},
    Threshold{Limit::kTransferBuffer, "transfer buffer", 64 * kMiB, "bytes", kTwoPhase},
    Threshold{Limit::kHugeTransferBuffer, "transfer buffer above 100 GB", 256 * kMiB, "bytes",
              kTwoPhase},
    Threshold{Limit::kStripedOutput, "stripe files above", kGiB, "bytes", kStriping},
    Threshold{Limit::kStripeCount, "stripes", 48, "", kStriping},
    Threshold{Limit::kStripeBytes, "stripe size", 8 * kMiB, "bytes", kStriping},
    Threshold{Limit::kLeastOwnFile, "hdf5-direct: a file for each", 16 * kMB, "bytes", kOwnFiles},
    Threshold{Limit::kMostOwnFiles, "hdf5-direct: files, at most", 8, "", kOwnFiles},
    Threshold{Limit::kManyFiles, "auto: many files, above", 1024, "",
              "ours: that metadata servers do not mind"},
    Threshold{Limit::kSmallFile, "auto: many files are too small below, on average", kMiB, "bytes",
              "ours: about what a creation costs"},
    Threshold{Limit::kGiantBytes, "auto: giant rank, from", kGiB, "bytes",
              "ours: what one writer takes a second or more for"},
    Threshold{Limit::kGiantRatio, "auto: giant rank: more than so many means", 8, "",
              "ours: near HDF5-OPT's 10 : 1, which compares with the smallest"},
    Threshold{Limit::kFirstTriedAlignment, "auto: first alignment tried", 64 * kKiB, "bytes",
              kTried},
    Threshold{Limit::kSecondTriedAlignment, "auto: second alignment tried", kMiB, "bytes", kTried},
    Threshold{Limit::kThirdTriedAlignment, "auto: third alignment tried", 16 * kMiB, "bytes",
              kTried},
    Threshold{Limit::kTriedAlignmentWorth, "auto: alignments that a mean share must hold", 4, "",
              "ours: padding is an eighth at most, on average"},
    Threshold{Limit::kFirstTriedDeflate, "hdf5-auto: deflate level tried after 1", 3, "", kZlib},
    Threshold{Limit::kSecondTriedDeflate, "hdf5-auto: the one after that", 6, "", kZlib},
    Threshold{Limit::kThirdTriedDeflate, "hdf5-auto: the last one", 9, "", kZlib},
    Threshold{Limit::kMostDeflated, "hdf5-auto: deflate is not tried above, a rank and second",
              400 * kMB, "bytes", "ours: more than zlib gives of sorted rows at level 1"},
    Threshold{Limit::kLeastLearned, "auto: learns from", kMiB, "bytes",
              "ours: less is as quick whatever the layout"},
    Threshold{Limit::kComparedSizes, "auto: sizes are compared if less than so many times apart", 4,
              "", "ours"},
    Threshold{Limit::kSavesBeforeTrying, "auto: saves before another way is tried", 2, "", "ours"},
    Threshold{Limit::kSavesBetweenTries, "auto: saves between two tries", 2, "",
              "ours: what tries cost stays below a third"},
    Threshold{Limit::kForgottenSaves, "auto: saves after which a loser is tried again", 48, "",
              "ours"},
    Threshold{Limit::kWorthTrying, "auto: tries if a save takes", 50, "ms",
              "ours: of less there is nothing to win"},
    Threshold{Limit::kWorthChanging, "auto: changes to what costs at most", 90, "%",
              "ours: beyond what saves scatter"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kThresholds.size(); ++i)
    if (static_cast<std::size_t>(kThresholds[i].limit) != i) return false;
  return true;
}
static_assert(is_in_order());

}  // namespace

std::span<const Threshold> thresholds() { return kThresholds; }

std::uint64_t value_of(Limit limit) { return kThresholds[static_cast<std::size_t>(limit)].value; }

std::string_view source_of(Limit limit) {
  return kThresholds[static_cast<std::size_t>(limit)].source;
}

SizeTier tier_of(std::uint64_t output_bytes) {
  if (output_bytes < value_of(Limit::kTinyOutput)) return SizeTier::kTiny;
  if (output_bytes < value_of(Limit::kMediumOutput)) return SizeTier::kSmall;
  // "1-10 GB" and "> 10 GB": the boundary itself is printed with the middle tier.
  if (output_bytes <= value_of(Limit::kLargeOutput)) return SizeTier::kMedium;
  return SizeTier::kLarge;
}

std::string_view tier_name(SizeTier tier) {
  switch (tier) {
    case SizeTier::kTiny:
      return "below 10 MB";
    case SizeTier::kSmall:
      return "10 MB to 1 GB";
    case SizeTier::kMedium:
      return "1 to 10 GB";
    case SizeTier::kLarge:
      return "above 10 GB";
  }
  return "unknown";
}

}  // namespace stratalog
