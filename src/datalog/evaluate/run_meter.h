// SPDX-License-Identifier: Apache-2.0
// RunMeter: measures a run for its profile and for the live view: time, derivations and new tuples
// by rule, new tuples by round, memory and exchanged bytes over time. Exists only if somebody
// asked, so that other runs pay nothing. Measuring is local; collect() is collective. Every rank
// meters the same rules in the same order, because all bind the same plans in the same order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/engine.h"
#include "datalog/plan/program_plan.h"
#include "profile/series.h"

namespace stratalog::datalog {

struct EngineState;

// One row of the table of rules, as this rank sees it.
struct RuleMeter {
  std::uint32_t stratum = 0;
  ProfileWork work = ProfileWork::kRule;
  std::uint32_t rule = 0;  // index into Program::rules
  std::optional<std::uint32_t> delta_literal;
  std::uint64_t evaluations = 0;
  std::uint64_t derivations = 0;
  std::uint64_t new_tuples = 0;
  bool guesses_new_tuples = false;  // new_tuples is not all, or not its own
  double seconds = 0;
};

// Adds the time from here to the end of the scope to a meter, if there is one.
class MeteredTime {
 public:
  explicit MeteredTime(RuleMeter* meter);
  ~MeteredTime();
  MeteredTime(const MeteredTime&) = delete;
  MeteredTime& operator=(const MeteredTime&) = delete;

 private:
  RuleMeter* meter_;
  std::int64_t began_ns_ = 0;
};

class RunMeter {
 public:
  explicit RunMeter(Metering metering) : metering_(metering) {}

  // The meters stay where they are. Binding a rule again finds its meter again.
  RuleMeter* rule(std::uint32_t stratum, const RulePlan& plan);
  RuleMeter* sweep(std::uint32_t stratum);

  bool keeps_profile() const { return metering_ == Metering::kProfile; }
  // Whether it is time to look at what costs a little: a few times a second.
  bool is_sample_due(double at_seconds) const;
  void note_sample(const ProfileSample& sample);
  void note_round(std::uint32_t stratum, std::uint64_t round, std::uint64_t new_tuples,
                  std::optional<double> seconds);
  void note_local_memory(std::uint64_t memory_bytes);

  // The rule of `stratum` that took most time on this rank, with its share of the time of all rules
  // of the stratum.
  struct Busiest {
    const RuleMeter* meter = nullptr;
    double share = 0;
  };
  Busiest busiest(std::uint32_t stratum) const;

  // Collective. The profile on rank 0, nothing of use on the others. `mine` are this rank's own
  // times.
  Result<RunProfile> collect(EngineState& state, const TimeBreakdown& mine) const;

 private:
  Result<std::vector<ProfileRule>> collect_rules(EngineState& state) const;
  static Result<std::vector<ProfileRelation>> collect_relations(EngineState& state,
                                                                std::uint64_t& local_rows);
  Result<std::vector<ProfileRank>> collect_ranks(EngineState& state, const TimeBreakdown& mine,
                                                 std::uint64_t local_rows) const;

  Metering metering_;
  std::deque<RuleMeter> rules_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::optional<std::uint32_t>>, RuleMeter*>
      meter_of_;  // by stratum, rule and atom with new tuples
  RoundSeries rounds_;
  SampleSeries samples_;
  double last_sample_seconds_ = -1;
  std::uint64_t peak_local_memory_ = 0;
};

// Rows of a relation on this rank, each tuple counted on one rank only.
Result<std::uint64_t> local_rows(const EngineState& state, RelationId relation);

}  // namespace stratalog::datalog
