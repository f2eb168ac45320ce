// SPDX-License-Identifier: Apache-2.0
// EngineState: everything one rank holds while a program runs, shared by the parts of the engine
// (loading, strata, moves between placements, checkpoints). Plain data with a few local helpers;
// owned by run_program. Local.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_end.h"
#include "comm/comm.h"
#include "datalog/evaluate/engine.h"
#include "datalog/evaluate/expression.h"
#include "datalog/evaluate/relation_data.h"
#include "datalog/evaluate/run_meter.h"
#include "datalog/plan/addition_plan.h"
#include "model/value_dictionary.h"
#include "relation/set_accumulator.h"

namespace stratalog::datalog {

class Stopwatch {
 public:
  Stopwatch() : start_(std::chrono::steady_clock::now()) {}
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  // Seconds since the start or the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double result = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return result;
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

// Times the phases of a round; where they are not timed it reads no clock and says zero.
class PhaseWatch {
 public:
  explicit PhaseWatch(bool is_on) : is_on_(is_on) {
    if (is_on) lap();
  }
  // Seconds since the last lap.
  double lap() {
    if (!is_on_) return 0;
    const auto now = std::chrono::steady_clock::now();
    const double result = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return result;
  }

 private:
  bool is_on_;
  std::chrono::steady_clock::time_point last_;
};

// Runs local work of the engine, so that the next agreement can tell the others where memory ends.
template <typename Work>
Status guard_memory(Work&& work) {
  return or_no_space(
      "the machine has no memory left for tuples; use more ranks on more nodes, or set "
      "--memory-limit to stop in order with the last checkpoint intact",
      std::forward<Work>(work));
}

// Bytes sent to other ranks.
struct Traffic {
  std::uint64_t mine = 0;  // by this rank
  std::uint64_t told = 0;  // the part of it that reductions have carried to all ranks
  std::uint64_t all = 0;  // by all ranks, as far as told

  std::uint64_t untold() const { return mine - told; }
  // After a reduction that summed what each rank had not told yet.
  void note_told(std::uint64_t sum) {
    told = mine;
    all += sum;
  }
};

class JointShards;

struct EngineState {
  EngineState(Comm& group, const Program& checked_program, const RunOptions& run_options,
              const RunHooks& run_hooks)
      : comm(group),
        program(checked_program),
        declared_strata(checked_program.strata),
        options(run_options),
        hooks(run_hooks),
        new_values(dictionary),
        evaluator(new_values),
        relations(checked_program.relations.size()),
        counted_bytes_(checked_program.relations.size()) {}

  Comm& comm;
  // A copy: facts that are added to a finished run merge strata (plan/addition_plan.h); all else
  // stays as it was given.
  Program program;
  std::vector<Stratum> declared_strata;
  const RunOptions& options;
  const RunHooks& hooks;
  ProgramPlan plan;
  // What the plan was made from; the same on all ranks. Null: nothing is known.
  const std::vector<RelationStatistics>* statistics = nullptr;
  std::vector<std::vector<ColumnPair>> joined_pairs;  // by relation; none until they are asked for
  // Where facts are added to a finished run: to which relations, and which strata go on from what
  // they hold or start over (known once the checkpoint has been looked at).
  std::set<RelationId> changed;
  std::optional<AdditionPlan> addition;
  // For each relation and index plan, the columns by which that index is dealt to the ranks.
  std::vector<std::vector<std::vector<std::uint32_t>>> placements;

  ValueDictionary dictionary;
  NewValues new_values;
  ExpressionEvaluator evaluator;
  SetAccumulator scratch;
  std::vector<RelationData> relations;

  std::unique_ptr<RunMeter> meter;  // null unless somebody asked
  Traffic traffic;
  bool exchanges_beside =
      false;  // what fills a message leaves while rules run; the same everywhere
  Stopwatch clock;
  TimeBreakdown times;
  bool times_phases = true;  // of the round at hand; thin_rounds.h
  double growth_seconds = 0;  // of times.pack: growth noted since the last checkpoint began
  RunReport report;
  bool is_resumed = false;
  std::uint32_t stratum = 0;

  // Where the ranks are threads of one process: the states of all, in rank order. Who reads what of
  // them, and when: joint_shards.h.
  std::vector<const EngineState*> peers;
  JointShards* joint = nullptr;  // of the running stratum, if its ranks read each other's shards
  // What others may still look at where this rank has failed: lives until all have parted.
  std::shared_ptr<void> kept_for_peers;

  // guard_memory for what changes relations and mail. Where it has found no memory once, what is
  // left of this rank may not be whole: nothing is worked on any more, collective calls go on with
  // what there is, and the next agreement ends the run.
  template <typename Work>
  Status guard(Work&& work) {
    if (!want_of_memory.is_ok()) return want_of_memory;
    bool has_returned = false;
    Status ended = guard_memory([&]() -> Status {
      Status done = work();
      has_returned = true;
      return done;
    });
    if (!has_returned) want_of_memory = ended;
    return ended;
  }
  Status want_of_memory;

  // Strata that ranks evaluate alone (alone_run.h) end without a word. What went wrong in them on
  // this rank waits for the next meeting, which comes before any other collective call.
  void keep_for_meeting(const Status& mine) {
    is_apart = true;
    if (kept_status.is_ok()) kept_status = mine;
  }
  // Collective, if all or none are apart: whether all have got through, and found the same.
  Status meet();
  bool is_apart = false;
  Status kept_status;

  // By relation, all ranks together: facts from files and from the caller, still to be taken in.
  std::vector<std::uint64_t> fact_rows;
  bool has_facts(const Stratum& members) const {
    return std::ranges::any_of(
        members.relations, [&](RelationId r) { return r < fact_rows.size() && fact_rows[r] > 0; });
  }

  bool is_single() const { return comm.size() == 1; }
  // The index of a step's relation that has all its tuples on this rank; null where there is none.
  const Index* whole_index(const Step& step) const;

  // Rounds may be many and short, and relations thousands: only those of the running stratum are
  // looked at each time, and those that it reads as they were swept.
  std::uint64_t memory_bytes() const {
    std::uint64_t bytes = dictionary.memory_bytes() + counted_sum_ + pivot_bytes + frozen_bytes;
    if (stratum < program.strata.size())
      for (const RelationId r : program.strata[stratum].relations)
        bytes += relations[r].heap_bytes() - counted_bytes_[r];
    for (const RelationId r : read_swept) bytes += relations[r].heap_bytes() - counted_bytes_[r];
    return bytes;
  }
  // After a change to a relation that is not of the running stratum.
  void recount(RelationId relation);
  void recount_all() {
    for (RelationId r = 0; r < relations.size(); ++r) recount(r);
  }
  std::vector<RelationId> read_swept;  // finished relations that have RelationData::swept
  std::uint64_t pivot_bytes = 0;  // of the pivot relations of the running stratum
  std::uint64_t frozen_bytes = 0;  // copied for a checkpoint that is being written

 private:
  std::vector<std::uint64_t> counted_bytes_;  // by relation, when it was last counted
  std::uint64_t counted_sum_ = 0;
};

}  // namespace stratalog::datalog
