// SPDX-License-Identifier: Apache-2.0
// Checkpointing: decides when a checkpoint is due, describes the engine's relations to the
// checkpoint room, and puts a loaded generation back into the engine on any number of ranks. The
// state beside tuples (finished strata, the running stratum and its iteration, sizes that the plan
// was made from) travels as JSON, the dictionary and the program text as sections. Collective.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/checkpoint_interval.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/growing_sections.h"
#include "datalog/evaluate/saved_parts.h"
#include "datalog/evaluate/section_names.h"
#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {

// Which cells are the pivots of a stratum; a sparse dictionary is in the section "pivots-STRATUM".
struct StoredPivotSpace {
  std::uint64_t first = 0;
  std::uint64_t lanes = 0;
  bool sparse = false;
};

// Facts that were added to a finished run.
struct FactAddition {
  struct Rows {
    std::string relation;
    std::uint64_t rows = 0;  // as given, known or not
  };
  std::string base;  // the generation of the finished run
  std::vector<Rows> facts;
  std::set<std::uint32_t> continued;  // strata that went on from what they held, merged into one
  std::set<std::uint32_t> restarted;  // strata that started over
};

// Where the engine stands, as far as it is not tuples. `stratum` is set while one is running.
struct EnginePosition {
  std::set<std::uint32_t> finished;
  std::optional<std::uint32_t> stratum;
  StratumStart start;
  bool by_pivot = false;
  std::vector<RelationStatistics> statistics;  // that the plan was made from
  std::vector<StratumReport> reports;  // of finished strata, in the order in which they ran
  std::map<std::uint32_t, StoredPivotSpace>
      pivot_spaces;  // of strata run by pivot, finished or running
  // Relations whose home was dealt anew because of skew: a restart sends their tuples to the owners
  // by hash, even on the same number of ranks.
  std::set<RelationId> split;
  // The columns by which relations lie on several ranks, ascending: a restart whose plan deals one
  // by others sends its tuples, too.
  std::map<RelationId, std::vector<std::uint32_t>> dealt_by;
  std::set<RelationId> supplied;  // to which the calling program gave facts of its own
  std::vector<FactAddition> additions;  // in the order in which they came
  bool is_adding = false;  // the last of them is not through yet; its strata are merged
};

std::string hash_program(const Program& program);

class Checkpointing {
 public:
  explicit Checkpointing(EngineState& state)
      : state_(state), interval_(state.options.checkpoint.interval) {}

  bool is_on() const { return state_.options.checkpoint.store != nullptr; }
  // Checks the directory against the resume policy, before anything is loaded. The position of the
  // newest valid generation, restored into the state, or nothing for a fresh start.
  Result<std::optional<EnginePosition>> resume();
  // Claims the right to write. Called after resume().
  Status open_writer();

  // How long a stratum may go on until it must ask whether one is due; infinite: for ever.
  double seconds_between_safe_points() const;
  // Of checkpoints by iterations; 0 = not by iterations.
  std::uint64_t rounds_between_checkpoints() const;
  // Rounds until a checkpoint by iterations is due; 0 = not by iterations.
  std::uint64_t rounds_until_due(std::uint64_t iteration) const;
  // Local. What this rank would bring to a safe point now.
  SafePointWish wish();
  // Collective, once, before the first stratum.
  Status learn_who_may_ask();
  // Local. Whether any rank's wish may ever be more than nothing; known then.
  bool may_be_asked() const { return may_be_asked_.value_or(true); }
  // Saves if one is due by iterations, by time, or because somebody asked; says whether to go on.
  Result<Verdict> safe_point(const EnginePosition& position, const SafePoint& point);
  // Saves unconditionally. A failed save is in the report, and told; only errors that end the run
  // are returned.
  Status save(const EnginePosition& position, std::uint64_t iteration, SaveTime time);
  // Waits for a checkpoint that is being written beside the evaluation and commits it. Before
  // finished relations move, or running ones change in other ways than growing.
  Status settle();
  // Local. Gives the right to write back, when nothing is being written any more: the relations may
  // outlive the run by hours (kept_run.h).
  void close_writer() { writer_.reset(); }

 private:
  // What it took to make the request, by the phases of a SaveReport.
  struct PrepareTimes {
    double growth = 0;  // following it in the rounds before: packing, told in the breakdown already
    double pack = 0;
    double encode = 0;  // sections and the position
    double agree = 0;
    double held() const { return pack + encode + agree; }
  };
  // A checkpoint between its request and its end.
  struct Saving {
    SavedParts parts;
    std::uint64_t iteration = 0;
    SaveTime time = SaveTime::kOnTheWay;
    PrepareTimes prepared;
    bool folds = false;  // chains are read back and written as one
    GrowingSections::Ends ends = {};  // rank 0
  };

  Result<std::optional<EnginePosition>> load();
  Status save_now(const EnginePosition& position, Saving& saving, const SaveRequest& request);
  Status begin_save(const EnginePosition& position, std::uint64_t iteration);
  Result<SaveRequest> make_request(const EnginePosition& position, Saving& saving, ImageLife life);
  bool can_overlap(const EnginePosition& position) const;
  Status conclude(Saving& saving, const Result<SaveReport>& saved);
  void note_failure(const Saving& saving, const Status& status);
  GrowingSections::Ends add_sections(const EnginePosition& position, SaveRequest& request) const;
  StopRequest take_request();
  bool is_due_by_time() const;
  bool is_due_by_rounds(const EnginePosition& position, const SafePoint& point) const;
  void tell_saving(std::uint64_t iteration) const;
  void notice(const std::string& text) const;
  void confirm_base();

  EngineState& state_;
  std::unique_ptr<CheckpointWriter> writer_;
  GrowingSections growing_sections_;
  IntervalRule interval_;
  Stopwatch since_begin_;
  Stopwatch since_last_;
  // Of the last checkpoint: each stratum counts its own iterations.
  std::uint64_t last_iteration_ = 0;
  std::optional<std::uint32_t> last_stratum_;
  std::unique_ptr<Saving> pending_;
  // One is due at the next safe point: it was put off, or the last one failed because those before
  // it are damaged. Rank 0's counts.
  bool is_owed_ = false;
  StopRequest asked_ = StopRequest::kNone;  // on rank 0, and not yet answered
  std::optional<bool> may_be_asked_;  // by safe points, on any rank; known from the first one on
};

}  // namespace stratalog::datalog
