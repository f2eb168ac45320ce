// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/tuple_sample.h"

#include <algorithm>
#include <utility>

namespace stratalog::datalog {

TupleSample::TupleSample(std::vector<ColumnPair> pairs) : pairs_(std::move(pairs)) {
  const auto place_of = [&](std::uint32_t column) {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    const auto place = static_cast<std::size_t>(found - columns_.begin());
    if (found == columns_.end()) columns_.push_back(column);
    return place;
  };
  for (const ColumnPair& pair : pairs_) {
    firsts_.push_back(place_of(pair.first));
    seconds_.push_back(place_of(pair.second));
  }
  hashes_.resize(columns_.size());
  bitmaps_.resize((columns_.size() + pairs_.size()) * kDistinctWords);
}

std::vector<ColumnPair> TupleSample::dependent_pairs(std::uint64_t rows) const {
  std::vector<ColumnPair> dependent;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    ColumnPair pair = pairs_[p];
    pair.of_first = count(firsts_[p]);
    pair.of_second = count(seconds_[p]);
    pair.distinct = std::max({count(columns_.size() + p), pair.of_first, pair.of_second});
    const bool is_whole = tuples_ >= rows;
    if (depends(pair) && (is_whole || 2 * pair.distinct <= tuples_)) dependent.push_back(pair);
  }
  return dependent;
}

Status unite_samples(Comm& comm, std::span<TupleSample> samples) {
  if (samples.empty()) return {};
  std::vector<std::uint64_t> bits;
  std::vector<std::uint64_t> tuples;
  for (TupleSample& sample : samples) {
    bits.insert(bits.end(), sample.bits().begin(), sample.bits().end());
    tuples.push_back(sample.tuples());
  }
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(bits, ReduceOp::kBitOr));
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(tuples, ReduceOp::kSum));
  auto from = bits.begin();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::copy_n(from, samples[i].bits().size(), samples[i].bits().begin());
    from += static_cast<std::ptrdiff_t>(samples[i].bits().size());
    samples[i].tuples() = tuples[i];
  }
  return {};
}

}  // namespace stratalog::datalog
