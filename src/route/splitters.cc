// SPDX-License-Identifier: Apache-2.0
// Weighted quantiles of the sampled keys.
#include "route/splitters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "route/cell_hash.h"

namespace stratalog {
namespace {

std::span<const std::uint64_t> key_at(std::span<const std::uint64_t> words, std::uint32_t width,
                                      std::size_t index) {
  return words.subspan(index * width, width);
}

bool is_less(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  return std::ranges::lexicographical_compare(a, b);
}

// floor(total * numerator / denominator) without overflow; numerator <= denominator.
std::uint64_t fraction_of(std::uint64_t total, std::uint64_t numerator, std::uint64_t denominator) {
  return ((total / denominator) * numerator) + ((total % denominator) * numerator / denominator);
}

}  // namespace

int Splitters::part_of(std::span<const std::uint64_t> key) const {
  int low = 0;
  int high = parts() - 1;
  while (low < high) {
    const int middle = low + ((high - low) / 2);
    if (is_less(key_at(words, width, static_cast<std::size_t>(middle)), key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Result<Splitters> plan_splitters(const KeySamples& samples, int parts) {
  if (parts < 1 || samples.width == 0 ||
      samples.words.size() != samples.weights.size() * samples.width)
    return Status::invalid_argument(
        fmt::format("plan_splitters needs parts and one weight per key: {} parts, {} words of "
                    "width {}, {} weights",
                    parts, samples.words.size(), samples.width, samples.weights.size()));
  Splitters splitters{.width = samples.width, .words = {}};
  const std::size_t count = samples.weights.size();
  if (count == 0) {
    // Nothing to divide; any keys will do.
    splitters.words.assign(static_cast<std::size_t>(parts - 1) * samples.width, 0);
    return splitters;
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return key_at(samples.words, samples.width, i); };
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (is_less(key(a), key(b))) return true;
    if (is_less(key(b), key(a))) return false;
    return a < b;
  });
  const std::uint64_t total =
      std::accumulate(samples.weights.begin(), samples.weights.end(), std::uint64_t{0});
  std::size_t at = 0;
  std::uint64_t before = 0;  // weight of order[0 .. at)
  for (int part = 1; part < parts; ++part) {
    const std::uint64_t goal =
        fraction_of(total, static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(parts));
    // The first key up to which, itself included, there is enough.
    while (at + 1 < count && before + samples.weights[order[at]] < goal)
      before += samples.weights[order[at++]];
    const auto chosen = key(order[at]);
    splitters.words.insert(splitters.words.end(), chosen.begin(), chosen.end());
  }
  return splitters;
}

SamplePosition sample_position(std::uint64_t rows, std::uint64_t count, std::uint64_t index,
                               int rank) {
  assert(index < count && count <= rows);
  const std::uint64_t begin = fraction_of(rows, index, count);
  const std::uint64_t end = fraction_of(rows, index + 1, count);
  const std::uint64_t draw = finish_hash(
      mix_cell(mix_cell(kBucketSeed, static_cast<Cell>(rank)), static_cast<Cell>(index)));
  return {.row = begin + (draw % (end - begin)), .weight = end - begin};
}

}  // namespace stratalog
