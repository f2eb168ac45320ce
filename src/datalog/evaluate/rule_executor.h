// SPDX-License-Identifier: Apache-2.0
// RuleExecutor: one rule plan, bound to the indices of this rank and to where they lie. It cuts the
// plan into segments: a segment ends where the next search must happen on other ranks, and its
// bindings travel there (a hop). The last segment hands its bindings to a sink, normally a
// HeadWriter. Segments of all rules of a round run in lockstep between exchanges. Local, except
// that its outgoing mail is delivered by the caller.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/pipeline.h"
#include "datalog/evaluate/split_fold.h"
#include "model/value_agreement.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {

// Where the bindings of a rule lie: one token a placement column. Equal lists mean the same rank.
using LocationToken = std::int64_t;
using Location = std::vector<LocationToken>;

// How much of a relation that lies on every rank the first step of a rule takes.
enum class DeltaShare : std::uint8_t {
  kMine,  // each rank a part
  kAll,  // every rank everything: all ranks do the same
};

// Whether it may have values that no relation holds yet: what it computes.
bool may_create_values(const Rule& rule, const RulePlan& plan);

class RuleExecutor {
 public:
  struct Options {
    DeltaShare share = DeltaShare::kMine;
    std::size_t first_step = 0;  // slot graphs skip the delta scan and feed its bindings themselves
    std::vector<VariableId> fed;  // the variables of fed batches, with first_step > 0
    bool tagged = false;
    BatchSink sink;
    std::function<void()> release_sets;  // as in Pipeline::Definition, of the sink; null: none
    // Called after each batch that hops to other ranks; null: nothing is.
    std::function<Status()> after_hop;
    ScanTurns* turns = nullptr;  // of the rows by which ranks share the work
    std::optional<Pipeline::Definition::Witness> witness = {};
  };

  // The plan and the state outlive the executor. All indices that the plan reads must have been
  // ensured.
  static Result<std::unique_ptr<RuleExecutor>> bind(EngineState& state, const RulePlan& plan,
                                                    Options options);

  const RulePlan& plan() const { return plan_; }
  const Rule& rule() const { return rule_; }
  std::span<const Cell> constants() const { return constants_; }
  std::size_t segments() const { return segments_.size(); }
  // Where the bindings are when they reach the sink. Empty: anywhere.
  const Location& final_location() const { return final_location_; }
  LocationToken token_of(const Expression& head_argument) const;
  LocationToken token_of(const ColumnUse& known) const;
  // Whether it begins with what lies on this rank of a dealt relation.
  bool takes_own_part() const { return takes_own_part_; }
  // Whether the rule computes values that other ranks may not know.
  bool creates_values() const { return creates_values_; }

  // Cells of a binding that hops into segment `s` >= 1 (a carried set comes on top).
  std::size_t hop_width(std::size_t s) const;
  bool hop_has_set(std::size_t s) const { return segments_[s].has_set; }
  // Hops go into this mail under stream `first_stream` + segment - 1.
  void use_mail(TupleMail* mail, int first_stream) {
    mail_ = mail;
    first_hop_stream_ = first_stream;
  }

  // Before any segment runs or receives: the last round has united what borrowed sets held here.
  void begin();
  // Runs the first segment on this rank's share.
  Status run_first();
  // Bindings that arrived for segment `s`: rows of hop_width(s) cells, or one row and a set. Some
  // wait until finish_segment(s).
  Status receive(std::size_t s, std::span<const Cell> cells, std::uint64_t rows);
  Status receive_set(std::size_t s, std::span<const Cell> live, const SetView& set);
  Status finish_segment(std::size_t s);
  Status feed(const Batch& batch) { return segments_[0].pipeline->feed(batch); }

  // Bindings with new values on their way into a hop wait for the ranks' agreement.
  void release_hops(const CellRemapping& remapping);

 private:
  struct Segment {
    std::vector<StepSource> sources;
    std::unique_ptr<Pipeline> pipeline;
    // Instead: what arrives are questions of an aggregate, of which this rank folds a part.
    std::unique_ptr<SplitFold> fold;
    SplitFold* answers = nullptr;  // what arrives are the answers to such questions
    std::vector<VariableId> live;  // arriving variables, s >= 1
    std::vector<std::uint32_t>
        keys;  // positions in `live` of the hop's destination key, or constants beyond
    std::vector<Cell> key_constants;
    bool has_set = false;  // a carried set arrives with each binding
    bool to_everyone = false;  // a cross product: bindings go to all ranks
    const BucketMap* buckets =
        nullptr;  // a skewed relation: bindings go to all ranks of their bucket
    const SweptRows* rows = nullptr;  // bindings go to the rank that has the pivot, their key
    Batch in;
    std::vector<Cell> waiting;  // creating rules: rows of live cells
    std::vector<const IntSet*>
        waiting_sets;  // and their sets, if sets travel; borrowed as in a batch
  };

  RuleExecutor(EngineState& state, const RulePlan& plan, Options options);
  Status bind_constants();
  Status bind_steps();
  Result<StepSource> source_of(const Step& step, bool is_first, Location& location,
                               std::optional<Location>& hop_to);
  // Where ranks read each other's shards.
  Result<StepSource> joint_source(const Step& step, StepSource source) const;
  StepSource own_pivots(const Step& step, StepSource source, Location& location,
                        std::optional<Location>& hop_to);
  void read_swept(const Step& step, SweptRows& rows, StepSource& source) const;
  StepSource dealt_equivalence(const Step& step, bool is_first, StepSource source,
                               Location& location, std::optional<Location>& hop_to);
  // What an aggregate reads, and where it is evaluated.
  struct Inner {
    std::vector<StepSource> sources;
    Location location;  // of the bindings
    std::optional<Location> hop_to;  // where they have to go first
    bool is_split = false;  // instead: each rank folds what it has
    bool reads_own_part = false;  // as one source does in both cases
    std::vector<std::unique_ptr<SweptRows>> rows;  // of this rank, that sources read then
  };
  Status bind_inner(const Step& step, const Aggregate& aggregate, Inner& inner);
  Result<StepSource> inner_source(const Step& step, const Aggregate& aggregate, Inner& inner);
  Status own_part(const Step& step, const Aggregate& aggregate, Inner& inner, StepSource& source);
  void split(std::size_t begin, std::size_t s, Inner inner);
  void cut(std::size_t from_step, const Location& hop_to);
  RankShare share_of_first(std::size_t end);
  void make_pipeline(std::size_t s, std::size_t begin, std::size_t end);
  Location atom_location(const Atom& atom, std::span<const std::uint32_t> placement) const;
  Status send_hop(std::size_t s, const Batch& batch);
  void post(std::size_t s, std::span<const Cell> row, const IntSet* set);
  int hop_stream(std::size_t s) const { return first_hop_stream_ + static_cast<int>(s) - 1; }
  void make_room(Segment& segment) const;
  Status flush_in(std::size_t s);

  EngineState& state_;
  const RulePlan& plan_;
  const Rule& rule_;
  Options options_;
  std::vector<Cell> constants_;
  std::deque<Segment> segments_;
  Location final_location_;
  bool creates_values_ = false;
  bool has_run_ = false;  // something of it since begin()
  bool only_on_rank_0_ = false;
  bool scans_share_ = false;  // the first segment's bindings differ from rank to rank
  bool shares_work_ = false;  // all ranks have the same first bindings, and share what follows
  bool takes_own_part_ = false;
  TupleMail* mail_ = nullptr;
  int first_hop_stream_ = 0;
  std::deque<IntSet> held_sets_;
  std::vector<Cell> key_;  // scratch
  const BucketMap* hop_buckets_ = nullptr;  // of the hop that is being bound
  const SweptRows* hop_rows_ = nullptr;
};

}  // namespace stratalog::datalog
