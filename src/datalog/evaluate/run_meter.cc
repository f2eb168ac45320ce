// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/run_meter.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/pivot_relations.h"

namespace stratalog::datalog {
namespace {

constexpr double kSampleSeconds = 0.1;
constexpr double kMicro = 1e6;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint64_t micros(double seconds) {
  return static_cast<std::uint64_t>(std::max(0.0, seconds) * kMicro);
}

std::string_view name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::kOnce:
      return "once";
    case Strategy::kSemiNaive:
      return "semi-naive";
    case Strategy::kPivot:
      return "pivot";
  }
  return "";
}

// In the order of kProfilePhases.
std::array<double, kProfilePhases.size()> phases_of(const TimeBreakdown& t) {
  return {t.load,   t.restore, t.join, t.exchange, t.deduplicate, t.pack,
          t.encode, t.write,   t.sync, t.commit,   t.output,      t.other};
}

// As it was joined in the end.
std::string joined_order(const EngineState& state, const RuleMeter& meter) {
  const StratumPlan& stratum = state.plan.strata[meter.stratum];
  for (const auto* rules :
       {&stratum.once, &stratum.rules_of_rounds(), &stratum.reject, &stratum.retire})
    for (const RulePlan& rule : *rules)
      if (rule.rule == meter.rule && rule.delta_literal == meter.delta_literal)
        return explain_order(state.program, state.plan, rule);
  return {};
}

}  // namespace

MeteredTime::MeteredTime(RuleMeter* meter) : meter_(meter) {
  if (meter_ != nullptr) began_ns_ = now_ns();
}

MeteredTime::~MeteredTime() {
  if (meter_ != nullptr) meter_->seconds += static_cast<double>(now_ns() - began_ns_) / 1e9;
}

RuleMeter* RunMeter::rule(std::uint32_t stratum, const RulePlan& plan) {
  RuleMeter*& known = meter_of_[{stratum, plan.rule, plan.delta_literal}];
  if (known != nullptr) return known;
  rules_.push_back({.stratum = stratum,
                    .work = ProfileWork::kRule,
                    .rule = plan.rule,
                    .delta_literal = plan.delta_literal});
  return known = &rules_.back();
}

RuleMeter* RunMeter::sweep(std::uint32_t stratum) {
  for (RuleMeter& known : rules_)
    if (known.stratum == stratum && known.work == ProfileWork::kSweep) return &known;
  rules_.push_back({.stratum = stratum, .work = ProfileWork::kSweep});
  return &rules_.back();
}

bool RunMeter::is_sample_due(double at_seconds) const {
  return at_seconds >= last_sample_seconds_ + kSampleSeconds;
}

void RunMeter::note_sample(const ProfileSample& sample) {
  last_sample_seconds_ = sample.at_seconds;
  if (keeps_profile() && samples_.wants(sample.at_seconds)) samples_.add(sample);
}

void RunMeter::note_round(std::uint32_t stratum, std::uint64_t round, std::uint64_t new_tuples,
                          std::optional<double> seconds) {
  if (keeps_profile()) rounds_.add(stratum, round, new_tuples, seconds);
}

void RunMeter::note_local_memory(std::uint64_t memory_bytes) {
  peak_local_memory_ = std::max(peak_local_memory_, memory_bytes);
}

RunMeter::Busiest RunMeter::busiest(std::uint32_t stratum) const {
  Busiest found;
  double all = 0;
  for (const RuleMeter& meter : rules_) {
    if (meter.stratum != stratum) continue;
    all += meter.seconds;
    if (found.meter == nullptr || meter.seconds > found.meter->seconds) found.meter = &meter;
  }
  if (all > 0) found.share = found.meter->seconds / all;
  return found;
}

Result<std::uint64_t> local_rows(const EngineState& state, RelationId id) {
  const RelationData& relation = state.relations[id];
  if (relation.arity == 0) return state.comm.rank() == 0 && relation.holds ? 1U : 0U;
  if (!relation.pivot)
    return relation.shards.empty() ? relation.rows_when_forgotten
                                   : relation.shards.front().primary_index().tuples();
  if (relation.pivot->members() == 1) return relation.pivot->closure().row_count();
  std::uint64_t rows = 0;
  STRATALOG_RETURN_IF_ERROR(relation.pivot->for_each_group(
      relation.pivot_position, RelationVersion::kTotal, [&](const TupleGroup& group) -> Status {
        rows += group.set.count;
        return {};
      }));
  return rows;
}

Result<RunProfile> RunMeter::collect(EngineState& state, const TimeBreakdown& mine) const {
  RunProfile profile;
  std::uint64_t rows = 0;
  STRATALOG_ASSIGN_OR_RETURN(profile.rules, collect_rules(state));
  STRATALOG_ASSIGN_OR_RETURN(profile.relations, collect_relations(state, rows));
  STRATALOG_ASSIGN_OR_RETURN(profile.by_rank, collect_ranks(state, mine, rows));
  profile.ranks = static_cast<std::uint32_t>(state.comm.size());
  profile.resumed_from = state.report.resumed_from;
  for (const ProfileRank& rank : profile.by_rank)
    profile.total_seconds = std::max(profile.total_seconds, rank.total_seconds);
  profile.peak_memory_bytes = state.report.peak_memory_bytes;
  profile.strata.resize(state.program.strata.size());
  for (std::size_t s = 0; s < profile.strata.size(); ++s)
    for (const RelationId r : state.program.strata[s].relations)
      profile.strata[s].relations +=
          (profile.strata[s].relations.empty() ? "" : ", ") + state.program.relations[r].name;
  for (const StratumReport& report : state.report.strata) {
    const auto found =
        std::find_if(profile.strata.begin(), profile.strata.end(),
                     [&](const ProfileStratum& s) { return s.relations == report.relations; });
    if (found == profile.strata.end()) continue;
    ProfileStratum& stratum = *found;
    stratum.strategy = name_of(report.strategy);
    stratum.iterations = report.iterations;
    stratum.tuples = report.tuples;
    stratum.derivations = report.derivations;
    stratum.exchanged_bytes = report.exchanged_bytes;
    stratum.seconds = report.seconds;
  }
  for (const ProfileRule& rule : profile.rules)
    if (profile.strata[rule.stratum].strategy != "pivot")
      profile.strata[rule.stratum].derivations += rule.derivations;
  profile.rounds = rounds_.points();
  profile.samples = samples_.samples();
  for (const SaveReport& saved : state.report.checkpoints)
    profile.checkpoints.push_back(
        {.generation = saved.generation, .bytes = saved.bytes, .seconds = saved.total_seconds});
  return profile;
}

Result<std::vector<ProfileRule>> RunMeter::collect_rules(EngineState& state) const {
  std::vector<std::uint64_t> sums;
  std::vector<std::uint64_t> peaks;
  for (const RuleMeter& meter : rules_) {
    sums.insert(sums.end(), {micros(meter.seconds), meter.derivations, meter.new_tuples});
    peaks.insert(peaks.end(),
                 {micros(meter.seconds), meter.evaluations, meter.guesses_new_tuples ? 1U : 0U});
  }
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(sums, ReduceOp::kSum));
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(peaks, ReduceOp::kMax));
  std::vector<ProfileRule> rules;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const RuleMeter& meter = rules_[i];
    ProfileRule entry{.stratum = meter.stratum, .work = meter.work};
    if (meter.work == ProfileWork::kRule) {
      const Rule& rule = state.program.rules[meter.rule];
      entry.text = rule.text;
      entry.file = rule.place.file;
      entry.line = rule.place.line;
      entry.order = joined_order(state, meter);
      if (meter.delta_literal)
        entry.delta = state.program.relations[rule.body[*meter.delta_literal].atom.relation].name;
    }
    entry.seconds = static_cast<double>(sums[3 * i]) / kMicro;
    entry.derivations = sums[(3 * i) + 1];
    if (peaks[(3 * i) + 2] == 0) entry.new_tuples = sums[(3 * i) + 2];
    entry.slowest_seconds = static_cast<double>(peaks[3 * i]) / kMicro;
    entry.evaluations = peaks[(3 * i) + 1];
    rules.push_back(std::move(entry));
  }
  return rules;
}

Result<std::vector<ProfileRelation>> RunMeter::collect_relations(EngineState& state,
                                                                 std::uint64_t& local) {
  const std::size_t count = state.program.relations.size();
  const auto ranks = static_cast<std::uint64_t>(state.comm.size());
  // Largest and smallest (as the largest complement) in one reduction; then who holds the largest.
  std::vector<std::uint64_t> extremes(2 * count);
  std::vector<std::uint64_t> mine(count);
  Status counted;
  for (RelationId r = 0; r < count; ++r) {
    const auto rows = local_rows(state, r);
    if (!rows.is_ok()) counted = rows.status();
    mine[r] = rows.is_ok() ? rows.value() : 0;
    local += mine[r];
    extremes[2 * r] = mine[r];
    extremes[(2 * r) + 1] = ~mine[r];
  }
  STRATALOG_RETURN_IF_ERROR(agree(state.comm, counted));
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(extremes, ReduceOp::kMax));
  std::vector<std::uint64_t> holder(count, ranks);
  for (RelationId r = 0; r < count; ++r)
    if (mine[r] == extremes[2 * r]) holder[r] = static_cast<std::uint64_t>(state.comm.rank());
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(holder, ReduceOp::kMin));
  std::vector<ProfileRelation> relations;
  relations.reserve(count);
  for (RelationId r = 0; r < count; ++r)
    relations.push_back({.name = state.program.relations[r].name,
                         .rows = state.relations[r].global_rows,
                         .largest_rows = extremes[2 * r],
                         .smallest_rows = ~extremes[(2 * r) + 1],
                         .largest_rank = static_cast<std::uint32_t>(holder[r])});
  return relations;
}

Result<std::vector<ProfileRank>> RunMeter::collect_ranks(EngineState& state,
                                                         const TimeBreakdown& mine,
                                                         std::uint64_t local) const {
  constexpr std::size_t kNumbers = kProfilePhases.size() + 4;
  std::vector<std::uint64_t> numbers;
  for (const double seconds : phases_of(mine)) numbers.push_back(micros(seconds));
  numbers.insert(numbers.end(),
                 {micros(mine.total), state.traffic.mine, peak_local_memory_, local});
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             state.comm.gather(std::as_bytes(std::span(numbers)), 0));
  std::vector<ProfileRank> ranks;
  for (std::size_t at = 0; at < all.data.size(); at += kNumbers * sizeof(std::uint64_t)) {
    std::array<std::uint64_t, kNumbers> theirs{};
    std::memcpy(theirs.data(), all.data.data() + at, sizeof(theirs));
    ProfileRank rank;
    for (std::size_t p = 0; p < kProfilePhases.size(); ++p)
      rank.seconds[p] = static_cast<double>(theirs[p]) / kMicro;
    rank.total_seconds = static_cast<double>(theirs[kProfilePhases.size()]) / kMicro;
    rank.sent_bytes = theirs[kProfilePhases.size() + 1];
    rank.peak_memory_bytes = theirs[kProfilePhases.size() + 2];
    rank.rows = theirs[kProfilePhases.size() + 3];
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace stratalog::datalog
