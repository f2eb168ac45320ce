// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/checkpointing.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "checkpoint/fold.h"
#include "datalog/evaluate/pivot_relations.h"
#include "datalog/evaluate/position_json.h"
#include "datalog/evaluate/restore.h"
#include "datalog/evaluate/saved_parts.h"
#include "model/record_image.h"

namespace stratalog::datalog {
namespace {

Bytes to_bytes(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

std::string hash_program(const Program& program) {
  const XXH128_hash_t hash = XXH3_128bits(program.source_text.data(), program.source_text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void Checkpointing::notice(const std::string& text) const {
  if (state_.comm.rank() == 0 && state_.hooks.notice) state_.hooks.notice(text);
}

Result<std::optional<EnginePosition>> Checkpointing::resume() {
  const CheckpointOptions& options = state_.options.checkpoint;
  if (!is_on()) return std::optional<EnginePosition>();
  if (options.resume == ResumePolicy::kFreshForced) return std::optional<EnginePosition>();
  if (options.resume == ResumePolicy::kFresh) {
    Status mine;
    if (state_.comm.rank() == 0) {
      const auto generations = list_generations(*options.store);
      // Of jobs that were killed before their first checkpoint there is nothing to keep.
      const auto count = generations.is_ok()
                             ? std::ranges::count_if(generations.value(),
                                                     [](const GenerationSummary& each) {
                                                       return was_committed(each.condition);
                                                     })
                             : 0;
      if (count != 0)
        mine = Status::already_exists(fmt::format(
            "{} holds {} checkpoint generation{}, neither to be gone on from nor to be "
            "replaced{}",
            options.store->root(), count, count == 1 ? "" : "s", options.refusal_advice));
    }
    STRATALOG_RETURN_IF_ERROR(agree(state_.comm, mine));
    return std::optional<EnginePosition>();
  }
  return load();
}

Result<std::optional<EnginePosition>> Checkpointing::load() {
  const CheckpointOptions& options = state_.options.checkpoint;
  LoadRequest request;
  request.generation = options.generation;
  for (;;) {
    Restorer restorer(state_);
    const auto report = load_checkpoint(state_.comm, *options.store, request, restorer.sink());
    if (!report.is_ok()) {
      if (report.status().code() == StatusCode::kNotFound &&
          options.resume == ResumePolicy::kResumeOrFresh && request.excluded.empty())
        return std::optional<EnginePosition>();
      return report.status();
    }
    for (const std::string& skipped : report.value().skipped) notice("passed over " + skipped);
    for (const std::string& note : report.value().notes) notice(note);
    auto position = restorer.finish(report.value().state);
    if (position.is_ok()) {
      state_.report.resumed_from = report.value().state.generation;
      state_.report.resumed_iteration = report.value().state.iteration;
      last_iteration_ = position.value().start.iteration;
      last_stratum_ = position.value().stratum;
      return std::optional<EnginePosition>(std::move(position).value());
    }
    if (position.status().code() != StatusCode::kCorruption || !request.generation.empty())
      return position.status();
    // The files were sound and yet the relations are not what was saved: try the next older one.
    const std::string& bad = report.value().state.generation;
    notice(fmt::format("passed over {}: {}", bad, position.status().message()));
    STRATALOG_RETURN_IF_ERROR(
        remember_reject(state_.comm, *options.store, bad, position.status().message()));
    request.excluded.push_back(bad);
  }
}

Status Checkpointing::open_writer() {
  if (!is_on()) return {};
  STRATALOG_ASSIGN_OR_RETURN(writer_,
                             open_checkpoint_writer(state_.comm, *state_.options.checkpoint.store,
                                                    state_.options.checkpoint.writer));
  for (const std::string& note : writer_->notes()) notice(note);
  since_last_.lap();
  return {};
}

std::uint64_t Checkpointing::rounds_between_checkpoints() const {
  return is_on() ? state_.options.checkpoint.every_iterations : 0;
}

std::uint64_t Checkpointing::rounds_until_due(std::uint64_t iteration) const {
  const std::uint64_t every = rounds_between_checkpoints();
  return every == 0 ? 0 : every - (iteration % every);
}

bool Checkpointing::is_due_by_rounds(const EnginePosition& position, const SafePoint& point) const {
  const std::uint64_t every = rounds_between_checkpoints();
  if (every == 0 || point.by_rounds == DueByRounds::kNotYet) return false;
  if (point.by_rounds == DueByRounds::kNow) return true;
  return point.iteration > 0 && point.iteration % every == 0 &&
         (point.iteration != last_iteration_ || position.stratum != last_stratum_);
}

double Checkpointing::seconds_between_safe_points() const {
  // Soon enough for somebody who waits for the answer to a signal.
  constexpr double kSoon = 0.5;
  if (!is_on() && !state_.hooks.stop_requested) return std::numeric_limits<double>::infinity();
  const double every = state_.options.checkpoint.every_seconds;
  return every > 0 ? std::min(every, kSoon) : kSoon;
}

bool Checkpointing::is_due_by_time() const {
  if (!is_on()) return false;
  if (interval_.is_on()) return interval_.is_due(since_last_.seconds(), since_begin_.seconds());
  const double every = state_.options.checkpoint.every_seconds;
  return every > 0 && since_last_.seconds() >= every;
}

// On rank 0. What was asked for since it was taken last; a request may be told only once.
StopRequest Checkpointing::take_request() {
  const StopRequest now =
      state_.hooks.stop_requested ? state_.hooks.stop_requested() : StopRequest::kNone;
  return std::max(std::exchange(asked_, StopRequest::kNone), now);
}

SafePointWish Checkpointing::wish() {
  SafePointWish wish{.is_saving = pending_ != nullptr,
                     .is_writing = pending_ && !writer_->is_written()};
  if (state_.comm.rank() != 0) return wish;
  asked_ = take_request();
  wish.is_needed = asked_ != StopRequest::kNone || is_owed_ || is_due_by_time();
  return wish;
}

// Where nobody can ask for anything, thousands of thin rounds need not talk about it.
Status Checkpointing::learn_who_may_ask() {
  std::uint64_t askers = is_on() || state_.hooks.stop_requested ? 1 : 0;
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(std::span(&askers, 1), ReduceOp::kSum));
  may_be_asked_ = askers > 0;
  return {};
}

Result<Verdict> Checkpointing::safe_point(const EnginePosition& position, const SafePoint& point) {
  if (!may_be_asked()) return Verdict::kGoOn;
  enum : std::uint64_t { kNothing = 0, kSave = 1, kSaveNow = 2, kSaveAndStop = 3 };
  std::uint64_t decision = kNothing;
  if (state_.comm.rank() == 0) {
    const StopRequest asked = take_request();
    if (asked == StopRequest::kCheckpointAndStop)
      decision = kSaveAndStop;
    else if (asked == StopRequest::kCheckpoint || is_due_by_rounds(position, point))
      decision = kSaveNow;
    else if (is_owed_ || is_due_by_time())
      decision = kSave;
  }
  std::vector<std::uint64_t> shared{decision, pending_ && !writer_->is_written() ? 1U : 0U,
                                    can_overlap(position) ? 0U : 1U};
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(shared, ReduceOp::kSum));
  // To fold a chain takes longer than to write its growth. What is due by time meanwhile comes
  // afterwards: the evaluation does not wait, and the fold is a checkpoint, too.
  if (pending_ && pending_->folds && shared[1] != 0 && shared[0] == kSave) {
    is_owed_ = true;
    return Verdict::kGoOn;
  }
  if (pending_ && (shared[0] != kNothing || (shared[1] == 0 && writer_->advance())))
    STRATALOG_RETURN_IF_ERROR(settle());
  if ((shared[0] == kSave || shared[0] == kSaveNow) && is_on() && shared[2] == 0)
    STRATALOG_RETURN_IF_ERROR(begin_save(position, point.iteration));
  else if (shared[0] != kNothing && is_on())
    STRATALOG_RETURN_IF_ERROR(
        save(position, point.iteration,
             shared[0] == kSaveAndStop ? SaveTime::kAtEnd : SaveTime::kOnTheWay));
  return shared[0] == kSaveAndStop ? Verdict::kStop : Verdict::kGoOn;
}

GrowingSections::Ends Checkpointing::add_sections(const EnginePosition& position,
                                                  SaveRequest& request) const {
  if (state_.comm.rank() != 0) return {};
  request.sections.push_back(
      {.name = kProgramSection, .data = to_bytes(state_.program.source_text)});
  GrowingSections::Ends ends =
      growing_sections_.add(stands_alone(request) ? std::string() : request.base, state_.dictionary,
                            !state_.program.shapes.empty(), rounds_of(position), request.sections);
  for (const auto& [stratum, space] : position.pivot_spaces) {
    if (!space.sparse) continue;
    const PivotSpace& lanes =
        state_.relations[state_.program.strata[stratum].relations.front()].pivot->closure().space();
    Bytes cells(std::size_t{lanes.lanes()} * sizeof(Cell));
    for (LaneId l = 0; l < lanes.lanes(); ++l) {
      const Cell cell = lanes.cell_of(l);
      std::memcpy(cells.data() + (std::size_t{l} * sizeof(Cell)), &cell, sizeof(Cell));
    }
    request.sections.push_back(
        {.name = fmt::format("pivots-{}", stratum), .data = std::move(cells)});
  }
  return ends;
}

Result<SaveRequest> Checkpointing::make_request(const EnginePosition& position, Saving& saving,
                                                ImageLife life) {
  Stopwatch watch;
  PrepareTimes& times = saving.prepared;
  times.growth = std::exchange(state_.growth_seconds, 0);
  SaveRequest request;
  request.mode = state_.options.checkpoint.mode;
  request.encoding = state_.options.checkpoint.encoding;
  request.iteration = saving.iteration;
  request.base = writer_->base();
  EnginePosition complete = position;
  std::vector<SavedRelation> relations;
  for (RelationId r = 0; r < state_.relations.size(); ++r) {
    const std::vector<Shard>& shards = state_.relations[r].shards;
    if (shards.empty()) continue;
    if (shards.front().buckets) complete.split.insert(r);
    if (!state_.is_single() && !state_.relations[r].pivot)
      complete.dealt_by[r] = shards.front().placement.columns;
  }
  for (std::uint32_t s = 0; s < state_.program.strata.size(); ++s) {
    const bool running = position.stratum == s;
    if (!running && !position.finished.contains(s)) continue;
    if (state_.program.strata[s].relations.empty()) continue;  // merged into another one
    const RelationData& first = state_.relations[state_.program.strata[s].relations.front()];
    if (first.pivot) {
      const PivotSpace& space = first.pivot->closure().space();
      complete.pivot_spaces[s] = {.first = space.lanes() == 0 ? 0 : space.cell_of(0),
                                  .lanes = space.lanes(),
                                  .sparse = !space.is_dense()};
    }
    for (const RelationId r : state_.program.strata[s].relations)
      relations.push_back(
          {.id = r, .state = running ? RelationState::kRunning : RelationState::kFinished});
  }
  STRATALOG_RETURN_IF_ERROR(saving.parts.add(relations, request, life, since_last_.seconds()));
  times.agree = saving.parts.agree_seconds();
  times.pack = watch.lap() - times.agree;
  // Where everything is whole, the generation is to stand by itself, sections included.
  if (std::all_of(request.parts.begin(), request.parts.end(),
                  [](const PartPlan& plan) { return plan.part == ImagePart::kWhole; }))
    request.base.clear();
  request.program_hash = hash_program(state_.program);
  request.engine_state = position_to_json(state_.program, complete);
  saving.ends = add_sections(complete, request);
  times.encode = watch.lap();
  return request;
}

// This rank's word. Finished relations do not change while a stratum runs. Once all edges of a
// pivot stratum are known, all that changes is that blocks get layers of rows on top; relations
// that grow in rounds have logs of what they gain, and what else is needed of them is copied.
bool Checkpointing::can_overlap(const EnginePosition& position) const {
  const CheckpointOptions& options = state_.options.checkpoint;
  if (!is_on() || writer_->overlap(options.mode).way == OverlapWay::kNone || !position.stratum)
    return false;
  const Stratum& running = state_.program.strata[*position.stratum];
  if (!position.by_pivot)
    return std::none_of(running.relations.begin(), running.relations.end(),
                        [&](RelationId r) { return state_.relations[r].pivot != nullptr; });
  const auto& pivot = state_.relations[running.relations.front()].pivot;
  return pivot && pivot->closure().graph().is_closed();
}

// Somebody else may have cleaned up. What has gone is still in memory.
void Checkpointing::confirm_base() {
  const Status there = writer_->confirm_base();
  if (!there.is_ok())
    notice(fmt::format("the next checkpoint is written whole, as older ones are damaged: {}",
                       there.message()));
}

Status Checkpointing::save(const EnginePosition& position, std::uint64_t iteration, SaveTime time) {
  STRATALOG_RETURN_IF_ERROR(settle());
  is_owed_ = false;
  confirm_base();
  Saving saving{.parts = SavedParts(state_, *writer_),
                .iteration = iteration,
                .time = time,
                .prepared = PrepareTimes()};
  STRATALOG_ASSIGN_OR_RETURN(const SaveRequest request,
                             make_request(position, saving, ImageLife::kBorrowed));
  tell_saving(iteration);
  return save_now(position, saving, request);
}

Status Checkpointing::save_now(const EnginePosition& position, Saving& saving,
                               const SaveRequest& request) {
  STRATALOG_RETURN_IF_ERROR(conclude(saving, writer_->save(request)));
  since_last_.lap();
  last_iteration_ = saving.iteration;
  last_stratum_ = position.stratum;
  return {};
}

Status Checkpointing::begin_save(const EnginePosition& position, std::uint64_t iteration) {
  is_owed_ = false;
  confirm_base();
  auto saving = std::make_unique<Saving>(Saving{.parts = SavedParts(state_, *writer_),
                                                .iteration = iteration,
                                                .time = SaveTime::kOnTheWay,
                                                .prepared = PrepareTimes()});
  const ImageLife life = writer_->overlap(state_.options.checkpoint.mode).way == OverlapWay::kWrite
                             ? ImageLife::kUntilPacked
                             : ImageLife::kFrozen;
  STRATALOG_ASSIGN_OR_RETURN(SaveRequest request, make_request(position, *saving, life));
  tell_saving(iteration);
  if (saving->parts.life() == ImageLife::kBorrowed && !position.by_pivot)
    return save_now(position, *saving, request);
  saving->folds = has_folds(request);
  const Status begun = writer_->begin(std::move(request));
  if (begun.is_ok()) {
    pending_ = std::move(saving);
    state_.frozen_bytes = pending_->parts.copied_bytes();
  } else {
    STRATALOG_RETURN_IF_ERROR(conclude(*saving, begun));
  }
  since_last_.lap();
  last_iteration_ = iteration;
  last_stratum_ = position.stratum;
  return {};
}

Status Checkpointing::settle() {
  if (!pending_) return {};
  const std::unique_ptr<Saving> saving = std::move(pending_);
  state_.frozen_bytes = 0;
  const bool had_base = !writer_->base().empty();
  STRATALOG_RETURN_IF_ERROR(conclude(*saving, writer_->finish()));
  // What is there is damaged: one that stands by itself is wanted soon.
  is_owed_ |= had_base && writer_->base().empty();
  return {};
}

void Checkpointing::tell_saving(std::uint64_t iteration) const {
  if (!state_.hooks.progress || state_.comm.rank() != 0) return;
  Progress progress;
  progress.phase = Phase::kCheckpointing;
  progress.iteration = iteration;
  state_.hooks.progress(progress);
}

void Checkpointing::note_failure(const Saving& saving, const Status& status) {
  state_.report.failed_checkpoints.push_back({.iteration = saving.iteration,
                                              .time = saving.time,
                                              .status = status,
                                              .saved_before = state_.report.checkpoints.size()});
  if (state_.comm.rank() != 0) return;
  const std::string text =
      saving.time == SaveTime::kAtEnd
          ? fmt::format("the checkpoint at the end failed: {}", status.to_string())
          : fmt::format(
                "checkpoint at iteration {} failed, the run goes on with the older ones: {}",
                saving.iteration, status.to_string());
  if (state_.hooks.failure)
    state_.hooks.failure(text);
  else
    notice(text);
}

// Notes what came of a save.
Status Checkpointing::conclude(Saving& saving, const Result<SaveReport>& saved) {
  const PrepareTimes& prepared = saving.prepared;
  state_.times.pack += prepared.pack;
  state_.times.encode += prepared.encode;
  state_.times.commit += prepared.agree;
  if (!saved.is_ok()) {
    if (saved.status().code() == StatusCode::kRanksDisagree) return saved.status();
    note_failure(saving, saved.status());
    return {};
  }
  saving.parts.acknowledge();
  growing_sections_.accept(saved.value().generation, std::move(saving.ends));
  SaveReport report = saved.value();
  // Hashing happens inside the walks, which the writer takes for packing.
  const double hashing = std::min(saving.parts.hash_seconds(), report.pack_seconds);
  report.pack_seconds -= hashing;
  report.encode_seconds += hashing;
  // What the run was held up for; the rest went on beside it.
  double held = report.held_seconds - report.commit_seconds;
  if (report.overlap != OverlapWay::kPack) {
    state_.times.pack += report.pack_seconds;
    state_.times.encode += report.encode_seconds;
    held -= report.pack_seconds + report.encode_seconds;
  }
  if (report.overlap == OverlapWay::kNone) {
    state_.times.write += report.write_seconds;
    state_.times.sync += report.sync_seconds;
  } else {
    state_.times.wait += std::max(0.0, held);
  }
  state_.times.commit += report.commit_seconds;
  report.pack_seconds += prepared.pack + prepared.growth;
  report.encode_seconds += prepared.encode;
  report.commit_seconds += prepared.agree;
  report.held_seconds += prepared.held() + prepared.growth;
  report.total_seconds += prepared.held() + prepared.growth;
  interval_.note_cost(report.held_seconds);
  state_.report.interval_seconds = interval_.interval_seconds();
  state_.report.interval_cost_seconds = interval_.cost_seconds();
  for (const std::string& note : report.notes) notice(note);
  state_.report.checkpoints.push_back(std::move(report));
  return {};
}

}  // namespace stratalog::datalog
