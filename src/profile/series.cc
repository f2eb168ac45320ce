// SPDX-License-Identifier: Apache-2.0
#include "profile/series.h"

#include <algorithm>

namespace stratalog {
namespace {

void merge(ProfileRounds& into, const ProfileRounds& next) {
  into.rounds += next.rounds;
  into.new_tuples += next.new_tuples;
  into.largest = std::max(into.largest, next.largest);
  if (into.seconds && next.seconds)
    *into.seconds += *next.seconds;
  else
    into.seconds.reset();
}

}  // namespace

void RoundSeries::add(std::uint32_t stratum, std::uint64_t round, std::uint64_t new_tuples,
                      std::optional<double> seconds) {
  const ProfileRounds point{.stratum = stratum,
                            .first = round,
                            .rounds = 1,
                            .new_tuples = new_tuples,
                            .largest = new_tuples,
                            .seconds = seconds};
  if (!points_.empty() && points_.back().stratum == stratum && points_.back().rounds < width_) {
    merge(points_.back(), point);
    return;
  }
  points_.push_back(point);
  if (points_.size() > capacity_) thin_out();
}

void RoundSeries::thin_out() {
  width_ *= 2;
  std::vector<ProfileRounds> merged;
  for (const ProfileRounds& point : points_) {
    if (!merged.empty() && merged.back().stratum == point.stratum &&
        merged.back().rounds + point.rounds <= width_)
      merge(merged.back(), point);
    else
      merged.push_back(point);
  }
  points_ = std::move(merged);
  // Nothing left to merge: programs with very many strata keep a point for each.
  capacity_ = std::max(capacity_, points_.size() * 2);
}

void SampleSeries::add(const ProfileSample& sample) {
  samples_.push_back(sample);
  if (samples_.size() <= capacity_) return;
  for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
  samples_.resize((samples_.size() + 1) / 2);
  const double span = samples_.back().at_seconds - samples_.front().at_seconds;
  interval_ = std::max(interval_ * 2, span / static_cast<double>(capacity_) * 2);
}

}  // namespace stratalog
