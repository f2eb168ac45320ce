// SPDX-License-Identifier: Apache-2.0
// The save driver: opens a store for writing and carries out the commit protocol's steps in order,
// with one agreement between "every rank's data is durable" and "rank 0 writes the manifest".
// Collective.
#include <fmt/format.h>

#include <system_error>

#include "base/memory_end.h"
#include "checkpoint/auto_layout.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/generation_sequence.h"
#include "checkpoint/learned_layout.h"
#include "checkpoint/node_stages.h"
#include "checkpoint/open_save.h"
#include "checkpoint/save_checks.h"
#include "checkpoint/told.h"

namespace stratalog {
namespace {

class Writer final : public CheckpointWriter {
 public:
  Writer(Comm& comm, Store& store, const WriterOptions& options)
      : comm_(comm),
        store_(store),
        stages_(stages_of_nodes(store)),
        options_(options),
        generations_(store, options_) {}

  Status open();
  Result<SaveReport> save(const SaveRequest& request) override;
  Status begin(SaveRequest request) override;
  Result<SaveReport> finish() override;
  bool is_written() const override {
    if (!pending_) return true;
    if (pending_->meetings != nullptr && !pending_->meetings->is_over())
      return pending_->meetings->is_ready();
    return pending_->is_written.load() && pending_->queue.is_done();
  }
  bool advance() override;
  OverlapPlan overlap(CheckpointMode mode) const override {
    return plan_overlap(overlap_facts_, options_.overlap, mode);
  }
  bool can_fold() const override { return stages_ == nullptr; }
  const std::string& base() const override { return base_.generation(); }
  ChainFacts chain(const std::string& relation, RelationVersion version) const override {
    return base_.facts(relation, version);
  }
  SaveOutcome last_outcome() const override { return outcome_; }
  const std::vector<std::string>& notes() const override { return generations_.notes(); }

 private:
  Status choose_layout(const SaveRequest& request, OpenSave& open);
  Status check_alike(const SaveRequest& request, OverlapWay overlap);
  Status check_base(const SaveRequest& request, OverlapWay overlap) const;
  Result<CarriedOver> carry(const SaveRequest& request);
  Result<Beginning> begin_generation();
  Status open_save(const SaveRequest& request, OpenSave& open);
  Status write_data(const SaveContext& context, Manifest& manifest, LocalOutput& out);
  void prepare_folds(OpenSave& open);
  Status judge_folds(const SaveContext& context, const Status& written);
  Status read_back(OpenSave& open);
  Status begin_files(OpenSave& open);
  void write_now(OpenSave& open);
  Status start_thread(OpenSave& open);
  void write_in_thread(OpenSave& open);
  void write_in_rounds(OpenSave& open);
  void write_with_calls(OpenSave& open);
  void pack_now_write_in_thread(OpenSave& open);
  void remember_costs(const SaveReport& report);
  Result<SaveReport> close_save(OpenSave& open);
  Status clean_up(const SaveContext& context, const Status& why);
  Status commit(const SaveContext& context, Manifest& manifest, LocalOutput& out,
                SaveReport& report);
  Result<std::string> gather_lines(const std::string& lines);
  Status publish(const SaveContext& context, const Manifest& manifest, const std::string& text,
                 SaveReport& report);

  Comm& comm_;
  Store& store_;
  StagedStore* stages_;  // where they lie on several nodes
  WriterOptions options_;
  JobFacts job_;
  GenerationSequence generations_;
  ChainBase base_;
  CheckpointMode mode_ = CheckpointMode::kFilePerProcess;  // of the save that runs
  LearnedLayout learned_;  // of modes auto and hdf5-auto
  OverlapFacts overlap_facts_;
  SaveOutcome outcome_ = SaveOutcome::kNone;
  Status over_;  // why no further save is possible
  bool has_lasting_notes_ = false;  // said once in a job
  std::unique_ptr<OpenSave> pending_;  // between begin() and finish()
};

Status Writer::open() {
  Status status;
  if (options_.keep_generations < 2 && options_.steps.includes(ProtocolStep::kKeepTwo))
    status = Status::invalid_argument("at least two generations must be kept");
  if (options_.block_bytes < 256 || options_.block_bytes > (1 << 20) ||
      options_.stage_bytes < 4096 || options_.stage_bytes > (1 << 30))
    status =
        Status::invalid_argument("block_bytes must be 256 .. 1 MiB, stage_bytes 4 KiB .. 1 GiB");
  STRATALOG_RETURN_IF_ERROR(agree(comm_, status));
  STRATALOG_ASSIGN_OR_RETURN(job_, gather_job_facts(comm_, store_));
  overlap_facts_.cores = job_.cores.cores;
  overlap_facts_.ranks = job_.cores.ranks;
  overlap_facts_.buffer_bytes = options_.stage_bytes;
  if (comm_.rank() == 0) status = generations_.claim();
  STRATALOG_RETURN_IF_ERROR(agree(comm_, status));
  if (stages_ == nullptr) return Status::ok();
  STRATALOG_RETURN_IF_ERROR(check_home_is_shared(comm_, *stages_));
  return check_stages_are_apart(comm_, *stages_);
}

// The lists must be the same everywhere, or ranks would write different files under one number.
Status Writer::check_alike(const SaveRequest& request, OverlapWay overlap) {
  const Status mine = check_request(request, mode_, options_);
  STRATALOG_RETURN_IF_ERROR(agree(comm_, mine.is_ok() ? check_base(request, overlap) : mine));
  const std::uint64_t digest = image_list_digest(request, mode_);
  std::uint64_t extremes[2] = {digest, ~digest};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(extremes, ReduceOp::kMax));
  if (extremes[0] == ~extremes[1]) return Status::ok();
  return Status::ranks_disagree("the ranks do not save the same list of relations");
}

// Growth needs the generation that it builds on, and that is always the last acknowledged one.
Status Writer::check_base(const SaveRequest& request, OverlapWay overlap) const {
  if (!request.base.empty() && request.base != base_.generation())
    return Status::invalid_argument(
        fmt::format("a checkpoint cannot build on {}; the last one is {}", request.base,
                    base_.generation().empty() ? "none" : base_.generation()));
  for (std::size_t i = 0; i < request.images.size(); ++i)
    if (request.base.empty() && part_of(request, i) != ImagePart::kWhole)
      return Status::invalid_argument(fmt::format(
          "the growth of {} cannot be saved without what it builds on", request.images[i].name));
  if (!has_folds(request)) return Status::ok();
  if (!can_fold())
    return Status::not_supported("chains cannot be folded where stages lie on several nodes");
  // One thread would read while another writes.
  if (overlap == OverlapWay::kWrite)
    return Status::not_supported("chains are folded by the thread that packs, if there is one");
  return Status::ok();
}

Result<CarriedOver> Writer::carry(const SaveRequest& request) {
  Result<CarriedOver> carried = CarriedOver{};
  carried.value().sections.resize(request.sections.size());
  if (request.base.empty()) return carried;
  if (comm_.rank() == 0) carried = base_.carry(request);
  STRATALOG_RETURN_IF_ERROR(tell_status(comm_, carried.status()));
  return carried;
}

// Collective only in modes that are; the Status is this rank's own.
Status Writer::write_data(const SaveContext& context, Manifest& manifest, LocalOutput& out) {
  Status status;
  switch (mode_) {
    case CheckpointMode::kFilePerProcess:
      status = write_own_files(context, out);
      break;
    case CheckpointMode::kShared:
    case CheckpointMode::kSharedOpt:
      status = write_shared_files(context, out);
      break;
    case CheckpointMode::kHdf5:
    case CheckpointMode::kHdf5Opt:
      status = write_row_files(context, out);
      break;
    case CheckpointMode::kHdf5Direct:
      status = write_rows_directly(context, out);
      break;
    case CheckpointMode::kHdf5Streams:
      status = write_stream_files(context, out);
      break;
    case CheckpointMode::kHdf5Auto:
    case CheckpointMode::kAuto:
      status = Status::internal("a learned mode was not resolved");
      break;
  }
  if (status.is_ok() && comm_.rank() == 0) status = write_sections(context, manifest.sections, out);
  return status;
}

// Everybody has stopped writing: rank 0 removes what is there.
Status Writer::clean_up(const SaveContext& context, const Status& why) {
  // Without a working group others may still write: leave the directory for the next job to sweep.
  if (!comm_.barrier().is_ok()) return why;
  if (comm_.rank() == 0) (void)discard_generation(store_, context.id);
  if (stages_ != nullptr) discard_in_stage(*stages_, context.id);
  (void)comm_.barrier();
  outcome_ = SaveOutcome::kFailed;
  return why;
}

Result<std::string> Writer::gather_lines(const std::string& lines) {
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm_.gather(std::as_bytes(std::span(lines)), 0));
  return std::string(reinterpret_cast<const char*>(all.data.data()), all.data.size());
}

Status Writer::commit(const SaveContext& context, Manifest& manifest, LocalOutput& out,
                      SaveReport& report) {
  const SaveRequest& request = context.request;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < request.images.size(); ++i) {
    const MultisetHash hash = hash_of_image(request, i);
    sums.insert(sums.end(), {request.images[i].rows, hash.low, hash.high});
  }
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(sums, ReduceOp::kSum));
  STRATALOG_ASSIGN_OR_RETURN(const std::string file_lines, gather_lines(out.file_lines));
  STRATALOG_ASSIGN_OR_RETURN(const std::string shard_lines, gather_lines(out.shard_lines));
  std::string text;
  if (comm_.rank() == 0) {
    for (std::size_t i = 0; i < request.images.size(); ++i) {
      const RelationImage& image = request.images[i];
      manifest.relations.push_back({.name = image.name,
                                    .version = image.version,
                                    .arity = image.arity,
                                    .column_order = image.column_order,
                                    .rows = sums[i * 3],
                                    .hash = {.low = sums[(i * 3) + 1], .high = sums[(i * 3) + 2]}});
    }
    base_.add_carried(request, manifest.relations);
    manifest.links = context.carried.links;
    std::string carried_files;
    std::string carried_shards;
    for (const ManifestFile& file : context.carried.files) carried_files += file_line(file);
    for (const ManifestShard& shard : context.carried.shards) carried_shards += shard_line(shard);
    text = manifest_text(manifest, carried_files + file_lines, carried_shards + shard_lines);
    report.bytes = text.size();
    report.files = 1;
  }
  return publish(context, manifest, text, report);
}

Status Writer::publish(const SaveContext& context, const Manifest& manifest,
                       const std::string& text, SaveReport& report) {
  PublishResult result;
  std::string facts;  // of the chains, for everybody
  if (comm_.rank() == 0) {
    Result<Manifest> again = Manifest();
    result = generations_.publish(manifest, text, again);
    if (result.outcome == PublishOutcome::kCommitted) {
      generations_.retain(again.value(), report.notes);
      facts = base_.advance(std::move(again).value(), context.request);
    } else if (result.outcome == PublishOutcome::kUnknown &&
               !options_.steps.includes(ProtocolStep::kBuildOnCommitted)) {
      facts = base_.advance(std::move(again).value(), context.request);
      (void)base_.accept(generation_name(context.id), context.request, facts);
    }
  }
  std::uint64_t numbers[2] = {static_cast<std::uint64_t>(result.outcome),
                              result.superseded ? 1U : 0U};
  if (comm_.rank() != 0) numbers[0] = numbers[1] = 0;
  const auto told = tell(comm_, result.status.is_ok() ? Result<std::string>(std::move(facts))
                                                      : Result<std::string>(result.status));
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(numbers, ReduceOp::kSum));
  const auto outcome = static_cast<PublishOutcome>(numbers[0]);
  outcome_ = outcome == PublishOutcome::kCommitted ? SaveOutcome::kCommitted
             : outcome == PublishOutcome::kUnknown ? SaveOutcome::kUnknown
                                                   : SaveOutcome::kFailed;
  if (stages_ != nullptr && outcome == PublishOutcome::kFailed)
    discard_in_stage(*stages_, context.id);
  else if (stages_ != nullptr)
    stages_->drain(context.id);
  if (numbers[1] != 0) over_ = told.status();
  STRATALOG_RETURN_IF_ERROR(told.status());
  return base_.accept(generation_name(context.id), context.request, told.value());
}

// Collective. The layout of this save, which a learned mode chooses.
Status Writer::choose_layout(const SaveRequest& request, OpenSave& open) {
  open.option = option_of(request.mode, options_.layout);
  if (!is_learned(request.mode)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(open.facts, gather_auto_facts(comm_, job_, options_, request));
  const MeasuredOn on = measured_on(*open.facts, options_, request, store_);
  STRATALOG_ASSIGN_OR_RETURN(AutoChoice choice,
                             learned_.choose(comm_, generations_, *open.facts, on));
  open.option = choice.option;
  open.manifest.reasons = std::move(choice.reasons);
  open.manifest.learned = learned_.record(on);
  return Status::ok();
}

// Collective: the next number, and its folder in every stage.
Result<Beginning> Writer::begin_generation() {
  if (stages_ == nullptr) return generations_.begin(comm_);
  STRATALOG_RETURN_IF_ERROR(make_room_in_stages(comm_, *stages_));
  STRATALOG_ASSIGN_OR_RETURN(const Beginning beginning, generations_.begin(comm_));
  const Status begun = begin_in_stages(comm_, *stages_, beginning.id, options_.durability);
  if (begun.is_ok()) return beginning;
  if (comm_.rank() == 0) (void)discard_generation(store_, beginning.id);
  discard_in_stage(*stages_, beginning.id);
  return begun;
}

Status Writer::open_save(const SaveRequest& request, OpenSave& open) {
  const HeldUp held(open);
  outcome_ = SaveOutcome::kFailed;
  STRATALOG_RETURN_IF_ERROR(choose_layout(request, open));
  mode_ = open.option.mode;
  const OverlapWay wished = open.overlap.way;
  open.overlap = limit_overlap(open.overlap, mode_);
  STRATALOG_RETURN_IF_ERROR(check_alike(request, open.overlap.way));
  for (const RelationImage& image : request.images) open.rows.push_back(image.rows);
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(open.rows, ReduceOp::kSum));

  LayoutWishes wishes = wishes_with(open.option, options_.layout);
  if (stages_ != nullptr) {
    STRATALOG_ASSIGN_OR_RETURN(wishes.files,
                               plan_stage_files(mode_, wishes.files, job_.node_of_rank));
  }
  {
    const Stopwatch watch(open.out.times.metadata_ns);
    const ShardEncoding encoding = stores_rows(mode_) ? ShardEncoding::kRowsU64
                                   : stores_streams(mode_)
                                       ? ShardEncoding::kStreams
                                       : encoding_of(open.option.coding, request.encoding);
    STRATALOG_ASSIGN_OR_RETURN(open.layout, plan_save(comm_, job_, request, wishes, encoding));
  }
  if (open.overlap.way == OverlapWay::kPack &&
      packs_with_calls(mode_, open.layout.plan.edge_alignment))
    open.calls = std::make_unique<CommBeside>(comm_);
  const Stopwatch watch(open.out.times.commit_ns);
  STRATALOG_ASSIGN_OR_RETURN(open.carried, carry(request));
  STRATALOG_ASSIGN_OR_RETURN(const Beginning beginning, begin_generation());
  open.context.emplace(SaveContext{.comm = open.calls ? *open.calls : comm_,
                                   .store = store_,
                                   .request = request,
                                   .options = options_,
                                   .id = beginning.id,
                                   .nonce = beginning.nonce,
                                   .store_id = beginning.store_id,
                                   .total_rows = open.rows,
                                   .carried = open.carried,
                                   .layout = open.layout,
                                   .queue = open.queue,
                                   .fold = open.fold ? &*open.fold : nullptr,
                                   .overlap = open.overlap.way});
  Manifest& manifest = open.manifest;
  manifest.store = beginning.store_id;
  manifest.id = beginning.id;
  manifest.nonce = beginning.nonce;
  manifest.ranks = static_cast<std::uint32_t>(comm_.size());
  manifest.mode = mode_;
  manifest.encoding = open.layout.encoding;
  manifest.durability = options_.durability;
  manifest.iteration = request.iteration;
  manifest.program_hash = request.program_hash;
  manifest.engine_state = request.engine_state;
  // The plain modes have nothing to explain.
  if (format_of(mode_) != mode_ || !manifest.reasons.empty())
    manifest.reasons.insert(manifest.reasons.end(), open.layout.plan.reasons.begin(),
                            open.layout.plan.reasons.end());
  if (wished != OverlapWay::kNone)
    manifest.reasons.push_back({.about = "overlap", .text = open.overlap.reason});
  return Status::ok();
}

// Of a request that the save owns.
void Writer::prepare_folds(OpenSave& open) {
  open.fold.emplace(comm_, store_, open.owned.base);
  walk_through(*open.fold, base_, open.owned);
}

// Collective. Whether what was read of the base is what it was; if not, nothing builds on it again.
Status Writer::judge_folds(const SaveContext& context, const Status& written) {
  if (context.fold == nullptr) return written;
  std::uint64_t damaged = context.fold->damage().is_ok() ? 0 : 1;
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(std::span(&damaged, 1), ReduceOp::kSum));
  if (written.is_ok()) {
    const Status checked = check_folds(comm_, context.request, *context.fold, base_);
    if (!checked.is_ok()) base_.forget();
    return checked;
  }
  if (damaged != 0) base_.forget();
  return written;
}

// Collective. All have written, and what they then have to say of it goes on.
Status Writer::read_back(OpenSave& open) {
  Status status;
  for (const std::function<Status()>& read : open.out.when_written)
    if (status.is_ok()) status = read();
  return agree(comm_, status);
}

// All have written, well or not: the agreement, and the commit.
Result<SaveReport> Writer::close_save(OpenSave& open) {
  const SaveContext& context = *open.context;
  const std::uint64_t start = now_ns();
  Status written = options_.steps.includes(ProtocolStep::kAgreeBeforeManifest)
                       ? agree(comm_, open.written)
                       : comm_.barrier();
  written = judge_folds(context, written);
  if (written.is_ok() && open.overlap.way != OverlapWay::kNone &&
      mode_ != CheckpointMode::kFilePerProcess)
    written = read_back(open);
  if (written.is_ok() && stages_ != nullptr)
    written = seal_in_stages(comm_, *stages_, context.id, options_.durability, options_.steps);
  if (!written.is_ok()) return clean_up(context, written);
  SaveReport report;
  report.generation = generation_name(context.id);
  for (const std::uint64_t count : open.rows) report.rows += count;
  for (std::size_t i = 0; i < context.request.images.size(); ++i) {
    const ImagePart part = part_of(context.request, i);
    report.growth_images += part == ImagePart::kGrowth ? 1 : 0;
    report.folded_images += part == ImagePart::kFolded ? 1 : 0;
  }
  {
    const Stopwatch watch(open.out.times.commit_ns);
    STRATALOG_RETURN_IF_ERROR(commit(context, open.manifest, open.out, report));
  }
  open.held_ns += now_ns() - start;
  STRATALOG_RETURN_IF_ERROR(sum_up(comm_, open, report));
  for (const std::string& note : open.out.lasting_notes)
    if (!std::exchange(has_lasting_notes_, true)) report.notes.push_back(note);
  // Its seconds are the slowest rank's, the same on all.
  if (open.facts) learned_.learn(open.option, *open.facts, report.total_seconds);
  remember_costs(report);
  return report;
}

// Of saves that can go on beside the caller; the report is the same everywhere.
void Writer::remember_costs(const SaveReport& report) {
  if (most_overlap(mode_) == OverlapWay::kNone) return;
  overlap_facts_.last_bytes = report.bytes / static_cast<std::uint64_t>(comm_.size());
  overlap_facts_.last_pack_seconds = report.pack_seconds + report.encode_seconds;
  overlap_facts_.last_write_seconds = report.write_seconds + report.sync_seconds;
}

Result<SaveReport> Writer::save(const SaveRequest& request) {
  STRATALOG_RETURN_IF_ERROR(over_);
  if (pending_)
    return Status::invalid_argument("a checkpoint is being written; finish() it before the next");
  OpenSave open;
  const bool folds = has_folds(request);
  if (folds) {
    open.owned = request;
    prepare_folds(open);
  }
  STRATALOG_RETURN_IF_ERROR(open_save(folds ? open.owned : request, open));
  {
    const HeldUp held(open);
    write_now(open);
  }
  return close_save(open);
}

// Want of memory is a failed save like others.
void Writer::write_now(OpenSave& open) {
  open.written = or_no_space("not enough memory to write a checkpoint", [&]() -> Status {
    if (!open.write_rest) return write_data(*open.context, open.manifest, open.out);
    STRATALOG_RETURN_IF_ERROR(open.write_rest());
    return comm_.rank() == 0 ? write_sections(*open.context, open.manifest.sections, open.out)
                             : Status::ok();
  });
}

// Collective, with one verdict: what ranks need each other for before a thread packs.
Status Writer::begin_files(OpenSave& open) {
  if (mode_ != CheckpointMode::kHdf5Direct) return Status::ok();
  const HeldUp held(open);
  STRATALOG_ASSIGN_OR_RETURN(open.write_rest, begin_rows_directly(*open.context, open.out));
  return Status::ok();
}

void Writer::write_in_thread(OpenSave& open) {
  open.written = begin_files(open);
  if (!open.written.is_ok()) return;
  if (start_thread(open).is_ok()) return;
  const HeldUp held(open);
  write_now(open);
}

// A thread that writes; the error says that the system has none to give.
Status Writer::start_thread(OpenSave& open) {
  open.is_written.store(false);
  try {
    open.beside_since_ns = now_ns();
    open.thread = std::thread([this, &open] {
      if (!open.calls || open.calls->may_begin()) write_now(open);
      open.beside_until_ns.store(now_ns());
      open.is_written.store(true);
      if (open.calls) open.calls->end();
    });
  } catch (const std::system_error&) {
    open.beside_since_ns = 0;
    open.is_written.store(true);
    return Status::no_space("the system has no thread to give");
  }
  return Status::ok();
}

// Collective. The thread of a rank goes on where those of all do: without a thread on each, all
// write at once.
void Writer::write_in_rounds(OpenSave& open) {
  const HeldUp held(open);
  Status begun = or_no_space("not enough memory to write a checkpoint", [&] {
    open.rounds = std::make_unique<SharedBeside>(*open.context, open.out);
    open.write_rest = [&open] { return open.rounds->write(); };
    return start_thread(open);
  });
  begun = agree(comm_, begun);
  const bool can_go_on = begun.is_ok();
  if (can_go_on) begun = open.rounds->create_files();
  if (begun.is_ok()) {
    open.meetings = open.rounds.get();
    return;
  }
  if (open.rounds) open.rounds->give_up();
  if (open.thread.joinable()) open.thread.join();
  open.rounds.reset();
  open.write_rest = {};
  open.written = begun;
  if (!can_go_on) write_now(open);
}

// Collective, as above.
void Writer::write_with_calls(OpenSave& open) {
  open.written = begin_files(open);
  if (!open.written.is_ok()) return;
  const HeldUp held(open);
  if (agree(comm_, start_thread(open)).is_ok()) {
    open.meetings = open.calls.get();
    open.calls->let_begin();
    return;
  }
  open.calls->give_up();
  if (open.thread.joinable()) open.thread.join();
  write_now(open);
}

bool Writer::advance() {
  if (!pending_ || pending_->meetings == nullptr || pending_->meetings->is_over()) return true;
  const HeldUp held(*pending_);
  pending_->meetings->meet();
  return false;
}

void Writer::pack_now_write_in_thread(OpenSave& open) {
  open.queue.start(options_.stage_bytes);
  {
    const HeldUp held(open);
    write_now(open);
    open.queue.close();
  }
  open.beside_since_ns = now_ns();
}

Status Writer::begin(SaveRequest request) {
  STRATALOG_RETURN_IF_ERROR(over_);
  if (pending_)
    return Status::invalid_argument("a checkpoint is being written; finish() it before the next");
  if (most_overlap(request.mode) == OverlapWay::kNone)
    return Status::not_supported(
        fmt::format("mode {} cannot be written beside other work", mode_name(request.mode)));
  auto open = std::make_unique<OpenSave>();
  open->owned = std::move(request);
  open->overlap = overlap(open->owned.mode);
  if (has_folds(open->owned)) prepare_folds(*open);
  STRATALOG_RETURN_IF_ERROR(open_save(open->owned, *open));
  pending_ = std::move(open);
  switch (pending_->overlap.way) {
    case OverlapWay::kPack:
      if (mode_ == CheckpointMode::kShared)
        write_in_rounds(*pending_);
      else if (pending_->calls)
        write_with_calls(*pending_);
      else
        write_in_thread(*pending_);
      break;
    case OverlapWay::kWrite:
      pack_now_write_in_thread(*pending_);
      break;
    case OverlapWay::kNone: {
      const HeldUp held(*pending_);
      write_now(*pending_);
      break;
    }
  }
  return Status::ok();
}

Result<SaveReport> Writer::finish() {
  if (!pending_) return Status::invalid_argument("no checkpoint is being written");
  const std::unique_ptr<OpenSave> open = std::move(pending_);
  {
    const HeldUp held(*open);
    for (; open->meetings != nullptr && !open->meetings->is_over(); open->meetings->meet())
      open->meetings->wait_until_ready();
    if (open->thread.joinable()) open->thread.join();
    open->finish_queue();
  }
  return close_save(*open);
}

}  // namespace

Result<std::unique_ptr<CheckpointWriter>> open_checkpoint_writer(Comm& comm, Store& store,
                                                                 const WriterOptions& options) {
  auto writer = std::make_unique<Writer>(comm, store, options);
  STRATALOG_RETURN_IF_ERROR(writer->open());
  return std::unique_ptr<CheckpointWriter>(std::move(writer));
}

}  // namespace stratalog
