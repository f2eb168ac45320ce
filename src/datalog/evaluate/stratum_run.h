// SPDX-License-Identifier: Apache-2.0
// StratumRun: evaluates one stratum, from the seeds that facts and non-recursive rules give, to its
// fixpoint. Two strategies stand behind it: rounds of semi-naive evaluation with one exchange each
// (round_run.cc), and pivot blocks without any exchange (pivot_run.cc). After each round, or run of
// blocks, it offers a safe point at which a checkpoint of total and delta is sound: the total holds
// all that can be derived from what is not in the delta. Collective.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/facts/tuple_columns.h"

namespace stratalog::datalog {

// What the safe point decides, the same on all ranks.
enum class Verdict : std::uint8_t { kGoOn, kStop };

// Where a checkpoint by rounds is due: at every multiple of the interval, or where the stratum says
// so, because its parts are not at the same round.
enum class DueByRounds : std::uint8_t { kAtMultiples, kNow, kNotYet };

struct SafePoint {
  std::uint64_t iteration = 0;  // rounds with a non-empty delta so far
  std::uint64_t new_tuples = 0;  // of the last round, all ranks
  std::uint64_t total_tuples = 0;
  std::span<const std::uint64_t> new_tuples_per_round;  // of all rounds so far, where kept
  // Where parts of the stratum are ahead of `iteration`: what they found in the rounds after it.
  std::span<const std::uint64_t> tuples_ahead = {};
  DueByRounds by_rounds = DueByRounds::kAtMultiples;
};

// What a rank would bring to a safe point now.
struct SafePointWish {
  bool is_needed = false;  // somebody asked, or a checkpoint is due by time
  bool is_saving =
      false;  // a checkpoint is being written beside the stratum; the same on all ranks
  bool is_writing = false;  // and this rank's part is not yet on the disk
};

// Collective. Saves a checkpoint if one is due.
using SafePointHandler = std::function<Result<Verdict>(const SafePoint&)>;

// How many rounds may pass until a checkpoint by iterations is due; 0 = any number. Local, equal on
// all ranks.
using RoundsUntilDue = std::function<std::uint64_t(std::uint64_t iteration)>;

struct StratumHooks {
  // After each round or run of blocks; thin rounds may pass without, save where rounds_until_due
  // says that none may.
  SafePointHandler safe_point;
  // Collective. No checkpoint is being written beside the stratum any more. Called at its end.
  std::function<Status()> settle;
  RoundsUntilDue rounds_until_due;
  std::uint64_t rounds_between_checkpoints = 0;  // 0 = not by rounds
  // Safe points come about this often, so that checkpoints by time and signals are heard.
  double seconds_between_safe_points = std::numeric_limits<double>::infinity();
  // Local. Where ranks ask each other whether to come to a safe point, rather than come often.
  std::function<SafePointWish()> wish;
  // Local, the same on all ranks after the first safe point: whether any rank may wish for one.
  std::function<bool()> may_be_asked;
  std::function<void(const Progress&)> progress;  // may be empty
};

// Facts of the stratum's relations, by position in Stratum::relations.
using StratumFacts = std::vector<TupleColumns>;

// What a recursion begins with: facts, and what its rules without recursive atoms derived.
struct StratumSeeds {
  StratumFacts tuples;  // with some rank each
  std::uint64_t rows = 0;  // on all ranks
};

struct StratumOutcome {
  StratumReport report;
  bool stopped = false;
  // Of a stratum that was to run by pivot, and is better run by rounds from these.
  std::optional<StratumSeeds> for_rounds = {};
};

enum class StartFrom : std::uint8_t {
  kRounds,  // total and delta of a round
  kSeeds,  // nothing yet; the facts hold what rules without recursive atoms derive as well
  kFixpoint,  // the total of a finished run; added facts that are new become the first delta
};

// `start` is null for a fresh stratum; after a restart it says where the restored total and delta
// stand.
struct StratumStart {
  StartFrom from = StartFrom::kRounds;
  std::uint64_t iteration = 0;
  std::vector<std::uint64_t> new_tuples_per_round;
  std::vector<std::uint64_t> tuples_ahead = {};  // SafePoint::tuples_ahead
};

// The facts go as soon as they are where they belong.
Result<StratumOutcome> run_by_rounds(EngineState& state, std::uint32_t stratum, StratumFacts facts,
                                     const StratumStart* start, const StratumHooks& hooks);
Result<StratumOutcome> run_by_pivot(EngineState& state, std::uint32_t stratum, StratumFacts facts,
                                    const StratumStart* start, const StratumHooks& hooks);

// Whether a planned pivot stratum can run as one: its static relations are small enough to be on
// every rank.
bool can_run_by_pivot(const EngineState& state, std::uint32_t stratum);

// Opens the shards that a stratum needs for its own relations, which hold `rows` tuples together so
// far, as all ranks know. Local, the same on all ranks.
void open_stratum_shards(EngineState& state, std::uint32_t stratum, std::uint64_t rows);
// Its relations are finished ones from now on: deltas, mirrors and choices between values go.
// Local.
void close_members(EngineState& state, std::uint32_t stratum);
// Makes every relation of lower strata that `plans` read available.
Status ensure_static_relations(EngineState& state, std::uint32_t stratum,
                               const std::vector<RulePlan>& plans, bool everywhere);

}  // namespace stratalog::datalog
