// SPDX-License-Identifier: Apache-2.0
// RoundSeries and SampleSeries: what happened in each round and at each moment, in bounded memory.
// When a series is full, neighbouring rounds are merged (sums stay exact) and every other sample is
// dropped, and from then on points are taken half as often. Pure values; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/run_profile.h"

namespace stratalog {

class RoundSeries {
 public:
  // At least 2 points; strata with a single point each may exceed it.
  explicit RoundSeries(std::size_t capacity = 4096) : capacity_(capacity) {}

  // Rounds of a stratum come in order. `seconds` is nothing where unknown.
  void add(std::uint32_t stratum, std::uint64_t round, std::uint64_t new_tuples,
           std::optional<double> seconds);
  const std::vector<ProfileRounds>& points() const { return points_; }

 private:
  void thin_out();

  std::size_t capacity_;
  std::uint64_t width_ = 1;  // rounds that one point may hold
  std::vector<ProfileRounds> points_;
};

class SampleSeries {
 public:
  explicit SampleSeries(std::size_t capacity = 2048) : capacity_(capacity) {}

  // Whether a sample at this moment would be kept; asked before measuring.
  bool wants(double at_seconds) const {
    return samples_.empty() || at_seconds >= samples_.back().at_seconds + interval_;
  }
  void add(const ProfileSample& sample);
  const std::vector<ProfileSample>& samples() const { return samples_; }

 private:
  std::size_t capacity_;
  double interval_ = 0;
  std::vector<ProfileSample> samples_;
};

}  // namespace stratalog
