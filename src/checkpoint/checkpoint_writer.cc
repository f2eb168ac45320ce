// SPDX-License-Identifier: Apache-2.0
// The save driver: opens a store for writing and carries out the commit protocol's steps in order,
// with one agreement between "every rank's data is durable" and "rank 0 writes the manifest".
// Collective.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "checkpoint/chain_base.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/save_plan.h"
#include "checkpoint/told.h"
#include "commit/publish.h"
#include "commit/retention.h"
#include "commit/store_file.h"
#include "encode/byte_order.h"
#include "policy/learning.h"

namespace stratalog {
namespace {

// What rank 0 tells everybody when a generation begins.
struct Beginning {
  GenerationId id;
  Nonce nonce;
  Hash128 store_id;
};

std::string pack_beginning(const Beginning& b) {
  return std::string(reinterpret_cast<const char*>(&b), sizeof(b));
}

Result<Beginning> unpack_beginning(const std::string& bytes) {
  Beginning b;
  if (bytes.size() != sizeof(b)) return Status::internal("the beginning of a save has odd length");
  std::memcpy(&b, bytes.data(), sizeof(b));
  return b;
}

bool is_section_name(std::string_view name) {
  if (name.empty() || name.size() > 40) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

bool is_permutation_of_columns(const RelationImage& image) {
  std::vector<bool> seen(image.arity, false);
  for (const std::uint32_t column : image.column_order) {
    if (column >= image.arity || seen[column]) return false;
    seen[column] = true;
  }
  return image.column_order.size() == image.arity;
}

Status check_backends(CheckpointMode mode, const RowFiles& rows) {
  const bool collective = mode == CheckpointMode::kHdf5 || mode == CheckpointMode::kHdf5Opt;
  if (stores_rows(mode) && !rows.lay_out)
    return Status::not_supported(fmt::format("mode {} needs a build with HDF5", mode_name(mode)));
  if (collective && !rows.create)
    return Status::not_supported(fmt::format(
        "mode {} needs a build with MPI and parallel HDF5, and ranks that are MPI processes",
        mode_name(mode)));
  return Status::ok();
}

// Local.
Status check_request(const SaveRequest& request, CheckpointMode mode,
                     const WriterOptions& options) {
  for (const RelationImage& image : request.images) {
    if (image.arity > kMaxArity)
      return Status::not_supported(
          fmt::format("relation {} has {} columns; a checkpoint holds up "
                      "to {}",
                      image.name, image.arity, kMaxArity));
    if (image.name.empty() || !is_permutation_of_columns(image))
      return Status::invalid_argument(
          fmt::format("relation \"{}\": no name, or columns that are no permutation", image.name));
    if (image.arity == 0 && image.rows > 1)
      return Status::invalid_argument(
          fmt::format("relation {} of arity 0 with {} rows", image.name, image.rows));
  }
  STRATALOG_RETURN_IF_ERROR(check_backends(mode, options.backends.rows));
  if (!request.parts.empty() && request.parts.size() != request.images.size())
    return Status::invalid_argument("the parts of a checkpoint are not those of its images");
  if (request.encoding == ShardEncoding::kRaw)
    return Status::invalid_argument("encoding raw is not for tuples");
  std::set<std::string> names;
  for (const NamedSection& section : request.sections)
    if (!is_section_name(section.name) || !names.insert(section.name).second)
      return Status::invalid_argument(
          fmt::format("section name \"{}\" is not allowed or not unique", section.name));
  return Status::ok();
}

std::uint64_t image_list_digest(const SaveRequest& request, CheckpointMode mode) {
  std::string text = fmt::format("{} {} {}", static_cast<int>(mode),
                                 static_cast<int>(request.encoding), request.base);
  for (const PartPlan& plan : request.parts) text += plan.part == ImagePart::kWhole ? "w" : "g";
  for (const RelationImage& image : request.images) {
    text += fmt::format("\n{}.{} {}:", image.name, static_cast<int>(image.version), image.arity);
    for (const std::uint32_t column : image.column_order) text += fmt::format(" {}", column);
  }
  return hash128(text).low;
}

// What a save without mode auto does, and how auto's choices are named in the request.
LayoutOption option_of(CheckpointMode mode, const LayoutWishes& wishes) {
  return {.mode = mode,
          .files = wishes.files,
          .aggregators = wishes.aggregators,
          .alignment = wishes.alignment,
          .relations_per_file = wishes.relations_per_file};
}

ShardEncoding encoding_of(TupleCoding coding, ShardEncoding asked) {
  switch (coding) {
    case TupleCoding::kCompact:
      return ShardEncoding::kCompact;
    case TupleCoding::kStreams:
      return ShardEncoding::kStreams;
    case TupleCoding::kBlockwise:
      return ShardEncoding::kAuto;
    default:
      return asked;
  }
}

// One save from its beginning to its commit. Its parts refer to each other: it stays where it is.
struct OpenSave {
  OpenSave() = default;
  OpenSave(const OpenSave&) = delete;
  OpenSave& operator=(const OpenSave&) = delete;
  ~OpenSave() {
    if (thread.joinable()) thread.join();
  }

  SaveRequest owned;  // of begin()
  std::vector<std::uint64_t> rows;
  SaveLayout layout;
  CarriedOver carried;
  LayoutOption option;
  std::optional<AutoFacts> facts;  // of mode auto
  std::optional<SaveContext> context;
  Manifest manifest;
  LocalOutput out;
  Status written;
  std::uint64_t written_ns = 0;  // what the writing took
  std::uint64_t held_ns = 0;  // for how long the caller was held up
  std::thread thread;
  std::atomic<bool> is_written = false;
};

class Writer final : public CheckpointWriter {
 public:
  Writer(Comm& comm, Store& store, const WriterOptions& options)
      : comm_(comm), store_(store), options_(options) {}

  Status open();
  Result<SaveReport> save(const SaveRequest& request) override;
  Status begin(SaveRequest request) override;
  Result<SaveReport> finish() override;
  bool is_written() const override { return !pending_ || pending_->is_written.load(); }
  const std::string& base() const override { return base_.generation(); }
  ChainFacts chain(const std::string& relation, RelationVersion version) const override {
    return base_.facts(relation, version);
  }
  SaveOutcome last_outcome() const override { return outcome_; }
  const std::vector<std::string>& notes() const override { return claim_.notes; }

 private:
  Status claim();
  Result<AutoFacts> auto_facts(const SaveRequest& request);
  Status choose_layout(const SaveRequest& request, OpenSave& open);
  Status check_alike(const SaveRequest& request);
  Status check_base(const SaveRequest& request) const;
  Result<CarriedOver> carry(const SaveRequest& request);
  Result<Beginning> begin_directory();
  Status open_save(const SaveRequest& request, OpenSave& open);
  Status write_data(const SaveContext& context, Manifest& manifest, LocalOutput& out);
  void write_in_thread(OpenSave& open);
  Result<SaveReport> close_save(OpenSave& open);
  Status clean_up(const SaveContext& context, const Status& why);
  Status commit(const SaveContext& context, Manifest& manifest, LocalOutput& out,
                SaveReport& report);
  Result<std::string> gather_lines(const std::string& lines);
  Status publish(const SaveContext& context, const Manifest& manifest, const std::string& text,
                 SaveReport& report);
  void retain(const Manifest& manifest, SaveReport& report);
  Status sum_up(const OpenSave& open, SaveReport& report);
  CommitRules rules() const {
    return {.epoch = claim_.epoch, .durability = options_.durability, .steps = options_.steps};
  }

  Comm& comm_;
  Store& store_;
  WriterOptions options_;
  JobFacts job_;
  StoreClaim claim_;  // rank 0; others have the id only
  std::uint64_t next_sequence_ = 1;  // rank 0
  std::vector<KnownGeneration> known_;  // rank 0, newest first
  ChainBase base_;
  CheckpointMode mode_ = CheckpointMode::kFilePerProcess;  // of the save that runs
  LayoutLearner learner_;  // of mode auto
  SaveOutcome outcome_ = SaveOutcome::kNone;
  Status over_;  // why no further save is possible
  std::unique_ptr<OpenSave> pending_;  // between begin() and finish()
};

Status Writer::claim() {
  STRATALOG_ASSIGN_OR_RETURN(claim_, claim_store(store_, options_.durability, options_.steps));
  STRATALOG_ASSIGN_OR_RETURN(
      known_,
      adopt_generations(store_, claim_.id, std::max(2U, options_.keep_generations), rules()));
  for (const KnownGeneration& generation : known_)
    next_sequence_ = std::max(next_sequence_, generation.id.sequence + 1);
  return Status::ok();
}

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
  if (comm_.rank() == 0) status = claim();
  return agree(comm_, status);
}

// The lists must be the same everywhere, or ranks would write different files under one number.
Status Writer::check_alike(const SaveRequest& request) {
  const Status mine = check_request(request, mode_, options_);
  STRATALOG_RETURN_IF_ERROR(agree(comm_, mine.is_ok() ? check_base(request) : mine));
  const std::uint64_t digest = image_list_digest(request, mode_);
  std::uint64_t extremes[2] = {digest, ~digest};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(extremes, ReduceOp::kMax));
  if (extremes[0] == ~extremes[1]) return Status::ok();
  return Status::ranks_disagree("the ranks do not save the same list of relations");
}

// Growth needs the generation that it builds on, and that is always the last acknowledged one.
Status Writer::check_base(const SaveRequest& request) const {
  if (!request.base.empty() && request.base != base_.generation())
    return Status::invalid_argument(
        fmt::format("a checkpoint cannot build on {}; the last one is {}", request.base,
                    base_.generation().empty() ? "none" : base_.generation()));
  for (std::size_t i = 0; i < request.images.size(); ++i)
    if (request.base.empty() && part_of(request, i) == ImagePart::kGrowth)
      return Status::invalid_argument(fmt::format(
          "the growth of {} cannot be saved without what it builds on", request.images[i].name));
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

Result<Beginning> Writer::begin_directory() {
  Result<std::string> beginning = std::string();
  if (comm_.rank() == 0) {
    Beginning b{.id = {.epoch = claim_.epoch, .sequence = next_sequence_},
                .nonce = {},
                .store_id = claim_.id};
    Status status;
    if (next_sequence_ > kMaxSequence)
      status = Status::not_supported("all sequence numbers of this store are used up");
    if (status.is_ok())
      status = store_.random_bytes(std::as_writable_bytes(std::span(&b.nonce, 1)));
    if (status.is_ok()) {
      ++next_sequence_;  // never used again, whatever happens
      status = begin_generation(store_, b.id, rules());
    }
    if (status.is_ok())
      beginning = pack_beginning(b);
    else
      beginning = status;
  }
  STRATALOG_ASSIGN_OR_RETURN(const std::string told, tell(comm_, beginning));
  return unpack_beginning(told);
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
    case CheckpointMode::kAuto:
      status = Status::internal("mode auto was not resolved");
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
    const bool is_walked = i < request.walked_hashes.size() && request.walked_hashes[i] != nullptr;
    const MultisetHash& hash = is_walked ? *request.walked_hashes[i] : request.images[i].hash;
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

// What cannot be read back must not be committed.
Result<Manifest> read_back(const Manifest& manifest, const std::string& text) {
  Result<Manifest> again = parse_manifest(text, CheckManifest::kYes);
  if (!again.is_ok()) return again.status().with_context("the manifest just written");
  if (again.value().engine_state != manifest.engine_state ||
      again.value().program_hash != manifest.program_hash)
    return Status::invalid_argument("engine state and program hash must be UTF-8 text");
  return again;
}

Status Writer::publish(const SaveContext& context, const Manifest& manifest,
                       const std::string& text, SaveReport& report) {
  PublishResult result;
  std::string facts;  // of the chains, for everybody
  if (comm_.rank() == 0) {
    Result<Manifest> again = read_back(manifest, text);
    result.status = again.status();
    if (result.status.is_ok()) result = publish_manifest(store_, context.id, text, rules());
    if (result.outcome == PublishOutcome::kFailed) (void)discard_generation(store_, context.id);
    if (result.outcome == PublishOutcome::kUnknown)
      result.status = result.status.with_context(
          fmt::format("the outcome of checkpoint {} is unknown (it may or may not survive a crash)",
                      generation_name(context.id)));
    if (result.outcome == PublishOutcome::kCommitted) {
      retain(again.value(), report);
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
  if (numbers[1] != 0) over_ = told.status();
  STRATALOG_RETURN_IF_ERROR(told.status());
  return base_.accept(generation_name(context.id), context.request, told.value());
}

// Failing to remove something old does not harm what is new.
void Writer::retain(const Manifest& manifest, SaveReport& report) {
  known_.insert(
      known_.begin(),
      {.id = manifest.id, .has_manifest = true, .is_valid = true, .needs = files_needed(manifest)});
  if (!options_.steps.includes(ProtocolStep::kKeepLinked))
    for (KnownGeneration& generation : known_) generation.needs.clear();
  for (const Removal& removal : plan_retention(known_, options_.keep_generations, claim_.epoch)) {
    const Status removed = remove_generation(store_, removal, rules());
    if (!removed.is_ok() && removed.code() != StatusCode::kNotFound) {
      report.notes.push_back(fmt::format("{} could not be removed: {}", generation_name(removal.id),
                                         removed.to_string()));
      continue;
    }
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const KnownGeneration& k) { return k.id == removal.id; });
    if (removal.keep.empty())
      known_.erase(known);
    else
      *known = {.id = removal.id, .left = removal.keep};
  }
}

Status Writer::sum_up(const OpenSave& open, SaveReport& report) {
  const LocalOutput& out = open.out;
  const PhaseTimes& t = out.times;
  const bool is_overlapped = open.context && &open.context->request == &open.owned;
  const std::uint64_t total_ns = open.held_ns + (is_overlapped ? open.written_ns : 0);
  std::uint64_t most[] = {
      t.walk_ns - t.encode_ns, t.encode_ns,   t.write_ns, t.sync_ns,   t.commit_ns, total_ns,
      out.staging_bytes,       t.metadata_ns, t.route_ns, open.held_ns};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(most, ReduceOp::kMax));
  std::uint64_t sums[] = {out.groups, out.bytes + report.bytes, out.files + report.files};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(sums, ReduceOp::kSum));
  constexpr double kSecond = 1e9;
  report.pack_seconds = static_cast<double>(most[0]) / kSecond;
  report.encode_seconds = static_cast<double>(most[1]) / kSecond;
  report.write_seconds = static_cast<double>(most[2]) / kSecond;
  report.sync_seconds = static_cast<double>(most[3]) / kSecond;
  report.commit_seconds = static_cast<double>(most[4]) / kSecond;
  report.total_seconds = static_cast<double>(most[5]) / kSecond;
  report.staging_bytes = most[6];
  report.metadata_seconds = static_cast<double>(most[7]) / kSecond;
  report.route_seconds = static_cast<double>(most[8]) / kSecond;
  report.held_seconds = static_cast<double>(most[9]) / kSecond;
  report.groups = sums[0];
  report.bytes = sums[1];
  report.files = sums[2];
  return Status::ok();
}

// Sums and maxima only, so that ranks that were given different lists still agree.
Result<AutoFacts> Writer::auto_facts(const SaveRequest& request) {
  AutoFacts facts{.ranks = comm_.size(),
                  .file_system = job_.file_system,
                  .wished_files = options_.layout.files,
                  .wished_aggregators = options_.layout.aggregators,
                  .wished_alignment = options_.layout.alignment,
                  .wished_relations = options_.layout.relations_per_file};
  // "The better of the two, block by block" leaves it to us.
  if (request.encoding == ShardEncoding::kAuto) facts.coding = CodingWish::kFree;
  for (const int node : job_.node_of_rank) facts.nodes = std::max(facts.nodes, node + 1);
  if (options_.backends.shared.create) facts.collective = CollectiveIo::kPresent;
  std::uint64_t bytes = 0;
  std::uint64_t images = 0;
  for (const RelationImage& image : request.images) {
    bytes += image.rows * 8 * image.arity;
    images += image.rows != 0 ? 1 : 0;
  }
  bytes = bytes / 1000 * encoded_milli(request.encoding);
  std::uint64_t most[] = {bytes, images};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(most, ReduceOp::kMax));
  std::uint64_t sums[] = {bytes};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(sums, ReduceOp::kSum));
  facts.bytes = sums[0];
  facts.largest_rank_bytes = most[0];
  facts.images = static_cast<std::uint32_t>(most[1]);
  return facts;
}

// Collective. The layout of this save, which mode auto chooses.
Status Writer::choose_layout(const SaveRequest& request, OpenSave& open) {
  open.option = option_of(request.mode, options_.layout);
  if (request.mode != CheckpointMode::kAuto) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(open.facts, auto_facts(request));
  AutoChoice choice = learner_.choose(*open.facts);
  open.option = choice.option;
  open.manifest.reasons = std::move(choice.reasons);
  return Status::ok();
}

Status Writer::open_save(const SaveRequest& request, OpenSave& open) {
  const Stopwatch held(open.held_ns);
  outcome_ = SaveOutcome::kFailed;
  STRATALOG_RETURN_IF_ERROR(choose_layout(request, open));
  mode_ = open.option.mode;
  STRATALOG_RETURN_IF_ERROR(check_alike(request));
  for (const RelationImage& image : request.images) open.rows.push_back(image.rows);
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(open.rows, ReduceOp::kSum));

  LayoutWishes wishes = options_.layout;
  wishes.mode = open.option.mode;
  wishes.files = open.option.files;
  const auto take = [](auto& wish, auto choice) { wish = wish == 0 ? choice : wish; };
  take(wishes.aggregators, open.option.aggregators);
  take(wishes.alignment, open.option.alignment);
  take(wishes.relations_per_file, open.option.relations_per_file);
  {
    const Stopwatch watch(open.out.times.metadata_ns);
    const ShardEncoding encoding = encoding_of(open.option.coding, request.encoding);
    STRATALOG_ASSIGN_OR_RETURN(open.layout, plan_save(comm_, job_, request, wishes, encoding));
  }
  const Stopwatch watch(open.out.times.commit_ns);
  STRATALOG_ASSIGN_OR_RETURN(open.carried, carry(request));
  STRATALOG_ASSIGN_OR_RETURN(const Beginning beginning, begin_directory());
  open.context.emplace(SaveContext{.comm = comm_,
                                   .store = store_,
                                   .request = request,
                                   .options = options_,
                                   .id = beginning.id,
                                   .nonce = beginning.nonce,
                                   .store_id = beginning.store_id,
                                   .total_rows = open.rows,
                                   .carried = open.carried,
                                   .layout = open.layout});
  Manifest& manifest = open.manifest;
  manifest.store = beginning.store_id;
  manifest.id = beginning.id;
  manifest.nonce = beginning.nonce;
  manifest.ranks = static_cast<std::uint32_t>(comm_.size());
  manifest.mode = mode_;
  manifest.encoding = stores_rows(mode_) ? ShardEncoding::kRowsU64 : open.layout.encoding;
  manifest.durability = options_.durability;
  manifest.iteration = request.iteration;
  manifest.program_hash = request.program_hash;
  manifest.engine_state = request.engine_state;
  // The plain modes have nothing to explain.
  if (format_of(mode_) != mode_ || !manifest.reasons.empty())
    manifest.reasons.insert(manifest.reasons.end(), open.layout.plan.reasons.begin(),
                            open.layout.plan.reasons.end());
  return Status::ok();
}

// All have written, well or not: the agreement, and the commit.
Result<SaveReport> Writer::close_save(OpenSave& open) {
  const SaveContext& context = *open.context;
  const std::uint64_t start = now_ns();
  const Status written = options_.steps.includes(ProtocolStep::kAgreeBeforeManifest)
                             ? agree(comm_, open.written)
                             : comm_.barrier();
  if (!written.is_ok()) return clean_up(context, written);
  SaveReport report;
  report.generation = generation_name(context.id);
  for (const std::uint64_t count : open.rows) report.rows += count;
  for (std::size_t i = 0; i < context.request.images.size(); ++i)
    report.growth_images += part_of(context.request, i) == ImagePart::kGrowth ? 1 : 0;
  {
    const Stopwatch watch(open.out.times.commit_ns);
    STRATALOG_RETURN_IF_ERROR(commit(context, open.manifest, open.out, report));
  }
  open.held_ns += now_ns() - start;
  STRATALOG_RETURN_IF_ERROR(sum_up(open, report));
  // Its seconds are the slowest rank's, the same on all.
  if (open.facts) learner_.learn(open.option, *open.facts, report.total_seconds);
  return report;
}

Result<SaveReport> Writer::save(const SaveRequest& request) {
  STRATALOG_RETURN_IF_ERROR(over_);
  if (pending_)
    return Status::invalid_argument("a checkpoint is being written; finish() it before the next");
  OpenSave open;
  STRATALOG_RETURN_IF_ERROR(open_save(request, open));
  {
    const Stopwatch held(open.held_ns);
    open.written = write_data(*open.context, open.manifest, open.out);
  }
  return close_save(open);
}

void Writer::write_in_thread(OpenSave& open) {
  const auto write = [this, &open] {
    {
      const Stopwatch watch(open.written_ns);
      // The containers report want of memory by an exception; it must not leave the thread.
      try {
        open.written = write_data(*open.context, open.manifest, open.out);
      } catch (const std::bad_alloc&) {
        open.written = Status::no_space("not enough memory to write a checkpoint");
      }
    }
    open.is_written.store(true);
  };
  try {
    open.thread = std::thread(write);
  } catch (const std::system_error&) {
    write();  // the system has no thread to give: then at once
  }
}

Status Writer::begin(SaveRequest request) {
  STRATALOG_RETURN_IF_ERROR(over_);
  if (pending_)
    return Status::invalid_argument("a checkpoint is being written; finish() it before the next");
  if (!may_overlap(request.mode))
    return Status::not_supported(
        fmt::format("mode {} cannot be written beside other work", mode_name(request.mode)));
  auto open = std::make_unique<OpenSave>();
  open->owned = std::move(request);
  STRATALOG_RETURN_IF_ERROR(open_save(open->owned, *open));
  pending_ = std::move(open);
  if (may_overlap(mode_)) {
    write_in_thread(*pending_);
    return Status::ok();
  }
  const Stopwatch held(pending_->held_ns);
  pending_->written = write_data(*pending_->context, pending_->manifest, pending_->out);
  pending_->is_written.store(true);
  return Status::ok();
}

Result<SaveReport> Writer::finish() {
  if (!pending_) return Status::invalid_argument("no checkpoint is being written");
  const std::unique_ptr<OpenSave> open = std::move(pending_);
  {
    const Stopwatch held(open->held_ns);
    if (open->thread.joinable()) open->thread.join();
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
