// SPDX-License-Identifier: Apache-2.0
// Pipeline: runs some consecutive steps of a rule plan over batches of bindings: scans, prefix
// searches in indices, membership tests, filters, computed values, ranges and aggregates. What
// leaves the last step goes to a sink. It looks at this rank's indices, or where the sources say so
// at those of all ranks; the caller has seen to it that they hold what the steps ask for. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/expression.h"
#include "datalog/evaluate/place_ranges.h"
#include "datalog/evaluate/scan_turns.h"
#include "datalog/plan/program_plan.h"
#include "model/tuple_filter.h"
#include "relation/equivalence.h"
#include "relation/index.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {

class AggregateFold;
struct FoldedPart;
class SweptRows;
struct KnownCell;
struct KnownComparison;
struct SetComparison;
class PlaceRanges;

// What a step reads on this rank.
struct StepSource {
  const Index* index = nullptr;
  // Where the relation is dealt and all ranks' parts can be read: those of all, by rank. A search
  // takes that of the rank that owns the cells at `owner_places` of the step's columns, a scan all.
  std::vector<const Index*> joint;
  std::vector<std::uint32_t> owner_places;
  const Equivalence* equivalence = nullptr;  // instead of an index
  // Where it is dealt and all ranks' parts can be read: those of all, by rank.
  std::vector<const Equivalence*> joint_equivalence;
  SweptRows* swept = nullptr;  // instead of an index
  std::vector<std::uint32_t> key_places;  // swept: in the step's columns
  std::uint32_t pivot_place = 0;
  const bool* nullary = nullptr;  // arity 0: the relation's (or its delta's) truth value
  // Of all ranks: "is there any tuple" without columns. Aggregates: of a relation that they only
  // count.
  const std::uint64_t* global_rows = nullptr;
  // Of an equivalence that a scan takes only a part of: elements that hash to `part`.
  std::uint32_t parts = 1;
  std::uint32_t part = 0;
  std::vector<StepSource> inner;  // aggregates: what the steps of their body read

  // The index that holds what a search looks for: `cell_at(place)` is the cell of the step's column
  // `place`.
  template <typename CellAt>
  const Index& index_for(CellAt&& cell_at) const {
    if (joint.empty() || owner_places.empty()) return *index;
    const std::uint64_t hash = hash_places(owner_places, cell_at);
    return *joint[scale_hash(hash, static_cast<std::uint32_t>(joint.size()))];
  }
};

// Whether a search of swept rows goes from a pivot to its keys.
inline bool knows_pivot(const Step& step, const StepSource& source) {
  return source.swept != nullptr && step.kind == StepKind::kSearch &&
         source.pivot_place < step.prefix_length;
}

// The part of an equivalence relation that has the class of an element.
inline const Equivalence& equivalence_for(const StepSource& source, Cell element) {
  if (source.joint_equivalence.empty()) return *source.equivalence;
  const auto ranks = static_cast<std::uint32_t>(source.joint_equivalence.size());
  return *source.joint_equivalence[scale_hash(hash_cells(std::span(&element, 1)), ranks)];
}

using BatchSink = std::function<Status(const Batch&)>;

// Of ranks that all start() a pipeline with the same sources, and share its work.
struct RankShare {
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;
  std::size_t first = 0;  // all do the same in steps before this one, whatever they compute
  // Who begins, counted on by one with each start, so that it is not always the same rank that has
  // the odd rows.
  std::uint64_t first_turn = 0;
  ScanTurns* turns = nullptr;  // instead: whoever is ready takes the next rows
};

class Pipeline {
 public:
  // `sources` runs parallel to `steps`.
  // Everything passed by reference outlives the pipeline. `bound_before` are the variables of the
  // batches given to feed().
  struct Definition {
    const Rule* rule = nullptr;
    const std::vector<Literal>* body = nullptr;  // of the rule, or of an aggregate
    std::span<const Step> steps;
    std::vector<StepSource> sources;
    std::vector<VariableId> bound_before;
    std::span<const Cell> constants;  // RulePlan::constants as cells
    bool carries = false;  // a carried set travels with each row (from some step on)
    VariableId carried = 0;  // with carries
    RankShare share;
    bool tagged = false;  // each binding names the row of the fed batch that it stems from
    bool counts = false;  // every combination of body tuples matters (aggregates)
    // With counts, where nothing else is asked of them: takes so many bindings of a tag at once.
    std::function<void(std::uint32_t tag, std::uint64_t bindings)> count_many;
    // With counts, of those that count or sum whole numbers: takes what some bindings of a tag come
    // to. `summed` is what is summed of them.
    std::function<void(std::uint32_t tag, const FoldedPart& part)> add_part = {};
    std::optional<VariableId> summed = {};
    // With counts, where only the least or the greatest value of a number is asked for.
    struct Extreme {
      VariableId variable = 0;
      bool is_least = false;
    };
    std::optional<Extreme> extreme = {};
    // Where carried sets may be united on the way: makes whoever took batches let go of their sets.
    // Null: sets pass as they are.
    std::function<void()> release_sets;
    SetAccumulator* scratch = nullptr;  // with release_sets
    std::uint64_t most_united_bytes = 0;  // of a step before it asks for its sets back
    bool ends_rule = false;  // its last step is the rule's
    // Of each binding that comes to the step that reads `literal`, one that becomes of it is as
    // good as all: whoever takes batches says that it has got one.
    struct Witness {
      std::uint32_t literal = 0;
      bool* is_found = nullptr;
    };
    std::optional<Witness> witness = {};
  };

  Pipeline(Definition definition, ExpressionEvaluator& evaluator, BatchSink sink);
  // Of the body of an aggregate, which is `literal` of the rule, for fold_rows() into `fold`.
  static std::unique_ptr<Pipeline> of_aggregate(const Rule& rule, const Literal& literal,
                                                const Step& step, std::vector<StepSource> sources,
                                                std::span<const Cell> constants,
                                                ExpressionEvaluator& evaluator,
                                                AggregateFold& fold);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Runs the steps for one batch. Output may be held back until finish().
  Status feed(const Batch& batch);
  // Of an aggregate's body: runs the steps for all rows of a batch, which may be longer than others
  // are, and folds what comes of each into the row of `fold` with the same number.
  Status fold_rows(const Batch& in, AggregateFold& fold);
  // Runs them for a single empty binding (rules that start with a scan, or have no body).
  Status start();
  // Whether start() would find nothing: the new tuples that it begins with are few, and none of
  // them has its constants.
  bool begins_in_vain() const;
  // A round has ended since it ran: whoever took batches borrows none of their sets any longer, and
  // what it reads may have grown.
  void begin_round();
  // Passes on what is held back.
  Status finish();
  // After that, of rules that do not run again soon: what bindings lay in. Large programs have
  // thousands of rules.
  void give_back_room();

 private:
  struct Stage;
  struct GatheredRows;
  struct Guard;

  // Where ranks part: at step `at`. Until that is decided, they have done the same up to there.
  enum class ShareBy : std::uint8_t {
    kNothing,  // this rank has everything
    kUndecided,
    kRows,  // each visits some of the rows that the step finds
    kBindings,  // each keeps some of the bindings that come to it
  };
  struct SharePoint {
    ShareBy by = ShareBy::kNothing;
    std::size_t at = 0;
    bool is_few = true;  // the bindings that came when it was decided
    bool is_ordered = true;  // bindings come to all ranks in the same order
    std::uint64_t next_binding = 0;
    std::vector<VariableId> read;  // what they are dealt by, if not by their number
  };
  struct Found {
    std::uint64_t rows = 0;
    std::uint64_t tuples = 0;
    // Rows without tuples may be there on some ranks only.
    void add(const IntSet& cells) {
      rows += cells.empty() ? 0 : 1;
      tuples += cells.size();
    }
  };
  void begin_share();
  void decide_share(std::size_t s, const Batch& in);
  void deal_bindings(std::size_t s);
  bool is_done_by_all(std::size_t s) const;
  bool may_share_after(std::size_t s) const;
  bool shares_found(std::size_t s, const Batch& in);
  Found count_all(std::size_t s, const Batch& in) const;
  Found count_under(std::size_t s, const Batch& in);
  void keep_own_bindings(Batch& batch, std::span<const VariableId> live);
  bool parts_by_rows(std::size_t s) const { return share_.by == ShareBy::kRows && share_.at == s; }
  bool is_own_row(const Index& index, RowId row) const;

  void prepare_stage(std::size_t s);
  void make_room(Stage& stage);
  void prepare_filter(Stage& stage);
  void prepare_selection(Stage& stage);
  void prepare_aggregate(Stage& stage);
  Status process(std::size_t s, const Batch& in);
  Status flush(std::size_t s);
  Status pass_on(std::size_t s, const Batch& out);
  bool has_made_nothing() const;
  // Copies what passes through from input row to the next output row and returns that row; does not
  // count it yet. The others: to so many rows, and from so many.
  std::uint32_t append(Stage& stage, const Batch& in, std::uint32_t row) const;
  void append_alike(Stage& stage, const Batch& in, std::uint32_t row, std::uint32_t count) const;
  void append_rows(Stage& stage, const Batch& in, std::span<const std::uint32_t> rows) const;

  Status scan(std::size_t s, const Batch& in);
  Status search(std::size_t s, const Batch& in);
  // Bounds of the column behind the prefix (pipeline_bounds.cc): what of an index lies between
  // them.
  void note_row_filter(Stage& stage, const Literal& literal);
  void keep_places(const SetComparison& filter, std::uint64_t other, const Batch& in,
                   std::uint32_t in_row, PlaceRanges& places);
  void find_row_ranges(Stage& stage, const Batch& in, std::uint32_t in_row);
  // What a filter tells of rows by other columns, before these are bound.
  void note_row_test(Stage& stage, const Literal& literal);
  void find_tested_ranges(Stage& stage, const Batch& in, std::uint32_t in_row);
  bool lies_within(Cell cell, ValueKind kind, const PlaceRanges& places) const;
  void test_rows(Stage& stage, const Index& index) const;
  void list_between(Stage& stage, const Index& index, const FoundRows& under) const;
  void append_valued(Stage& stage, const Index& index, const FoundRows& under) const;
  void order_rows(Stage& stage) const;
  void find_between(Stage& stage, const Batch& in, std::uint32_t in_row);
  // Of the rows under a key, those that a binding reads: the stage's list.
  void find_under(Stage& stage, const Batch& in, std::uint32_t in_row, const Index& index,
                  const Cell* key);
  Status visit_between_until_found(std::size_t s, const Batch& in, std::uint32_t in_row);
  Found count_between(std::size_t s, const Batch& in);
  Status scan_between(std::size_t s, const Batch& in);
  // New tuples under a prefix.
  Status search_delta(std::size_t s, const Batch& in);
  Status membership(std::size_t s, const Batch& in);
  // What a carried set has in common with an index, or what the index does not have of it.
  Status restrict_sets(std::size_t s, const Batch& in);
  void unite_joint(Stage& stage) const;
  Status filter(std::size_t s, const Batch& in);
  bool passes_as_it_is(std::size_t s, const Batch& in) const;
  Status append_selected(std::size_t s, const Batch& in);
  Status filter_sets(std::size_t s, const Batch& in);
  // The row goes on with this set, which may have been made here.
  Status pass_set(std::size_t s, const Batch& in, std::uint32_t row, const IntSet* set);
  bool pass_whole(std::size_t s, const Batch& in, std::uint32_t row, const IntSet& set,
                  IntSet& kept);
  void compare_each(std::size_t s, const Batch& in, std::uint32_t row, const IntSet& set,
                    IntSet& kept);
  KnownComparison known_comparison(const Stage& stage, const SetComparison& compared);
  std::uint64_t compared_bits(const Stage& stage, const KnownComparison& filter, const Batch& in,
                              std::uint32_t in_row);
  // Where a step that reads rows finds the value of a variable.
  static KnownCell known_cell(const Stage& stage, VariableId variable);
  static Cell cell_of(const KnownCell& known, const Stage& stage, const Batch& in,
                      std::uint32_t in_row);
  static void fill_one(Stage& stage, const Batch& in, std::uint32_t in_row,
                       std::span<const Cell> prefix);
  // What the step that reads an atom can test already of filter `s`, which follows it.
  void prepare_early_filters(std::size_t s);
  // False where a filter soon after would drop all of a swept row with this key.
  bool admits_key(std::size_t s, const Batch& in, std::uint32_t in_row,
                  std::span<const Cell> prefix);
  Status assign(std::size_t s, const Batch& in);
  Status assign_equal_floats(std::size_t s, const Batch& in);
  Status look_up_records(std::size_t s, const Batch& in);
  Status unpack(std::size_t s, const Batch& in);
  Status range(std::size_t s, const Batch& in);
  Status aggregate(std::size_t s, const Batch& in);
  Status fold_body(std::size_t s, const Batch& in);
  Status fold_groups(std::size_t s, const Batch& in);
  Status pass_folded(std::size_t s, const Batch& in);
  template <typename ResultOf>
  Status pass_results(std::size_t s, const Batch& in, const ResultOf& result_of);
  static std::optional<Cell> folded(Stage& stage, std::uint32_t row, const Batch& outer);
  Status scan_equivalence(std::size_t s, const Batch& in);
  Status scan_swept(std::size_t s, const Batch& in);
  Status search_swept(std::size_t s, const Batch& in);
  // Keeps bindings until they are many or the last has come (finish()); those that bring a set are
  // passed on at once, as that may live no longer than this call.
  Status wait_for_more(std::size_t s, const Batch& in);
  Status pass_waiting(std::size_t s);
  Status look_up_pivots(std::size_t s, const Batch& in);
  // The set, or where the step carries it the set at the place where it stays.
  Result<const IntSet*> kept_set(std::size_t s, IntSet& set);
  // Whether nothing is asked of the step's last column but how many there are.
  bool only_counts(std::size_t s) const;
  // The one element of a set that the last step has to bind, where only the least or the greatest
  // is asked for and the set tells it at once.
  std::optional<Cell> only_extreme(std::size_t s, const SetView& cells) const;
  Status bind_extreme(std::size_t s, const Batch& in, std::uint32_t in_row, std::uint32_t first,
                      const SetView& set, const CellRange& range);
  // What is under a pivot, for the bindings that ask for it.
  Status visit_keys(std::size_t s, const Batch& in, std::span<const std::uint32_t> rows, Cell pivot,
                    IntSet& keys);
  Status visit_long_keys(std::size_t s, const Batch& in, std::span<const std::uint32_t> rows,
                         Cell pivot, std::span<const Cell> keys);
  Status test_swept(std::size_t s, const Batch& in);
  // False where the next step would find nothing for this row, whatever set step `s` binds.
  bool leads_on(std::size_t s, const Batch& in, std::uint32_t in_row) const;
  // One past the last row from `row` on that has the same bindings, whatever sets they carry.
  std::uint32_t end_of_alike(const Stage& stage, const Batch& in, std::uint32_t row) const;
  // Visits a row of an index for bindings that are alike: once with the union of their sets, where
  // it binds more than one value; else once for each.
  Status visit_alike(std::size_t s, const Batch& in, std::uint32_t row, std::uint32_t end,
                     const Index& index, std::span<const RowId> found);
  bool is_worth_uniting(const Stage& stage, const Batch& in, std::uint32_t row, std::uint32_t end,
                        const Index& index, std::span<const RowId> found) const;
  bool loses_variable(std::size_t s) const;
  // Whether bindings that leave step `s` may come several times, and later steps would do much for
  // each.
  bool is_worth_filtering(std::size_t s) const;
  Status unite_carried(std::size_t s, const Batch& in, std::uint32_t row, std::uint32_t end);
  Status make_room_for_union(std::size_t s);
  const IntSet* take_union(Stage& stage) const;
  // Sets under all elements of a row's set (pipeline_image.cc).
  void prepare_image(std::size_t s);
  bool takes_image(std::size_t s) const;
  void find_images(Stage& next, std::span<Cell> key, std::uint32_t place,
                   std::span<const Cell> cells) const;
  Status bind_image(std::size_t s, const Batch& in, std::uint32_t in_row, std::uint32_t first,
                    const SetView& view);
  Status pass_images(std::size_t s, std::span<Cell> key, std::span<const Cell> cells);
  // Passes on what was made from the sets of step `s`, and forgets them once they are many.
  Status settle_made_sets(std::size_t s);
  bool only_binds(const Stage& stage) const;
  Status visit_rows(std::size_t s, const Batch& in, std::uint32_t in_row, const Index& index,
                    std::span<const RowId> found);
  // A row by itself where the step asks something of it, else together with others.
  Status take_row(std::size_t s, const Batch& in, std::uint32_t in_row, RowId row,
                  const IntSet& cells, GatheredRows& gathered);
  Status gather_row(std::size_t s, const Batch& in, std::uint32_t in_row, RowId row,
                    const IntSet& cells, GatheredRows& gathered);
  Status bind_rows(std::size_t s, const Batch& in, std::uint32_t in_row, GatheredRows& gathered);
  // One row of an index: checks and binds its columns from `first` on, then its set.
  Status visit_row(std::size_t s, const Batch& in, std::uint32_t in_row, std::uint32_t first,
                   std::span<const Cell> prefix, const IntSet& cells);
  void bind_prefix(Stage& stage, std::uint32_t first, std::uint32_t count) const;
  Status bind_each(std::size_t s, const Batch& in, std::uint32_t in_row, std::uint32_t first,
                   const SetView& view);
  // Only what filters soon after may let through.
  Status bind_compared(std::size_t s, const Batch& in, std::uint32_t in_row, std::uint32_t first,
                       const IntSet& cells);
  void prepare_guard(Stage& stage, const Stage& next) const;
  static bool is_guarding(Stage& stage);
  // Whether the next step would let the row at hand through.
  bool is_admitted(Stage& stage, const Batch& in, std::uint32_t in_row) const;
  // The first `width` cells that the step looks for with each row of a batch.
  void gather_keys(Stage& stage, const Batch& in, std::uint32_t width) const;
  bool exists_under(const Stage& stage, const Batch& in, std::uint32_t in_row,
                    const Cell* key) const;
  Status scan_joint(std::size_t s, const Batch& in);
  Status visit_found(std::size_t s, const Batch& in, std::uint32_t row, std::uint32_t end,
                     const Index& index);
  Status flush_well_filled(std::size_t s);
  // Steps behind which nothing is new but whether anything comes (pipeline_witness.cc).
  void prepare_witness();
  Stage* last_atom() const;
  std::size_t filters_at_end() const;
  bool is_bounded_by_rows(const Stage& stage) const;
  bool is_bounded_by_cells(const Stage& stage) const;
  void prepare_extreme();
  // What lies between bounds, counted or summed (pipeline_ranked.cc).
  void prepare_ranked();
  FoldedPart part_of_row(const Stage& stage, std::span<const Cell> prefix,
                         const IntSet& cells) const;
  FoldedPart part_of_rows(Stage& stage, const Index& index, const FoundRows& under);
  FoldedPart part_of_cells(Stage& stage, const Index& index, RowId row);
  void find_ranked_ranges(Stage& stage, const Batch& in, std::uint32_t in_row);
  Status fold_ranked(std::size_t s, const Batch& in);
  bool asks_for_witness(std::size_t s) const;
  bool comes_at_once_from(std::size_t s) const;
  // Whether the step finds so much for each binding that it stops at the first witness.
  bool stops_early(std::size_t s, std::uint64_t found, const Batch& in, std::uint32_t in_row) const;
  template <typename Visit>
  Status visit_until_found(std::size_t s, std::uint64_t parts, const Visit& visit,
                           std::uint64_t near = 0);
  template <typename Visit>
  Status visit_rows_until_found(std::size_t s, std::uint64_t rows, const Visit& visit);
  static std::uint64_t stride_through(Stage& stage, std::uint64_t parts);
  Status bind_until_found(std::size_t s, const Batch& in, std::uint32_t in_row, std::uint32_t first,
                          const SetView& view);
  bool wants_one(std::size_t s) const;
  Status flush_from(std::size_t s);
  // The index that holds what the step looks for with this row's bindings.
  void find_indices(Stage& stage, const Batch& in, std::uint32_t width) const;
  void prefetch_keys(const Stage& stage, const Batch& in, std::uint32_t length) const;
  static bool is_far(const Index& index);
  const Index& index_of(const Stage& stage, const Batch& in, std::uint32_t in_row) const;
  Cell expected(const ColumnUse& use, const Batch& in, std::uint32_t in_row) const;

  Definition definition_;
  ExpressionEvaluator& evaluator_;
  BatchSink sink_;
  bool has_run_ = false;  // since begin_round()
  bool has_passed_on_ = false;  // bindings behind the first step, since finish()
  SharePoint share_;
  OwnTurns turns_;  // of rows
  std::optional<std::size_t> witnessed_;  // the step at which one witness is enough
  bool is_found_ = false;  // a witness, where the pipeline itself says so
  std::vector<std::unique_ptr<Stage>> stages_;
  Batch given_;  // scratch of start() and fold_rows()
};

}  // namespace stratalog::datalog
