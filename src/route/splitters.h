// SPDX-License-Identifier: Apache-2.0
// Splitters: a range partition of sorted keys into parts of nearly equal size, from samples
// (regular sample sort, Shi and Schaeffer 1992). Keys are rows of `width` 64-bit words compared
// from left to right, so that callers choose the order (numbers, symbols by text) by what they put
// into the words. Pure; the same samples give the same splitters everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace stratalog {

// Sampled keys of all ranks, in any order: key i is words[i * width .. (i + 1) * width), standing
// for weights[i] rows.
struct KeySamples {
  std::uint32_t width = 1;
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> weights;
};

struct Splitters {
  std::uint32_t width = 1;
  std::vector<std::uint64_t> words;  // parts - 1 ascending keys, possibly equal ones

  int parts() const { return static_cast<int>(words.size() / width) + 1; }
  // The part of a key: the number of splitters below it. O(log parts).
  int part_of(std::span<const std::uint64_t> key) const;
};

// parts - 1 keys out of the samples that cut their weight into equal parts. With all parts' rows
// distinct, and samples taken by sample_position, a part holds at most all/parts + (2 * ranks + 1)
// * step + 1 rows (usually far fewer: errors cancel), where step is the largest weight. O(samples
// log samples). InvalidArgument: parts < 1, width 0, or lengths that do not match.
Result<Splitters> plan_splitters(const KeySamples& samples, int parts);

// Which of a rank's `rows` sorted rows is its sample number `index` of `count` (0 <= index < count
// <= rows): a row of the index-th of `count` nearly equal stretches, drawn by a hash of rank and
// index, so that the errors of many ranks with alike data cancel (equal positions would put the
// samples of all ranks on the same keys). The weight is the length of the stretch.
struct SamplePosition {
  std::uint64_t row = 0;
  std::uint64_t weight = 0;
};
SamplePosition sample_position(std::uint64_t rows, std::uint64_t count, std::uint64_t index,
                               int rank);

}  // namespace stratalog
