// SPDX-License-Identifier: Apache-2.0
// Whether a checkpoint writes a relation whole or only what it gained since the generation before.
// Relations only grow, so the parts of a chain are disjoint: a chain costs no more space than the
// relation itself, but more files, shorter sets (which pack worse) and more generations that must
// all be sound. All thresholds stand in ChainRules; the decision is a pure function whose numbers
// go into the manifest. Integer arithmetic: every rank decides the same. Local.
#pragma once

#include <cstdint>

#include "commit/part_choice.h"

namespace stratalog {

// What a checkpoint holds of an image: all its tuples; those that are new since the generation on
// which it builds (which may be none); or all its tuples, of which those of the base are read from
// its files and written again in one with the new ones (checkpoint/fold.h).
enum class ImagePart : std::uint8_t { kWhole, kGrowth, kFolded };

// Whether the part stands by itself: nothing of the image is taken over from older generations.
constexpr bool is_whole(ImagePart part) { return part != ImagePart::kGrowth; }

// The one table of thresholds.
struct ChainRules {
  // Parts that a relation may lie in. 8: restart opens at most eight files a rank and relation.
  std::uint32_t most_parts = 8;
  // The bytes of all growth together, in percent of the whole part. 400: each whole part is at
  // least five times the one before, so all of them together cost at most 1.25 times the relation's
  // final size, on top of the growth, which costs that size once.
  std::uint64_t most_growth_percent = 400;
  // Parts from which a relation that has finished is written whole, if that holds nobody up: once,
  // and then neither restarts open that many files nor do older generations stay for it. Half of
  // most_parts: with fewer there is little to gain for writing all of it again.
  std::uint32_t most_finished_parts = 4;
  // A chain that takes much longer to fold than checkpoints are apart is not folded, because the
  // next one would wait for it. A rank folds 60 to 130 MB a second; to write the relation from
  // memory takes about half as long and holds everybody up: twice the rate loses nothing.
  std::uint64_t folded_bytes_per_second = 200'000'000;
  // The same of streams, whose bytes say little: a rank folds 3 to 10 million rows a second.
  std::uint64_t folded_stream_rows_per_second = 20'000'000;
  // Every n-th generation writes everything whole, unchanged relations included; 0: never for this
  // reason, 1: always.
  std::uint32_t whole_every = 0;
};

// One relation version in the generation that a new one would build on. The same on every rank.
struct ChainFacts {
  std::uint32_t parts = 0;  // generations that hold a part of it; 0: none, or no tuples
  std::uint64_t rows = 0;
  std::uint64_t whole_bytes = 0;  // of the part that is whole
  std::uint64_t growth_bytes = 0;  // of the parts after it
  std::uint32_t generations = 0;  // since the whole part, that one included
};

// Whether the tuples that are new since the base can be told from the others.
enum class GrowthKnowledge : std::uint8_t {
  kKnown,
  kNoBase,  // nothing to build on, or the relation was not in it
  kNotFollowed,  // the memory for it was not granted, or tuples were not only added
};

// Whether a chain may be read back and written as one, where it is to end and its growth is known.
enum class Folding : std::uint8_t { kNo, kAllowed };

// What the parts of a chain are.
enum class StoredAs : std::uint8_t { kBlocksOrRows, kStreams };

// Whether the relation can be written whole without a copy and without holding anybody up, because
// it has finished and a thread packs.
enum class WholeBeside : std::uint8_t { kNo, kYes };

struct PartOffer {
  GrowthKnowledge growth = GrowthKnowledge::kNoBase;
  std::uint64_t rows = 0;  // now, all ranks
  std::uint64_t growth_rows = 0;  // since the base, all ranks
  Folding folding = Folding::kNo;
  StoredAs stored_as = StoredAs::kBlocksOrRows;
  std::uint64_t ranks = 1;  // that fold
  std::uint64_t interval_microseconds = 0;  // since the last checkpoint began
  WholeBeside whole_beside = WholeBeside::kNo;
};

struct PartPlan {
  ImagePart part = ImagePart::kWhole;
  PartChoice choice;  // with the numbers as they will be: bytes of the new part are estimated
};

PartPlan plan_part(const ChainRules& rules, const ChainFacts& chain, const PartOffer& offer);

}  // namespace stratalog
