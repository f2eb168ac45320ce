// SPDX-License-Identifier: Apache-2.0
// The one table of numbers behind the choice of a layout, with the place that printed each. Sizes
// that are compared with an output are decimal (10 MB = 10,000,000 bytes), as the papers print
// them; sizes that are handed to the file system (buffers, alignments, stripes) are binary (4 MB =
// 4,194,304 bytes), so that they are multiples of pages. Boundaries are as printed ("< 10 MB",
// "> 10 GB"). docs/checkpoint_layouts.md shows this table and a test compares the two. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace stratalog {

enum class Limit : std::uint8_t {
  kTinyOutput,
  kMediumOutput,
  kLargeOutput,
  kHugeOutput,
  kUnevenRatio,
  kVeryUnevenRatio,
  kUnevenSpread,
  kVeryUnevenSpread,
  kSomePhases,
  kManyPhases,
  kManyRows,
  kSomeRows,
  kManyRowsChunk,
  kSomeRowsChunk,
  kFewRowsChunk,
  kMostChunkBytes,
  kDeflateLevel,
  kSmallAggregatorDivisor,
  kMediumAggregatorDivisor,
  kLargeAggregatorDivisor,
  kSmallAggregators,
  kMediumAggregators,
  kLargeAggregators,
  kBufferBudget,
  kLargeBufferBudget,
  kLeastBuffer,
  kMostBuffer,
  kCachedRound,
  kTinyAlignmentFrom,
  kTinyAlignment,
  kSmallAlignmentFrom,
  kSmallAlignment,
  kMediumAlignmentFrom,
  kMediumAlignment,
  kLargeAlignmentFrom,
  kLargeAlignment,
  kAlignmentWorth,
  kLeastCache,
  kMostCache,
  kCacheShare,
  kLeastSieve,
  kMostSieve,
  kTransferBuffer,
  kHugeTransferBuffer,
  kStripedOutput,
  kStripeCount,
  kStripeBytes,
  kLeastOwnFile,
  kMostOwnFiles,
  // Of the modes that learn: their table, and how they try and settle.
  kManyFiles,
  kSmallFile,
  kGiantBytes,
  kGiantRatio,
  kFirstTriedAlignment,
  kSecondTriedAlignment,
  kThirdTriedAlignment,
  kTriedAlignmentWorth,
  kFirstTriedDeflate,
  kSecondTriedDeflate,
  kThirdTriedDeflate,
  kMostDeflated,
  kLeastLearned,
  kComparedSizes,
  kSavesBeforeTrying,
  kSavesBetweenTries,
  kForgottenSaves,
  kWorthTrying,
  kWorthChanging,
};

struct Threshold {
  Limit limit;
  std::string_view name;
  std::uint64_t value;
  std::string_view unit;
  std::string_view source;  // paper and section, or why it is ours
};

// In the order of Limit.
std::span<const Threshold> thresholds();
std::uint64_t value_of(Limit limit);
std::string_view source_of(Limit limit);

// The coarse regimes of HDF5-OPT, section 3.3 "Parameter selection policy".
enum class SizeTier : std::uint8_t { kTiny, kSmall, kMedium, kLarge };
SizeTier tier_of(std::uint64_t output_bytes);
std::string_view tier_name(SizeTier tier);  // "< 10 MB", "10 MB .. 1 GB", ...

}  // namespace stratalog
