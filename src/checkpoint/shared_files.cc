// SPDX-License-Identifier: Apache-2.0
// One file per relation and version for all ranks (RA-checkpoint, section III: MPI collective I/O).
// Shards are produced as streams of unknown length, so the file grows in rounds: each rank stages
// some of its stream, all exchange sizes, offsets follow by prefix sum, all write together. A shard
// is then a list of extents. Ranks that are done or have nothing take part with zero bytes until
// everybody is; an error on one rank ends the file for all. Collective.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory_end.h"
#include "checkpoint/save_plan.h"
#include "checkpoint/striped_folder.h"
#include "place/shared_layout.h"
#include "write/patient_open.h"

namespace stratalog {
namespace {

// Without MPI-IO: the group's first rank creates the file, all write their extents through the
// Store.
Result<SharedFile> create_through_store(Comm& comm, Store& store, const std::string& path,
                                        int leader) {
  std::shared_ptr<File> file;
  Status status;
  if (comm.rank() == leader) {
    Result<std::unique_ptr<File>> made = store.open(path, OpenMode::kCreateExclusive);
    status = made.status();
    if (made.is_ok()) file = std::move(made).value();
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  if (comm.rank() != leader) {
    Result<std::unique_ptr<File>> opened = open_patiently(store, path, OpenMode::kWriteExisting);
    status = opened.status();
    if (opened.is_ok()) file = std::move(opened).value();
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  SharedFile shared;
  shared.write_all = [file](std::uint64_t offset, std::span<const std::byte> bytes) {
    return bytes.empty() ? Status::ok() : file->write_at(offset, bytes);
  };
  shared.finish = [file](SyncFiles sync) {
    const Status synced = sync == SyncFiles::kYes ? file->sync() : Status::ok();
    const Status closed = file->close();
    return synced.is_ok() ? closed : synced;
  };
  return shared;
}

class SharedShard {
 public:
  // `begin`: where earlier shards in the file end.
  SharedShard(const SaveContext& context, SharedFile& file, std::uint64_t begin, LocalOutput& out)
      : comm_(context.comm),
        layout_(context.layout),
        file_(file),
        stage_bytes_(context.round_bytes()),
        out_(out),
        end_(begin) {}

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
      if (stage_.size() == stage_bytes_) STRATALOG_RETURN_IF_ERROR(round(RankState::kGoesOn));
    }
    return Status::ok();
  }

  // Takes part until all ranks are done. `status` is how this rank's encoding went. Returns this
  // rank's own verdict, or Cancelled where another rank failed.
  Status drain(const Status& status) {
    if (over_) return status;
    Status mine = status;
    while (!over_) {
      const Status went = round(mine.is_ok() ? RankState::kDone : RankState::kFailed);
      if (mine.is_ok()) mine = went;
    }
    return mine;
  }

  const std::vector<Extent>& extents() const { return extents_; }
  std::uint64_t file_bytes() const { return end_; }

 private:
  enum class RankState : std::uint64_t { kGoesOn = 0, kDone = 1, kFailed = 2 };
  struct Announcement {
    std::uint64_t bytes;
    RankState state;
  };

  // One exchange of sizes and one collective write. Sets over_ when no further round follows.
  Status round(RankState state) {
    const Stopwatch watch(out_.times.write_ns);
    if (state == RankState::kFailed) stage_.clear();
    const Announcement mine{.bytes = stage_.size(), .state = state};
    Result<Received> all = comm_.allgather(std::as_bytes(std::span(&mine, 1)));
    if (!all.is_ok()) return end_with(all.status());
    std::vector<std::uint64_t> sizes;
    bool done = true;
    const std::uint32_t my_file = layout_.file_of(comm_.rank());
    for (int r = 0; r < comm_.size(); ++r) {
      Announcement theirs{};
      std::memcpy(&theirs, all.value().data.data() + (static_cast<std::size_t>(r) * sizeof(mine)),
                  sizeof(mine));
      sizes.push_back(layout_.file_of(r) == my_file ? theirs.bytes : 0);
      done = done && theirs.state == RankState::kDone;
      if (theirs.state == RankState::kFailed)
        return end_with(Status::cancelled(fmt::format("rank {} failed", r)));
    }
    Result<RoundPlan> plan = plan_round(end_, sizes, layout_.plan.extent_alignment);
    if (!plan.is_ok()) return end_with(plan.status());
    const std::uint64_t offset = plan.value().offsets[static_cast<std::size_t>(comm_.rank())];
    if (!stage_.empty()) {
      const bool adjoins =
          !extents_.empty() && extents_.back().offset + extents_.back().bytes == offset;
      if (adjoins)
        extents_.back().bytes += stage_.size();
      else
        extents_.push_back({.offset = offset, .bytes = stage_.size()});
      pad_stage(offset, plan.value().end);
    }
    const Status written = file_.write_all(offset, stage_);
    out_.staging_bytes = std::max<std::uint64_t>(out_.staging_bytes, stage_.capacity());
    stage_.clear();
    end_ = plan.value().end;
    over_ = done;
    return written;
  }

  // With romio_cb_write=enable ROMIO reads what lies in a hole between two ranks before it writes
  // all in one piece; beyond the end of the file it reads nothing and writes what its buffer
  // happens to hold. So tuned files have no holes within a round.
  void pad_stage(std::uint64_t offset, std::uint64_t round_end) {
    if (layout_.plan.mode != CheckpointMode::kSharedOpt || offset + stage_.size() == round_end)
      return;
    const std::uint64_t unit = layout_.plan.extent_alignment;
    stage_.resize((offset + stage_.size() + unit - 1) / unit * unit - offset);
  }

  Status end_with(Status status) {
    over_ = true;
    return status;
  }

  Comm& comm_;
  const SaveLayout& layout_;
  SharedFile& file_;
  std::uint64_t stage_bytes_;
  LocalOutput& out_;
  Bytes stage_;
  std::vector<Extent> extents_;
  std::uint64_t end_ = 0;
  bool over_ = false;
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
  const RelationImage& image = context.request.images[index];
  SharedShard stream(context, open.file, open.end, out);
  ShardSummary summary;
  Status status = or_no_space("not enough memory to pack a shard", [&]() -> Status {
    ShardEncoder encoder(shard_header(context, index, context.comm.rank()), image.column_order,
                         context.options.block_bytes,
                         [&](std::span<const std::byte> bytes) { return stream.append(bytes); });
    STRATALOG_RETURN_IF_ERROR(encode_image(context.request, index, encoder, out.times));
    if (!encoder.is_empty()) {
      STRATALOG_ASSIGN_OR_RETURN(summary, encoder.finish());
    }
    return check_rows(image, summary.rows);
  });
  status = stream.drain(status);
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  open.end = stream.file_bytes();
  if (summary.rows == 0) return Status::ok();
  note_shard(context, index, summary, open.name, stream.extents(), out);
  return Status::ok();
}

std::string file_name(const SaveContext& context, const SaveLayout::Batch& batch,
                      std::size_t number, std::uint32_t file) {
  const LayoutPlan& plan = context.layout.plan;
  if (plan.files > 1 || plan.relations_per_file != 1) return shared_batch_name(number, file);
  const std::size_t index = context.layout.images[batch.begin];
  const RelationImage& image = context.request.images[index];
  return shared_file_name(index, image.name, image.version);
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
  open.name = file_name(context, batch, number, file);
  const int leader = layout.leader_of(file);
  {
    const Stopwatch watch(out.times.metadata_ns);
    const std::string path = context.path(open.name);
    Result<SharedFile> made =
        context.options.backends.shared.create
            ? context.options.backends.shared.create(context.comm, context.store, path, settings)
            : create_through_store(context.comm, context.store, path, leader);
    STRATALOG_RETURN_IF_ERROR(agree(context.comm, made.status()));
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
  if (context.options.backends.shared.create) return write_batches(context, out);
  return write_striped(context.comm, context.store, striped_folder(context), out.notes,
                       [&] { return write_batches(context, out); });
}

}  // namespace stratalog
