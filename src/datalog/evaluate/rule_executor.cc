// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/rule_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datalog/evaluate/aggregate_place.h"
#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/swept_rows.h"
#include "datalog/facts/cell_class.h"
#include "model/set_walk.h"

namespace stratalog::datalog {
namespace {

// Tokens: variables count from 0, constants stand above 2^32 by their cell; a negative one equals
// nothing.
constexpr LocationToken kUnknown = -1;
constexpr LocationToken kEveryone = -2;  // a hop to all ranks
constexpr LocationToken kConstantBase = LocationToken{1} << 33;

bool is_simple(const Expression& e) { return e.kind != ExpressionKind::kFunctor; }

// Whether the relation, which is read where its sweep left it, lies in an index as well.
bool is_copied(const RelationData& relation, const Step& step) {
  return std::any_of(relation.shards.begin(), relation.shards.end(),
                     [&](const Shard& shard) { return shard.keeps(step.index); });
}

// Reads all there is, or all new tuples there are, with every binding.
bool reads_whole(const Step& step) {
  return step.kind == StepKind::kScan ||
         (step.kind == StepKind::kScanDelta && step.prefix_length == 0);
}

Status two_parts() {
  return Status::internal("an aggregate reads this rank's parts of two relations");
}

bool is_known(const Location& location) {
  return std::none_of(location.begin(), location.end(), [](LocationToken t) { return t < 0; });
}

}  // namespace

bool may_create_values(const Rule& rule, const RulePlan& plan) {
  return !std::ranges::all_of(rule.head_arguments, is_simple) ||
         std::ranges::any_of(plan.steps, [&](const Step& step) {
           const Literal& literal = rule.body[step.literal];
           return step.kind == StepKind::kAggregate || step.kind == StepKind::kRange ||
                  (step.kind == StepKind::kAssign && literal.record_use == RecordUse::kValue &&
                   !is_simple(assigned_by(step, literal)));
         });
}

RuleExecutor::RuleExecutor(EngineState& state, const RulePlan& plan, Options options)
    : state_(state),
      plan_(plan),
      rule_(state.program.rules[plan.rule]),
      options_(std::move(options)) {}

Result<std::unique_ptr<RuleExecutor>> RuleExecutor::bind(EngineState& state, const RulePlan& plan,
                                                         Options options) {
  std::unique_ptr<RuleExecutor> executor(new RuleExecutor(state, plan, std::move(options)));
  STRATALOG_RETURN_IF_ERROR(executor->bind_constants());
  STRATALOG_RETURN_IF_ERROR(executor->bind_steps());
  return executor;
}

Status RuleExecutor::bind_constants() {
  // Every constant of the program was interned before the facts, so none of these is new.
  static const Batch kNoBatch;
  for (const Expression& constant : plan_.constants)
    constants_.push_back(state_.evaluator.evaluate(constant, kNoBatch, 0));
  creates_values_ = may_create_values(rule_, plan_);
  return {};
}

LocationToken RuleExecutor::token_of(const Expression& e) const {
  if (e.kind == ExpressionKind::kVariable) return e.variable;
  if (e.kind == ExpressionKind::kConstant) {
    static const Batch kNoBatch;
    return kConstantBase + state_.evaluator.evaluate(e, kNoBatch, 0);
  }
  return kUnknown;
}

// Of a column that a search knows.
LocationToken RuleExecutor::token_of(const ColumnUse& known) const {
  return known.role == ColumnRole::kMatchConstant ? kConstantBase + constants_[known.constant]
                                                  : LocationToken{known.variable};
}

Location RuleExecutor::atom_location(const Atom& atom,
                                     std::span<const std::uint32_t> placement) const {
  Location location;
  for (const std::uint32_t column : placement) {
    const Argument& a = atom.arguments[column];
    if (a.kind == ArgumentKind::kVariable)
      location.push_back(a.variable);
    else if (a.kind == ArgumentKind::kConstant)
      location.push_back(token_of(a.constant));
    else
      location.push_back(kUnknown);
  }
  return location;
}

// The index that a step reads here. `location` is where the bindings are before it and is updated;
// if they must move first, `hop_to` says where.
Result<StepSource> RuleExecutor::source_of(const Step& step, bool is_first, Location& location,
                                           std::optional<Location>& hop_to) {
  RelationData& relation = state_.relations[step.relation];
  StepSource source;
  source.global_rows = &relation.global_rows;
  if (relation.arity == 0) {
    source.nullary = step.kind == StepKind::kScanDelta ? &relation.delta_holds : &relation.holds;
    return source;
  }
  const bool whole = reads_whole(step);
  const bool shares = !state_.is_single() && options_.share == DeltaShare::kMine;
  if (relation.equivalence) {
    source.equivalence = relation.equivalence.get();
    if (relation.equivalence->is_dealt() && state_.joint == nullptr)
      return dealt_equivalence(step, is_first, std::move(source), location, hop_to);
    if (relation.equivalence->is_dealt())
      for (const EngineState* peer : state_.peers)
        source.joint_equivalence.push_back(peer->relations[step.relation].equivalence.get());
    if (whole && is_first && shares) {
      source.parts = static_cast<std::uint32_t>(state_.comm.size());
      source.part = static_cast<std::uint32_t>(state_.comm.rank());
      location = {kUnknown};
    }
    return source;
  }
  if (relation.swept && !is_copied(relation, step))
    return own_pivots(step, std::move(source), location, hop_to);
  if (state_.joint != nullptr) {
    shares_work_ |= whole && is_first && shares;
    location = {kUnknown};
    return joint_source(step, std::move(source));
  }
  const Shard* chosen = nullptr;
  for (const Shard& shard : relation.shards) {
    if (!shard.keeps(step.index)) continue;
    // A copy on every rank is best, save for the delta of a relation, which only its own shards
    // have, of which a mirror is one. A scan wants each tuple once; a search prefers the shard that
    // was dealt anew because of skew.
    const bool better = shard.placement.dealing == Dealing::kReplicated
                            ? step.kind != StepKind::kScanDelta || relation.mirrored
                            : chosen != nullptr && chosen->placement.dealing == Dealing::kHashed &&
                                  shard.buckets.has_value() == (step.kind == StepKind::kSearch);
    if (chosen == nullptr || better) chosen = &shard;
  }
  if (chosen == nullptr)
    return Status::internal(fmt::format("index {} of relation `{}` is not there", step.index,
                                        state_.program.relations[step.relation].name));
  source.index = chosen->indices[step.index].get();
  if (state_.is_single()) return source;
  if (chosen->placement.dealing == Dealing::kReplicated) {
    if (whole && is_first && shares) {
      shares_work_ = true;
      location = {kUnknown};
    }
    return source;
  }
  const Location there = atom_location(rule_.body[step.literal].atom, chosen->placement.columns);
  if (is_first && whole) {
    takes_own_part_ = true;
    location = chosen->buckets ? Location{kUnknown} : there;
    return source;
  }
  if (whole || step.prefix_length == 0) {
    if (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent) return source;
    // A cross product: every rank joins every binding with its part.
    hop_to = Location{kEveryone};
    location = chosen->buckets ? Location{kUnknown} : there;
    return source;
  }
  if (!is_known(there))
    return Status::internal("a search does not bind the columns by which its relation is dealt");
  if (chosen->buckets) {
    hop_to = there;
    hop_buckets_ = &*chosen->buckets;
    location = {kUnknown};
    return source;
  }
  if (there != location) hop_to = there;
  location = there;
  return source;
}

// Each rank has its own pivots: bindings go to the rank that has theirs. Where they know none, all
// ranks join every one with what they have.
StepSource RuleExecutor::own_pivots(const Step& step, StepSource source, Location& location,
                                    std::optional<Location>& hop_to) {
  SweptRows& rows = *state_.relations[step.relation].swept;
  read_swept(step, rows, source);
  location = {kUnknown};
  if (state_.is_single() || reads_whole(step)) return source;
  if (source.pivot_place < step.prefix_length) {
    hop_to = Location{token_of(step.columns[source.pivot_place])};
    hop_rows_ = &rows;
  } else {
    hop_to = Location{kEveryone};
  }
  return source;
}

void RuleExecutor::read_swept(const Step& step, SweptRows& rows, StepSource& source) const {
  const auto& order = state_.plan.relations[step.relation].indices[step.index].order;
  source.swept = &rows;
  source.key_places = rows.key_places(order);
  source.pivot_place = rows.pivot_place(order);
}

// Each rank has the pairs that begin with its elements, in whichever column the search knows one.
StepSource RuleExecutor::dealt_equivalence(const Step& step, bool is_first, StepSource source,
                                           Location& location, std::optional<Location>& hop_to) {
  source.parts = static_cast<std::uint32_t>(state_.comm.size());
  source.part = static_cast<std::uint32_t>(state_.comm.rank());
  if (step.prefix_length > 0) {
    const Location there{token_of(step.columns.front())};
    if (there != location) hop_to = there;
    location = there;
    return source;
  }
  if (!reads_whole(step)) return source;  // whether there is any pair, all ranks know
  if (is_first)
    takes_own_part_ = true;
  else
    hop_to = Location{kEveryone};
  location = {kUnknown};
  return source;
}

Result<StepSource> RuleExecutor::joint_source(const Step& step, StepSource source) const {
  const RelationData& relation = state_.relations[step.relation];
  const Shard* chosen = nullptr;
  for (const Shard& shard : relation.shards) {
    if (!shard.keeps(step.index) || shard.buckets) continue;
    // The mirror of a growing relation; of others, what lies there once for all ranks.
    const bool is_copy = shard.placement.dealing == Dealing::kReplicated;
    if (chosen == nullptr || is_copy == relation.mirrored) chosen = &shard;
  }
  if (chosen == nullptr)
    return Status::internal(fmt::format("index {} of relation `{}` is not there", step.index,
                                        state_.program.relations[step.relation].name));
  source.index = chosen->indices[step.index].get();
  if (chosen->placement.dealing == Dealing::kReplicated) return source;
  source.joint = state_.joint->indices_of(
      step.relation, static_cast<std::size_t>(chosen - relation.shards.data()), step.index);
  if (reads_whole(step) || step.prefix_length == 0) return source;
  const auto order = source.index->order();
  for (const std::uint32_t column : chosen->placement.columns) {
    const auto at = std::find(order.begin(), order.end(), column) - order.begin();
    if (at >= static_cast<std::ptrdiff_t>(step.prefix_length))
      return Status::internal("a search does not bind the columns by which its relation is dealt");
    source.owner_places.push_back(static_cast<std::uint32_t>(at));
  }
  return source;
}

Status RuleExecutor::bind_inner(const Step& step, const Aggregate& aggregate, Inner& inner) {
  for (const Step& each : step.aggregate_steps) {
    StepSource source;
    if (reads_relation(each)) {
      STRATALOG_ASSIGN_OR_RETURN(source, inner_source(each, aggregate, inner));
    }
    if (each.kind == StepKind::kAggregate) {
      Inner nested{.location = inner.location};
      STRATALOG_RETURN_IF_ERROR(bind_inner(each, *aggregate.body[each.literal].aggregate, nested));
      if (nested.reads_own_part)
        return Status::internal("a relation of an aggregate within another is not on every rank");
      source.inner = std::move(nested.sources);
    }
    inner.sources.push_back(std::move(source));
  }
  return {};
}

// As body_read (aggregate_place.h) wished it, or better: what lies on every rank anyway is read
// there.
Result<StepSource> RuleExecutor::inner_source(const Step& step, const Aggregate& aggregate,
                                              Inner& inner) {
  const RelationData& relation = state_.relations[step.relation];
  StepSource source;
  source.global_rows = &relation.global_rows;
  source.nullary = &relation.holds;
  source.equivalence = relation.equivalence.get();
  if (source.equivalence != nullptr || relation.arity == 0) return source;
  source.index = state_.whole_index(step);
  if (source.index != nullptr) return source;
  if (relation.swept_everywhere) {
    read_swept(step, *relation.swept_everywhere, source);
    return source;
  }
  if (relation.swept && !is_copied(relation, step)) {
    if (std::exchange(inner.reads_own_part, true)) return two_parts();
    const std::uint32_t pivot = pivot_column(relation);
    if (knows_outside(state_, step, aggregate, std::span(&pivot, 1)))
      return own_pivots(step, std::move(source), inner.location, inner.hop_to);
    inner.is_split = true;
    // Not relation.swept itself, which keeps the sets that it has made.
    const SweptRows* const mine = relation.swept.get();
    inner.rows.push_back(std::make_unique<SweptRows>(std::span(&mine, 1), state_.scratch));
    read_swept(step, *inner.rows.back(), source);
    return source;
  }
  if (state_.joint != nullptr) return joint_source(step, std::move(source));
  if (std::exchange(inner.reads_own_part, true)) return two_parts();
  STRATALOG_RETURN_IF_ERROR(own_part(step, aggregate, inner, source));
  return source;
}

// Of a relation that is dealt to the ranks.
Status RuleExecutor::own_part(const Step& step, const Aggregate& aggregate, Inner& inner,
                              StepSource& source) {
  for (const Shard& shard : state_.relations[step.relation].shards) {
    if (!shard.keeps(step.index) || shard.buckets) continue;
    source.index = shard.indices[step.index].get();
    const auto& columns = shard.placement.columns;
    inner.is_split = !knows_outside(state_, step, aggregate, columns);
    if (inner.is_split) return {};
    Location there = atom_location(aggregate.body[step.literal].atom, columns);
    if (there != inner.location) inner.hop_to = there;
    inner.location = std::move(there);
    return {};
  }
  return Status::internal("the relation of an aggregate is not there");
}

Status RuleExecutor::bind_steps() {
  const std::size_t count = plan_.steps.size();
  Location location;
  bool started = options_.first_step > 0;
  scans_share_ = started;
  segments_.emplace_back();
  segments_.back().live = options_.fed;
  std::size_t begin = options_.first_step;
  for (std::size_t s = options_.first_step; s < count; ++s) {
    const Step& step = plan_.steps[s];
    StepSource source;
    std::optional<Location> hop_to;
    if (reads_relation(step)) {
      STRATALOG_ASSIGN_OR_RETURN(source, source_of(step, !started, location, hop_to));
      const bool scans = reads_whole(step);
      takes_own_part_ |= !started && scans && source.swept != nullptr;  // its own pivots
      scans_share_ |= !started && scans && state_.relations[step.relation].arity > 0;
      started |= scans;
    } else if (counts_whole_relation(step, rule_.body[step.literal])) {
      source.global_rows = &state_.relations[step.aggregate_steps.front().relation].global_rows;
    } else if (step.kind == StepKind::kAggregate) {
      Inner inner{.location = location};
      STRATALOG_RETURN_IF_ERROR(bind_inner(step, *rule_.body[step.literal].aggregate, inner));
      if (inner.is_split) {
        split(begin, s, std::move(inner));
        begin = s + 1;
        started = true;
        location = {kUnknown};
        continue;
      }
      source.inner = std::move(inner.sources);
      hop_to = std::move(inner.hop_to);
      location = std::move(inner.location);
    }
    if (hop_to) {
      make_pipeline(segments_.size() - 1, begin, s);
      cut(s, *hop_to);
      begin = s;
      started = true;
    }
    segments_.back().sources.push_back(std::move(source));
  }
  make_pipeline(segments_.size() - 1, begin, count);
  final_location_ = location;
  return {};
}

// Ends the current segment before the aggregate that is step `s`: in the next one all ranks fold
// what they have, and the one behind it goes on with the values.
void RuleExecutor::split(std::size_t begin, std::size_t s, Inner inner) {
  make_pipeline(segments_.size() - 1, begin, s);
  Segment asked;
  asked.fold = std::make_unique<SplitFold>(
      SplitFold::Definition{
          .rule = &rule_,
          .step = &plan_.steps[s],
          .sources = std::move(inner.sources),
          .constants = constants_,
          .arriving = s > 0 ? plan_.steps[s - 1].live_after : std::vector<VariableId>(),
          .rows = std::move(inner.rows)},
      state_.evaluator);
  Segment next;
  next.live = plan_.steps[s].live_after;
  next.answers = asked.fold.get();
  segments_.push_back(std::move(asked));
  segments_.push_back(std::move(next));
}

// Ends the current segment before `from_step`; the next one starts where `hop_to` lies.
void RuleExecutor::cut(std::size_t from_step, const Location& hop_to) {
  Segment next;
  if (from_step > 0) next.live = plan_.steps[from_step - 1].live_after;
  next.buckets = std::exchange(hop_buckets_, nullptr);
  next.rows = std::exchange(hop_rows_, nullptr);
  next.to_everyone = hop_to.size() == 1 && hop_to[0] == kEveryone;
  for (const LocationToken token : hop_to) {
    if (next.to_everyone) break;
    if (token >= kConstantBase) {
      next.keys.push_back(static_cast<std::uint32_t>(next.live.size() + next.key_constants.size()));
      next.key_constants.push_back(static_cast<Cell>(token - kConstantBase));
      continue;
    }
    const auto at = std::find(next.live.begin(), next.live.end(), static_cast<VariableId>(token));
    next.keys.push_back(static_cast<std::uint32_t>(at - next.live.begin()));
  }
  // The carried set is on board if an earlier step bound it.
  for (std::size_t s = 0; s < from_step; ++s)
    for (const ColumnUse& use : plan_.steps[s].columns)
      next.has_set |= use.role == ColumnRole::kCarry;
  next.in.columns.resize(rule_.variables.size());
  segments_.push_back(std::move(next));
}

// Of the first segment, `end` steps long. Where its bindings do not differ from rank to rank, they
// are one rank's, or those of all where each can go on with them.
RankShare RuleExecutor::share_of_first(std::size_t end) {
  if (state_.is_single() || options_.share != DeltaShare::kMine || options_.first_step > 0)
    return {};
  const auto steps = std::span(plan_.steps).first(end);
  const auto scan = std::ranges::find_if(steps, reads_whole);
  if (!scans_share_) {
    const bool reads = std::ranges::any_of(
        steps, [](const Step& step) { return reads_relation(step) && !step.columns.empty(); });
    shares_work_ = state_.joint != nullptr && reads;
    only_on_rank_0_ = !shares_work_;
  }
  if (!shares_work_) return {};
  return {.ranks = static_cast<std::uint32_t>(state_.comm.size()),
          .rank = static_cast<std::uint32_t>(state_.comm.rank()),
          .first = scans_share_ ? static_cast<std::size_t>(scan - steps.begin()) : 0,
          .first_turn = plan_.rule + plan_.delta_literal.value_or(0),
          .turns = options_.turns};
}

void RuleExecutor::make_pipeline(std::size_t s, std::size_t begin, std::size_t end) {
  Segment& segment = segments_[s];
  const bool is_last = end == plan_.steps.size();
  BatchSink sink = options_.sink;
  std::function<void()> release_sets = options_.release_sets;
  if (!is_last) {
    sink = [this, s](const Batch& batch) { return send_hop(s + 1, batch); };
    // A hop copies sets into the mail, save where bindings wait for the agreement on new values.
    release_sets = [] {};
    if (creates_values_) release_sets = nullptr;
  }
  segment.pipeline = std::make_unique<Pipeline>(
      Pipeline::Definition{.rule = &rule_,
                           .body = &rule_.body,
                           .steps = std::span(plan_.steps).subspan(begin, end - begin),
                           .sources = segment.sources,
                           .bound_before = segment.live,
                           .constants = constants_,
                           .carries = plan_.carries && options_.first_step == 0,
                           .carried = plan_.carried,
                           .share = s == 0 ? share_of_first(end) : RankShare(),
                           .tagged = options_.tagged,
                           .release_sets = std::move(release_sets),
                           .scratch = &state_.scratch,
                           .most_united_bytes = state_.options.united_sets_bytes,
                           .ends_rule = is_last,
                           .witness = options_.witness},
      state_.evaluator, std::move(sink));
}

void RuleExecutor::begin() {
  if (!std::exchange(has_run_, false)) return;
  held_sets_.clear();
  for (const Segment& segment : segments_) {
    if (segment.fold)
      segment.fold->forget();
    else
      segment.pipeline->begin_round();
  }
}

std::size_t RuleExecutor::hop_width(std::size_t s) const {
  const Segment& segment = segments_[s];
  if (segment.fold) return segment.fold->question_width();
  return segment.answers != nullptr ? SplitFold::kAnswerWidth : segment.live.size();
}

Status RuleExecutor::run_first() {
  if (only_on_rank_0_ && state_.comm.rank() != 0) return {};
  // As with most rules in rounds of few new tuples.
  if (segments_[0].pipeline->begins_in_vain()) return {};
  has_run_ = true;
  STRATALOG_RETURN_IF_ERROR(segments_[0].pipeline->start());
  STRATALOG_RETURN_IF_ERROR(segments_[0].pipeline->finish());
  if (!plan_.delta_literal) segments_[0].pipeline->give_back_room();
  return {};
}

// Sends one binding to the ranks that own the next search's tuples. `row` holds the live cells,
// then the key constants.
void RuleExecutor::post(std::size_t s, std::span<const Cell> row, const IntSet* set) {
  const Segment& to = segments_[s];
  const int stream = hop_stream(s);
  const std::span<const Cell> live = row.first(to.live.size());
  const auto send = [&](int rank) {
    if (set != nullptr)
      mail_->append_group(rank, stream, {.prefix = live, .set = set->view()});
    else
      mail_->append(rank, stream, live);
  };
  if (to.to_everyone) {
    for (int rank = 0; rank < state_.comm.size(); ++rank) send(rank);
    return;
  }
  key_.clear();
  for (const std::uint32_t k : to.keys) key_.push_back(row[k]);
  if (to.rows != nullptr) {
    send(to.rows->owner_of(key_.front()));
    return;
  }
  if (to.buckets == nullptr) {
    send(owner_of(key_, state_.comm.size()));
    return;
  }
  // The intra-bucket exchange: each rank that holds a part of the bucket joins the binding with its
  // part.
  for (const int rank : to.buckets->ranks_of(to.buckets->bucket_of(hash_cells(key_)))) send(rank);
}

Status RuleExecutor::send_hop(std::size_t s, const Batch& batch) {
  Segment& to = segments_[s];
  if (to.fold) return to.fold->hold(batch);
  const std::size_t width = to.live.size();
  std::vector<Cell> row(width);
  row.insert(row.end(), to.key_constants.begin(), to.key_constants.end());
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
    for (std::size_t i = 0; i < width; ++i) row[i] = batch.columns[to.live[i]][r];
    if (creates_values_ && width > 0) {
      to.waiting.insert(to.waiting.end(), row.begin(),
                        row.begin() + static_cast<std::ptrdiff_t>(width));
      if (to.has_set) to.waiting_sets.push_back(batch.sets[r]);
    } else {
      post(s, row, to.has_set ? batch.sets[r] : nullptr);
    }
  }
  return options_.after_hop ? options_.after_hop() : Status();
}

void RuleExecutor::release_hops(const CellRemapping& remapping) {
  for (std::size_t s = 1; s < segments_.size(); ++s) {
    Segment& to = segments_[s];
    if (to.fold)
      to.fold->ask(remapping, state_.comm.rank(), state_.comm.size(),
                   [&](int rank, std::span<const Cell> cells) {
                     mail_->append(rank, hop_stream(s), cells);
                   });
    if (to.fold || to.answers != nullptr) continue;
    const std::size_t width = to.live.size();
    std::vector<Cell> row(width);
    row.insert(row.end(), to.key_constants.begin(), to.key_constants.end());
    for (std::size_t at = 0; at < to.waiting.size(); at += width) {
      for (std::size_t i = 0; i < width; ++i) {
        row[i] = remapping.of(cell_class(rule_.variables[to.live[i]].kind), to.waiting[at + i]);
      }
      post(s, row, to.has_set ? to.waiting_sets[at / width] : nullptr);
    }
    to.waiting.clear();
    to.waiting_sets.clear();
  }
}

Status RuleExecutor::flush_in(std::size_t s) {
  Segment& segment = segments_[s];
  if (segment.in.rows == 0) return {};
  const Status status = segment.pipeline->feed(segment.in);
  segment.in.rows = 0;
  return status;
}

void RuleExecutor::make_room(Segment& segment) const {
  for (const VariableId v : segment.live) segment.in.allocate(v);
  if (plan_.carries && segment.in.sets.empty()) segment.in.sets.resize(kBatchRows, nullptr);
}

Status RuleExecutor::receive(std::size_t s, std::span<const Cell> cells, std::uint64_t rows) {
  has_run_ = true;
  Segment& segment = segments_[s];
  if (segment.fold) {
    segment.fold->take(cells);
    return {};
  }
  if (segment.answers != nullptr) {
    segment.answers->unite(cells);
    return {};
  }
  make_room(segment);
  const std::size_t width = segment.live.size();
  for (std::uint64_t r = 0; r < rows; ++r) {
    if (segment.has_set) {
      // A small set may arrive as plain tuples: the last cell is its only element.
      const std::span<const Cell> row = cells.subspan(r * (width + 1), width + 1);
      const SetView one{.kind = SetKind::kArray,
                        .base = 0,
                        .values = row.subspan(width, 1),
                        .offsets = {},
                        .words = {},
                        .count = 1};
      STRATALOG_RETURN_IF_ERROR(receive_set(s, row.first(width), one));
      continue;
    }
    for (std::size_t i = 0; i < width; ++i)
      segment.in.columns[segment.live[i]][segment.in.rows] = cells[(r * width) + i];
    if (++segment.in.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush_in(s));
  }
  return {};
}

Status RuleExecutor::receive_set(std::size_t s, std::span<const Cell> live, const SetView& set) {
  has_run_ = true;
  Segment& segment = segments_[s];
  make_room(segment);
  held_sets_.emplace_back().assign(set);
  for (std::size_t i = 0; i < live.size(); ++i)
    segment.in.columns[segment.live[i]][segment.in.rows] = live[i];
  segment.in.sets[segment.in.rows] = &held_sets_.back();
  return ++segment.in.rows == kBatchRows ? flush_in(s) : Status();
}

Status RuleExecutor::finish_segment(std::size_t s) {
  const Segment& segment = segments_[s];
  if (segment.fold)
    return segment.fold->answer([&](int rank, std::span<const Cell> cells) {
      mail_->append(rank, hop_stream(s + 1), cells);
    });
  if (segment.answers != nullptr)
    STRATALOG_RETURN_IF_ERROR(
        segment.answers->pass([&](const Batch& batch) { return segment.pipeline->feed(batch); }));
  STRATALOG_RETURN_IF_ERROR(flush_in(s));
  return segment.pipeline->finish();
}

}  // namespace stratalog::datalog
