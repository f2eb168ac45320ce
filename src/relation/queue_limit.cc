// SPDX-License-Identifier: Apache-2.0
#include "relation/queue_limit.h"

#include <vector>

#include "relation/packed_tuples.h"

namespace stratalog {
namespace {

// The sample: hashes whose first bits are none.
constexpr unsigned kSampleShift = 58;
constexpr std::size_t kLeastSample = 64;
// From so many rows for each tuple on, these take more memory as rows than while they wait.
constexpr double kThinRows = 0.25;

}  // namespace

double distinct_share(std::span<const Cell> tuples, std::uint32_t arity, std::uint32_t length) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::vector<std::uint64_t> sample;
  for (std::size_t at = 0; at < tuples.size(); at += arity) {
    std::uint64_t hash = 0;
    std::uint32_t c = 0;
    for (; c + 1 < length; c += 2)
      hash = (hash ^ (tuples[at + c] | (std::uint64_t{tuples[at + c + 1]} << 32))) * kOdd;
    if (c < length) hash = (hash ^ tuples[at + c]) * kOdd;
    hash ^= hash >> 32;
    hash *= kOdd;
    if (hash >> kSampleShift == 0) sample.push_back(hash);
  }
  const std::size_t expected = (tuples.size() / arity) >> (64 - kSampleShift);
  if (expected < kLeastSample) return 1;
  // Where hashes are not spread evenly there are few.
  if (sample.size() < expected / 4) return 0;
  const auto all = static_cast<double>(sample.size());
  std::ranges::sort(sample);
  const auto repeated = std::ranges::unique(sample);
  return 1 - static_cast<double>(repeated.size()) / all;
}

bool QueueLimit::let_wait(WordBuffer<Cell>& tuples, std::uint32_t arity) {
  const std::uint64_t waiting = tuples.size() / arity;
  if (distinct_share(tuples.words(), arity, arity) >= 0.5) {
    limit_ = 2 * std::max(limit_, waiting);
    if (limit_ > most_ && distinct_share(tuples.words(), arity, arity - 1) < kThinRows)
      limit_ = most_;
    return !is_reached(waiting);
  }
  if (!keep_distinct(tuples, arity)) return false;
  const std::uint64_t left = tuples.size() / arity;
  note(waiting, left, 0);
  return 2 * left <= limit_;
}

}  // namespace stratalog
