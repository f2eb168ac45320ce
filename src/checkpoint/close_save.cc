// SPDX-License-Identifier: Apache-2.0
// How a save ends: ranks agree on whether all has been written, and the generation is committed or
// discarded.
#include <utility>

#include "base/memory_end.h"
#include "checkpoint/save_driver.h"
#include "checkpoint/told.h"

namespace stratalog {
namespace {

constexpr char kNoRoomToNote[] = "not enough memory to note a checkpoint";

void append_text(const Received& lines, std::string& text) {
  text.append(reinterpret_cast<const char*>(lines.data.data()), lines.data.size());
}

// With what is carried over from the generations that this one builds on.
std::string manifest_words(const SaveContext& context, Manifest& manifest, const Received& files,
                           const Received& shards) {
  manifest.links = context.carried.links;
  std::string carried_files;
  std::string carried_shards;
  for (const ManifestFile& file : context.carried.files) carried_files += file_line(file);
  for (const ManifestShard& shard : context.carried.shards) carried_shards += shard_line(shard);
  append_text(files, carried_files);
  append_text(shards, carried_shards);
  return manifest_text(manifest, carried_files, carried_shards);
}

}  // namespace

Status SaveDriver::commit(const SaveContext& context, Manifest& manifest, LocalOutput& out,
                          SaveReport& report) {
  std::string text;
  const Status worded = word_manifest(context, manifest, out, text);
  if (!worded.is_ok()) return clean_up(context, worded);
  report.bytes = text.size();
  report.files = comm_.rank() == 0 ? 1 : 0;
  return publish(context, manifest, text, report);
}

// Collective. `text`: of the manifest, on rank 0.
Status SaveDriver::word_manifest(const SaveContext& context, Manifest& manifest,
                                 const LocalOutput& out, std::string& text) {
  const SaveRequest& request = context.request;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < request.images.size(); ++i) {
    const MultisetHash hash = hash_of_image(request, i);
    sums.insert(sums.end(), {request.images[i].rows, hash.low, hash.high});
  }
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(sums, ReduceOp::kSum));
  STRATALOG_ASSIGN_OR_RETURN(const Received files,
                             comm_.gather(std::as_bytes(std::span(out.file_lines)), 0));
  STRATALOG_ASSIGN_OR_RETURN(const Received shards,
                             comm_.gather(std::as_bytes(std::span(out.shard_lines)), 0));
  Status worded;
  if (comm_.rank() == 0)
    worded = or_no_space("not enough memory for the manifest", [&]() -> Status {
      list_relations(request, sums, manifest.relations);
      text = manifest_words(context, manifest, files, shards);
      return Status::ok();
    });
  return tell_status(comm_, worded);
}

void SaveDriver::list_relations(const SaveRequest& request, std::span<const std::uint64_t> sums,
                                std::vector<ManifestRelation>& relations) const {
  for (std::size_t i = 0; i < request.images.size(); ++i) {
    const RelationImage& image = request.images[i];
    relations.push_back({.name = image.name,
                         .version = image.version,
                         .arity = image.arity,
                         .column_order = image.column_order,
                         .rows = sums[i * 3],
                         .hash = {.low = sums[(i * 3) + 1], .high = sums[(i * 3) + 2]}});
  }
  base_.add_carried(request, relations);
}

Status SaveDriver::publish(const SaveContext& context, const Manifest& manifest,
                           const std::string& text, SaveReport& report) {
  PublishResult result;
  Status advanced;
  std::string facts;  // of the chains, for everybody
  if (comm_.rank() == 0) {
    Result<Manifest> again = Manifest();
    result = generations_.publish(manifest, text, again);
    advanced = or_no_space(kNoRoomToNote, [&]() -> Status {
      if (result.outcome == PublishOutcome::kCommitted) {
        generations_.retain(again.value(), report.notes);
        facts = base_.advance(std::move(again).value(), context.request);
      } else if (result.outcome == PublishOutcome::kUnknown &&
                 !options_.steps.includes(ProtocolStep::kBuildOnCommitted)) {
        facts = base_.advance(std::move(again).value(), context.request);
        (void)base_.accept(generation_name(context.id), context.request, facts);
      }
      return Status::ok();
    });
  }
  std::uint64_t numbers[2] = {static_cast<std::uint64_t>(result.outcome),
                              result.superseded ? 1U : 0U};
  if (comm_.rank() != 0) numbers[0] = numbers[1] = 0;
  const Status& first = result.status.is_ok() ? advanced : result.status;
  const auto told = tell(
      comm_, first.is_ok() ? Result<std::string>(std::move(facts)) : Result<std::string>(first));
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
  const bool is_there = outcome == PublishOutcome::kCommitted;
  if (!told.is_ok() && !is_there) return told.status();
  // All build on what was committed, or nobody does.
  const Status accepted =
      !told.is_ok() ? told.status() : agree(comm_, or_no_space(kNoRoomToNote, [&] {
                                              return base_.accept(generation_name(context.id),
                                                                  context.request, told.value());
                                            }));
  if (!accepted.is_ok()) base_.forget();
  return accepted;
}

// Everybody has stopped writing: rank 0 removes what is there.
Status SaveDriver::clean_up(const SaveContext& context, const Status& why) {
  // Without a working group others may still write: leave the directory for the next job to sweep.
  if (!comm_.barrier().is_ok()) return why;
  if (comm_.rank() == 0) (void)discard_generation(store_, context.id);
  if (stages_ != nullptr) discard_in_stage(*stages_, context.id);
  (void)comm_.barrier();
  outcome_ = SaveOutcome::kFailed;
  return why;
}

// Collective. Whether what was read of the base is what it was; if not, nothing builds on it again.
Status SaveDriver::judge_folds(const SaveContext& context, const Status& written) {
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
Status SaveDriver::read_back(OpenSave& open) {
  Status status;
  for (const std::function<Status()>& read : open.out.when_written)
    if (status.is_ok()) status = read();
  return agree(comm_, status);
}

// Of saves that can go on beside the caller; the report is the same everywhere.
void SaveDriver::remember_costs(const SaveReport& report) {
  if (most_overlap(mode_) == OverlapWay::kNone) return;
  overlap_facts_.last_bytes = report.bytes / static_cast<std::uint64_t>(comm_.size());
  overlap_facts_.last_pack_seconds = report.pack_seconds + report.encode_seconds;
  overlap_facts_.last_write_seconds = report.write_seconds + report.sync_seconds;
}

// All have written, well or not: the agreement, and the commit.
Result<SaveReport> SaveDriver::close_save(OpenSave& open) {
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
  // Its seconds are the slowest rank's, the same on all. What was read back as well says little of
  // writing.
  if (open.facts && !open.fold) learned_.learn(open.option, *open.facts, report.total_seconds);
  remember_costs(report);
  return report;
}

}  // namespace stratalog
