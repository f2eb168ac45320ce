// SPDX-License-Identifier: Apache-2.0
// Mode shared where writing goes on beside the caller. All relations are packed into one stage of
// bounded size; when it is full, or all is packed, ranks tell each other how much they have for
// each relation, and each writes what belongs to it through the queue of the save. So the files
// grow in rounds as those of write_shared_files do, all relations in one round as long as they fit
// into the stage: a thread that packs needs the callers of all ranks once or twice. Collective.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory_end.h"
#include "checkpoint/group_file.h"
#include "checkpoint/growing_file.h"
#include "checkpoint/queued_file.h"
#include "checkpoint/save_plan.h"
#include "place/shared_layout.h"

namespace stratalog {
namespace {

class SharedRounds {
 public:
  SharedRounds(const SaveContext& context, LocalOutput& out)
      : context_(context),
        out_(out),
        group_(context.layout.file_of(context.comm.rank())),
        shards_(context.layout.images.size()),
        mine_(1 + shards_.size(), 0) {
    const std::vector<SaveLayout::Batch> batches = context.layout.batches();
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const std::string name = group_file_name(context, batches[b], b, group_);
      files_.push_back(
          {.name = name,
           .batch = batches[b],
           .file = QueuedFile(context, name, OpenMode::kWriteExisting, context.sync_files())});
    }
  }

  Status write() {
    STRATALOG_RETURN_IF_ERROR(create_files());
    Status status = or_no_space("not enough memory to pack a shard", [&] { return pack_all(); });
    // Other ranks may need further rounds.
    while (!over_) {
      const Status went = round(status.is_ok() ? RankState::kDone : RankState::kFailed);
      if (status.is_ok()) status = went;
    }
    out_.times.write_ns -= std::min(out_.times.write_ns, synced_ns_);
    STRATALOG_RETURN_IF_ERROR(status);
    describe();
    return Status::ok();
  }

 private:
  using RankState = GrowingFile::RankState;
  // A file of this rank's group.
  struct GroupFile {
    std::string name;
    SaveLayout::Batch batch;
    QueuedFile file;
    std::uint64_t end = 0;
  };
  // One relation version.
  struct Shard {
    Bytes stage;  // of the round
    std::uint64_t offset = 0;  // where that belongs
    std::vector<Extent> extents;
    ShardSummary summary;
  };

  bool is_leader() const { return context_.layout.leader_of(group_) == context_.comm.rank(); }

  // Collective.
  Status create_files() {
    const Stopwatch watch(out_.times.metadata_ns);
    std::vector<std::string> names;
    names.reserve(files_.size());
    for (const GroupFile& file : files_) names.push_back(file.name);
    return create_empty_files(context_, names, out_);
  }

  // Collective when the stage is full, as all that packs.
  Status pack_all() {
    for (; packed_ < shards_.size(); ++packed_) STRATALOG_RETURN_IF_ERROR(pack(packed_));
    return Status::ok();
  }

  Status pack(std::size_t dataset) {
    STRATALOG_ASSIGN_OR_RETURN(
        shards_[dataset].summary,
        pack_shard(
            context_, context_.layout.images[dataset],
            [&](std::span<const std::byte> bytes) { return append(dataset, bytes); }, out_.times));
    return Status::ok();
  }

  // The sink of the encoder.
  Status append(std::size_t dataset, std::span<const std::byte> bytes) {
    const std::uint64_t most = context_.round_bytes();
    while (!bytes.empty()) {
      const std::size_t piece = std::min<std::uint64_t>(bytes.size(), most - staged_bytes_);
      Bytes& stage = shards_[dataset].stage;
      stage.insert(stage.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(piece));
      staged_bytes_ += piece;
      out_.staging_bytes = std::max(out_.staging_bytes, staged_bytes_);
      bytes = bytes.subspan(piece);
      if (staged_bytes_ == most) STRATALOG_RETURN_IF_ERROR(round(RankState::kGoesOn));
    }
    return Status::ok();
  }

  // What is staged goes where it belongs. Collective; this rank's own verdict, or Cancelled where
  // another rank failed.
  Status round(RankState state) {
    const Stopwatch watch(out_.times.write_ns);
    mine_[0] = static_cast<std::uint64_t>(state);
    for (std::size_t d = 0; d < shards_.size(); ++d)
      mine_[1 + d] = state == RankState::kFailed ? 0 : shards_[d].stage.size();
    const Result<Received> all = context_.comm.allgather(std::as_bytes(std::span(mine_)));
    if (!all.is_ok()) {
      over_ = true;
      return all.status();
    }
    // Want of memory must not keep this rank from the next round.
    return or_no_space("not enough memory to write what is packed", [&]() -> Status {
      STRATALOG_RETURN_IF_ERROR(place(all.value().data));
      return state == RankState::kFailed ? Status::ok() : write_stage();
    });
  }

  // `told`: what each rank has. Where this rank's stages belong, and whether that was all.
  Status place(std::span<const std::byte> told) {
    const std::size_t words = mine_.size();
    const auto ranks = static_cast<std::size_t>(context_.comm.size());
    const auto word = [&](std::size_t rank, std::size_t at) {
      std::uint64_t value = 0;
      std::memcpy(&value, told.data() + (((rank * words) + at) * sizeof(value)), sizeof(value));
      return value;
    };
    over_ = true;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (word(r, 0) == static_cast<std::uint64_t>(RankState::kFailed)) {
        over_ = true;
        return Status::cancelled(fmt::format("rank {} failed", r));
      }
      over_ = over_ && word(r, 0) == static_cast<std::uint64_t>(RankState::kDone);
    }
    std::vector<std::uint64_t> sizes(ranks);
    for (GroupFile& file : files_)
      for (std::size_t d = file.batch.begin; d < file.batch.end; ++d) {
        for (std::size_t r = 0; r < ranks; ++r)
          sizes[r] = context_.layout.file_of(static_cast<int>(r)) == group_ ? word(r, 1 + d) : 0;
        STRATALOG_ASSIGN_OR_RETURN(
            const RoundPlan plan,
            plan_round(file.end, sizes, context_.layout.plan.extent_alignment));
        shards_[d].offset = plan.offsets[static_cast<std::size_t>(context_.comm.rank())];
        file.end = plan.end;
      }
    return Status::ok();
  }

  // File after file; one that gets nothing more of this rank is fsynced and closed at once.
  Status write_stage() {
    for (std::size_t f = finished_; f < files_.size(); ++f) {
      GroupFile& file = files_[f];
      for (std::size_t d = file.batch.begin; d < file.batch.end; ++d) {
        Shard& shard = shards_[d];
        if (shard.stage.empty()) continue;
        STRATALOG_RETURN_IF_ERROR(file.file.write(shard.offset, shard.stage));
        append_extent({.offset = shard.offset, .bytes = shard.stage.size()}, shard.extents);
        shard.stage = {};
      }
      if (packed_ < file.batch.end) break;
      // Nobody else fsyncs a file that stays empty.
      if (is_leader()) STRATALOG_RETURN_IF_ERROR(file.file.open());
      const Stopwatch watch(out_.times.sync_ns);
      const Stopwatch syncing(synced_ns_);
      STRATALOG_RETURN_IF_ERROR(file.file.finish(context_.sync_files()));
      finished_ = f + 1;
    }
    staged_bytes_ = 0;
    return Status::ok();
  }

  void describe() {
    for (const GroupFile& file : files_) {
      for (std::size_t d = file.batch.begin; d < file.batch.end; ++d)
        if (shards_[d].summary.rows != 0)
          note_shard(context_, context_.layout.images[d], shards_[d].summary, file.name,
                     shards_[d].extents, out_);
      if (!is_leader()) continue;
      out_.file_lines += file_line({.name = file.name, .bytes = file.end, .frame = {}});
      out_.bytes += file.end;
      ++out_.files;
    }
  }

  const SaveContext& context_;
  LocalOutput& out_;
  std::uint32_t group_;
  std::vector<GroupFile> files_;
  std::vector<Shard> shards_;  // per dataset of the layout
  std::vector<std::uint64_t> mine_;  // what this rank tells: its state, and bytes for each dataset
  std::size_t packed_ = 0;  // so many datasets are packed completely
  std::size_t finished_ = 0;  // so many files are written completely
  std::uint64_t staged_bytes_ = 0;
  std::uint64_t synced_ns_ = 0;  // of what rounds took
  bool over_ = false;
};

}  // namespace

Status write_shared_in_rounds(const SaveContext& context, LocalOutput& out) {
  return SharedRounds(context, out).write();
}

}  // namespace stratalog
