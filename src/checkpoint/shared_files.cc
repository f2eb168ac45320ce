// SPDX-License-Identifier: Apache-2.0
// One file per relation and version for all ranks (RA-checkpoint, section III: MPI collective I/O).
// Shards are produced as streams of unknown length, so the file grows in rounds
// (checkpoint/growing_file.h), and a shard is a list of extents. Collective.
#include <algorithm>

#include "base/memory_end.h"
#include "checkpoint/group_file.h"
#include "checkpoint/growing_file.h"
#include "checkpoint/save_plan.h"
#include "checkpoint/striped_folder.h"

namespace stratalog {
namespace {

class SharedShard {
 public:
  // `begin`: where earlier shards in the file end.
  SharedShard(const SaveContext& context, SharedFile& file, std::uint64_t begin, LocalOutput& out)
      : file_(context, begin, file.write_all, out), stage_bytes_(context.round_bytes()) {}

  // The sink of the encoder. Collective when the stage is full.
  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t room = stage_bytes_ - stage_.size();
      const std::size_t piece = std::min(room, bytes.size());
      if (stage_.size() + piece > stage_.capacity())
        stage_.reserve(std::min<std::size_t>(
            stage_bytes_, std::max(stage_.capacity() * 2, stage_.size() + piece)));
      stage_.insert(stage_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(piece));
      bytes = bytes.subspan(piece);
      if (stage_.size() == stage_bytes_)
        STRATALOG_RETURN_IF_ERROR(round(GrowingFile::RankState::kGoesOn));
    }
    return Status::ok();
  }

  // Takes part until all ranks are done. `status` is how this rank's encoding went. Returns this
  // rank's own verdict, or Cancelled where another rank failed.
  Status drain(const Status& status) {
    Status mine = status;
    while (!file_.is_over()) {
      const Status went =
          round(mine.is_ok() ? GrowingFile::RankState::kDone : GrowingFile::RankState::kFailed);
      if (mine.is_ok()) mine = went;
    }
    return mine;
  }

  const std::vector<Extent>& extents() const { return extents_; }
  std::uint64_t file_bytes() const { return file_.end(); }

 private:
  Status round(GrowingFile::RankState state) {
    const std::size_t bytes = state == GrowingFile::RankState::kFailed ? 0 : stage_.size();
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t offset, file_.round(stage_, state));
    if (bytes == 0) return Status::ok();
    append_extent({.offset = offset, .bytes = bytes}, extents_);
    return Status::ok();
  }

  GrowingFile file_;
  std::uint64_t stage_bytes_;
  Bytes stage_;
  std::vector<Extent> extents_;
};

// One file of this rank's group.
struct OpenFile {
  std::string name;
  SharedFile file;
  std::uint64_t end = 0;
};

// Appends the shards of one relation version. Collective.
Status append_shards(const SaveContext& context, std::size_t index, OpenFile& open,
                     LocalOutput& out) {
  SharedShard stream(context, open.file, open.end, out);
  ShardSummary summary;
  Status status = or_no_space("not enough memory to pack a shard", [&]() -> Status {
    STRATALOG_ASSIGN_OR_RETURN(
        summary,
        pack_shard(
            context, index, [&](std::span<const std::byte> bytes) { return stream.append(bytes); },
            out.times));
    return Status::ok();
  });
  status = stream.drain(status);
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  open.end = stream.file_bytes();
  if (summary.rows == 0) return Status::ok();
  note_shard(context, index, summary, open.name, stream.extents(), out);
  return Status::ok();
}

bool writes_through_mpi(const SaveContext& context) {
  return static_cast<bool>(context.options.backends.shared.create);
}

// Collective.
Result<SharedFile> create_file(const SaveContext& context, const std::string& name,
                               const SharedFileSettings& settings, int leader) {
  const std::string path = context.path(name);
  return writes_through_mpi(context)
             ? context.options.backends.shared.create(context.comm, context.store, path, settings)
             : create_group_file(context.comm, context.store, path, leader);
}

// Collective: one file for each group of ranks.
Status write_batch(const SaveContext& context, const SaveLayout::Batch& batch, std::size_t number,
                   LocalOutput& out) {
  const SaveLayout& layout = context.layout;
  const std::uint32_t file = layout.file_of(context.comm.rank());
  const SharedFileSettings settings{.striping = layout.plan.striping,
                                    .hints = layout.plan.hints,
                                    .group = {.groups = layout.plan.files, .mine = file}};
  OpenFile open;
  open.name = group_file_name(context, batch, number, file);
  const int leader = layout.leader_of(file);
  {
    const Stopwatch watch(out.times.metadata_ns);
    Result<SharedFile> made = create_file(context, open.name, settings, leader);
    const Status created = agree(context.comm, made.status());
    // What another group could not create this one has open.
    if (!created.is_ok() && made.is_ok()) (void)made.value().finish(SyncFiles::kNo);
    STRATALOG_RETURN_IF_ERROR(created);
    open.file = std::move(made).value();
  }
  Status status;
  for (std::size_t d = batch.begin; d < batch.end && status.is_ok(); ++d)
    status = append_shards(context, layout.images[d], open, out);
  {
    // append_shards has agreed: whether to sync is a collective decision.
    const Stopwatch watch(out.times.sync_ns);
    const Status finished =
        open.file.finish(status.is_ok() ? context.sync_files() : SyncFiles::kNo);
    if (status.is_ok()) status = finished;
  }
  STRATALOG_RETURN_IF_ERROR(status);
  if (context.comm.rank() != leader) return Status::ok();
  out.file_lines += file_line({.name = open.name, .bytes = open.end, .frame = {}});
  out.bytes += open.end;
  ++out.files;
  return Status::ok();
}

Status write_batches(const SaveContext& context, LocalOutput& out) {
  const std::vector<SaveLayout::Batch> batches = context.layout.batches();
  for (std::size_t b = 0; b < batches.size(); ++b) {
    // All ranks stop at the same file: the next one must not be begun by some only.
    STRATALOG_RETURN_IF_ERROR(agree(context.comm, write_batch(context, batches[b], b, out)));
  }
  return Status::ok();
}

}  // namespace

Status write_shared_files(const SaveContext& context, LocalOutput& out) {
  // MPI-IO sets the stripes of what it creates.
  if (writes_through_mpi(context)) return write_batches(context, out);
  return write_striped(context.comm, context.store, striped_folder(context), out.lasting_notes,
                       [&] { return write_batches(context, out); });
}

}  // namespace stratalog
