// SPDX-License-Identifier: Apache-2.0
// The engine's front door: runs a checked program on a group of ranks, from fact files to
// relations, with checkpoints on the way, and reports what it did. Collective: every rank calls
// run_program with the same program and options and gets the same Status. Reads and writes files
// only through Stores; never prints: progress goes to a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"
#include "datalog/evaluate/checkpoint_interval.h"
#include "datalog/external_function.h"
#include "datalog/facts/fact_reader.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/plan/program_plan.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"
#include "profile/run_profile.h"
#include "write/store.h"

namespace stratalog::datalog {

enum class ResumePolicy : std::uint8_t {
  kFresh,  // start over; refused (AlreadyExists) if the checkpoint directory holds generations
  kFreshForced,  // start over even then
  kResumeOrFresh,  // continue from the newest valid generation, start fresh only if there is none
                   // at all
  kResume,  // continue; NotFound if there is nothing to continue from
};

// Whether the answer is the last checkpoint of a run that finishes. Without it the newest
// generation is that of a running recursion, and a resumed run finishes once more from there.
enum class AtEnd : std::uint8_t { kSave, kSkip };

struct CheckpointOptions {
  Store* store = nullptr;  // null: no checkpoints
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;
  // While a recursion goes on, checkpoints are written beside it as writer.overlap says, as far as
  // the mode can (policy/overlap.h); a failure is told at the next safe point.
  WriterOptions writer;
  ChainRules chain;  // when a relation is written whole, when as growth
  // Whether chains of relations that grow in rounds end by being read back and written as one, in
  // mode fpp where a thread packs beside the evaluation. Otherwise they end by a copy of the
  // relation, which holds the evaluation up.
  Folding folding = Folding::kAllowed;
  std::uint64_t every_iterations = 0;  // 0: not by iterations
  double every_seconds = 0;  // 0: not by time
  // If set, the interval follows from it and from what checkpoints cost; every_seconds is then not
  // used.
  IntervalBasis interval;
  ResumePolicy resume = ResumePolicy::kFresh;
  std::string generation;  // with kResume: this one instead of the newest
  std::string refusal_advice;  // with kFresh: ends what is said where there are generations
  AtEnd at_end = AtEnd::kSave;
};

// When a checkpoint was to be written.
enum class SaveTime : std::uint8_t {
  kOnTheWay,  // a later one holds all that it would have held
  kAtEnd,  // of the answer, or where the run was told to stop: nothing comes after it
};

// A checkpoint that could not be written. The run went on without it.
struct FailedCheckpoint {
  std::uint64_t iteration = 0;
  SaveTime time = SaveTime::kOnTheWay;
  Status status;
  std::size_t saved_before = 0;  // how many checkpoints of this run had been written
};

// Asked at every safe point; rank 0's answer counts for all.
enum class StopRequest : std::uint8_t { kNone, kCheckpoint, kCheckpointAndStop };

enum class Phase : std::uint8_t { kLoading, kRestoring, kEvaluating, kCheckpointing, kOutput };

// What a live view shows. Sums over ranks where all ranks met last.
struct Progress {
  Phase phase = Phase::kLoading;
  std::uint32_t stratum = 0;
  std::uint32_t strata = 0;
  std::string relations;  // of the stratum, "path, reach"
  std::uint64_t iteration = 0;  // rounds finished in this stratum
  std::uint64_t new_tuples = 0;  // of the last finished round
  std::uint64_t total_tuples = 0;  // of this stratum's relations
  double fraction = -1;  // of the current sweep or stratum, where known
  // Of this stratum's tuples, how large a part lies on the fullest rank; negative where unknown.
  double largest_share = -1;
  std::string busiest_rule;  // that took most of rank 0's time in this stratum, where metered
  double busiest_share = 0;  // of the time of all its rules
  std::uint64_t exchanged_bytes = 0;  // by all ranks, so far
  std::uint64_t memory_bytes = 0;  // all ranks
  double checkpoint_seconds = 0;  // that they held the run up for, so far
  std::uint64_t checkpoints = 0;
  double elapsed_seconds = 0;
  double stratum_seconds = 0;  // since this stratum began
};

// What is measured beside the report.
enum class Metering : std::uint8_t {
  kNone,
  kRules,  // for a live view: which rule takes the time; may differ from rank to rank
  kProfile,  // everything that RunProfile holds; the same on all ranks
};

struct RunHooks {
  std::function<void(const Progress&)> progress;  // called on rank 0 only
  // Rank 0: what the run is at from now on, whether it is shown or not. An error that ends the run
  // belongs to what it was at last.
  std::function<void(Phase)> at_work;
  std::function<StopRequest()> stop_requested;  // polled on rank 0 only
  // Asked by this rank while its rules run: whether nobody wants what they would find. They then
  // end in the midst of it, and the run, on all ranks, with Cancelled.
  std::function<bool()> is_abandoned;
  std::function<void(const std::string&)>
      notice;  // rank 0: lines for the log (skipped generations, warnings)
  // Rank 0: what failed without ending the run (checkpoints), for whoever wants errors only.
  // Without it such a line is a notice.
  std::function<void(const std::string&)> failure;
};

// Local. Tuples that the caller holds in memory, by relation (no columns: none); may repeat. Cells
// are given out by `values`. Called once, on every rank, each of which may hand over its own.
using FactSupply = std::function<Result<std::vector<TupleColumns>>(NewValues& values)>;

// What becomes of the relations of run_program when it returns.
enum class RelationsAtEnd : std::uint8_t {
  kFreed,
  kLeft,  // to the end of the process, which must come soon: it frees them faster
};

// Whether tuples for other ranks leave while rules run.
enum class ExchangeTime : std::uint8_t {
  kAuto,  // beside them where ranks lie on several nodes: within one there is no way to wait for
  kBeside,  // wherever ranks can post to each other
  kAfter,
};

struct RunOptions {
  Store* facts = nullptr;  // -F: where .input files are
  ReadOptions read;  // how they are read; what is missing in it is an IO that is not supported
  // Facts beside those from files. With it and without a directory of facts, .input reads nothing.
  FactSupply supply;
  // With ResumePolicy::kResume: a folder with files of facts that a finished run is to take in.
  // They are named as the program's .input says; relations without a file get nothing.
  Store* added_facts = nullptr;
  // By number in Program::external_functors (datalog/functors); empty where there are none.
  std::span<const ExternalFunction> externals;
  Store* output = nullptr;  // -D: where .output files go; null: no output files
  WriteOptions write;  // how output files are written; its hdf5 function makes IO=hdf5 possible
  CheckpointOptions checkpoint;
  std::uint64_t memory_limit_bytes = 0;  // per rank; 0: none
  std::uint64_t replicate_limit_rows =
      16U << 20;  // static relations up to this size are copied to all ranks
  // Growing relations of a recursion by rounds are copied to all ranks as long as the copies hold
  // fewer rows than this together, on all ranks and for all relations of the stratum; 0: never.
  std::uint64_t mirror_limit_rows = 32U << 20;
  // Equivalence relations with so many elements are dealt; smaller ones are whole on every rank.
  std::uint64_t deal_equivalence_from = 1U << 16;
  // Growing relations from this size on are dealt anew where one rank holds too large a share.
  std::uint64_t rebalance_min_rows = 1U << 16;
  // Where facts are added: strata that were run by pivot and hold as many rows are swept anew.
  std::uint64_t sweep_anew_min_rows = 1U << 20;
  // A restart on another number of ranks sends tuples to their owners when about so many bytes
  // wait for that.
  std::uint64_t restore_round_bytes = std::uint64_t{8} << 20;
  // Finished relations that were swept by pivots and have as many rows are read where they lie by
  // rules that run once; smaller ones are copied as tuples.
  std::uint64_t read_swept_min_rows = 1U << 20;
  // Recursions run by pivot order their slots where they begin with as many tuples, and with pivots
  // for more than one block: from fewer, a sweep takes no longer than the search for an order. 0:
  // always.
  std::uint64_t order_slots_min_seeds = 1U << 11;
  // From so many tuples on, recursions that could run by pivot are looked at before: those that are
  // likely to derive few run by rounds. 0: always.
  std::uint64_t guess_growth_min_seeds = 1U << 12;
  // A sweep of a block asks after so many row operations whether ranks are to meet in the middle of
  // it: less than a millisecond.
  std::uint64_t sweep_pause_operations = 1U << 18;
  ExchangeTime exchange = ExchangeTime::kAuto;
  bool allow_pivot = true;
  bool allow_sets = true;
  // So many bytes of sets that a step of a rule has united are kept before the head takes them in.
  std::uint64_t united_sets_bytes = 64U << 20;
  bool keep_round_counts = false;  // RunReport::new_tuples_per_round
  Metering metering = Metering::kNone;
  // Left only where there are no checkpoints, whose threads must end.
  RelationsAtEnd relations_at_end = RelationsAtEnd::kFreed;
};

// Seconds, maximum over ranks.
struct TimeBreakdown {
  double load = 0;  // reading facts
  double restore = 0;  // loading a checkpoint, redistribution included
  double join = 0;
  double exchange = 0;
  double deduplicate = 0;
  double pack = 0;  // checkpoint stations
  double encode = 0;
  double write = 0;
  double sync = 0;
  double commit = 0;
  double wait = 0;  // for checkpoints that were written beside the evaluation
  double output = 0;
  double other = 0;
  double total = 0;
};

struct RelationSize {
  std::string name;
  std::uint64_t rows = 0;
  bool is_computed = true;  // false: no output depends on it, and it was left out
};

struct StratumReport {
  std::string relations;
  Strategy strategy = Strategy::kOnce;
  std::uint64_t iterations = 0;  // rounds with a non-empty delta
  std::uint64_t tuples = 0;
  std::uint64_t derivations = 0;  // where counted, else 0
  std::uint64_t exchanged_bytes = 0;  // sent to other ranks, sum over ranks
  std::uint64_t rebalances = 0;  // how often a relation was dealt anew because of skew
  // At the end, the part of the tuples that lay on the fullest rank; negative where unknown.
  double largest_share = -1;
  double seconds = 0;
  std::vector<std::uint64_t> new_tuples_per_round;
};

struct RunReport {
  int ranks = 1;
  bool exchanges_beside = false;  // ExchangeTime as it was chosen
  std::vector<RelationSize> relations;  // all relations of the program, declaration order
  std::vector<RelationSize> print_sizes;  // those with .printsize, in program order
  std::vector<StratumReport> strata;
  std::vector<SaveReport> checkpoints;
  std::vector<FailedCheckpoint> failed_checkpoints;
  TimeBreakdown times;
  std::uint64_t peak_memory_bytes = 0;  // accounted, all ranks together
  std::vector<std::string> console;  // rank 0: what .output with IO=stdout prints, in program order
  std::vector<std::string> output_files;
  std::string resumed_from;  // generation, empty if fresh
  std::uint64_t resumed_iteration = 0;
  bool stopped_early = false;  // on kCheckpointAndStop
  std::optional<RunProfile> profile;  // rank 0, with Metering::kProfile
  // With CheckpointOptions::interval: rank 0's last numbers.
  double interval_seconds = 0;
  double interval_cost_seconds = 0;  // of a checkpoint, newest ones weighing most
};

// Of the newest checkpoint that was to be written, if it failed; else null. Where the run ends with
// one it is that, and with AtEnd::kSkip the last one on the way.
const FailedCheckpoint* missing_checkpoint(const RunReport& report);

// Errors: InvalidArgument / NotFound / Corruption with file and line for facts; NoSpace when a
// memory limit is reached (the last checkpoint is intact); what checkpoints return. A failed
// checkpoint is not the end of the run: it goes on with the older generation, outputs are written,
// and the report tells of it.
Result<RunReport> run_program(Comm& comm, const Program& program, const RunOptions& options,
                              const RunHooks& hooks);

}  // namespace stratalog::datalog
