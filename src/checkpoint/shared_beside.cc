// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shared_beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory_end.h"
#include "checkpoint/group_file.h"
#include "place/shared_layout.h"

namespace stratalog {

SharedBeside::SharedBeside(const SaveContext& context, LocalOutput& out)
    : context_(context),
      out_(out),
      shards_(context.layout.images.size()),
      mine_(1 + context.layout.images.size(), 0) {
  const std::vector<SaveLayout::Batch> batches = context.layout.batches();
  const std::uint32_t group = context.layout.file_of(context.comm.rank());
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const std::string name = group_file_name(context, batches[b], b, group);
    files_.push_back(
        {.name = name,
         .batch = batches[b],
         .file = QueuedFile(context, name, OpenMode::kWriteExisting, context.sync_files())});
  }
}

bool SharedBeside::is_leader() const {
  const int rank = context_.comm.rank();
  return context_.layout.leader_of(context_.layout.file_of(rank)) == rank;
}

Status SharedBeside::create_files() {
  std::vector<std::string> names;
  names.reserve(files_.size());
  for (const GroupFile& file : files_) names.push_back(file.name);
  STRATALOG_RETURN_IF_ERROR(create_empty_files(context_, names, out_));
  const std::lock_guard guard(mutex_);
  may_begin_ = true;
  changed_.notify_all();
  return Status::ok();
}

bool SharedBeside::is_ready() const {
  const std::lock_guard guard(mutex_);
  return is_waiting_ || state_ != RankState::kGoesOn;
}

void SharedBeside::wait_until_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_waiting_ || state_ != RankState::kGoesOn; });
}

void SharedBeside::give_up() {
  const std::lock_guard guard(mutex_);
  is_given_up_ = true;
  changed_.notify_all();
}

// The state of a rank and, per dataset, the bytes that it has for it. While the thread waits, its
// stages stay as they are; when it has told its last round, it has none for the others.
void SharedBeside::meet() {
  {
    const std::lock_guard guard(mutex_);
    const bool has_stages = is_waiting_ && state_ != RankState::kFailed;
    mine_[0] = static_cast<std::uint64_t>(state_);
    for (std::size_t d = 0; d < shards_.size(); ++d)
      mine_[1 + d] = has_stages ? shards_[d].stage.size() : 0;
  }
  const Result<Received> all = context_.comm.allgather(std::as_bytes(std::span(mine_)));
  bool is_last = true;
  Status placed = all.status();
  if (placed.is_ok())
    placed = agree(context_.comm, or_no_space("not enough memory to place what is packed",
                                              [&] { return place(all.value().data, is_last); }));
  over_ = is_last || !placed.is_ok();
  const std::lock_guard guard(mutex_);
  answer_ = placed;
  is_waiting_ = false;
  changed_.notify_all();
}

// `told`: what each rank has. Where this rank's stages belong, and whether that was all.
Status SharedBeside::place(std::span<const std::byte> told, bool& is_last) {
  const std::size_t words = mine_.size();
  const auto ranks = static_cast<std::size_t>(context_.comm.size());
  std::vector<std::uint64_t> table(ranks * words);
  if (told.size() != table.size() * 8) return Status::internal("sizes of odd length");
  std::memcpy(table.data(), told.data(), told.size());
  for (std::size_t r = 0; r < ranks; ++r) {
    if (table[r * words] == static_cast<std::uint64_t>(RankState::kFailed))
      return Status::cancelled(fmt::format("rank {} failed", r));
    is_last &= table[r * words] == static_cast<std::uint64_t>(RankState::kDone);
  }
  const auto me = static_cast<std::size_t>(context_.comm.rank());
  const std::uint32_t group = context_.layout.file_of(context_.comm.rank());
  std::vector<std::uint64_t> offsets(shards_.size(), 0);
  std::vector<std::uint64_t> sizes(ranks);
  for (GroupFile& file : files_)
    for (std::size_t d = file.batch.begin; d < file.batch.end; ++d) {
      for (std::size_t r = 0; r < ranks; ++r)
        sizes[r] =
            context_.layout.file_of(static_cast<int>(r)) == group ? table[(r * words) + 1 + d] : 0;
      STRATALOG_ASSIGN_OR_RETURN(
          const RoundPlan plan, plan_round(file.end, sizes, context_.layout.plan.extent_alignment));
      offsets[d] = plan.offsets[me];
      file.end = plan.end;
    }
  // A thread that has told its last round may still be writing it.
  const std::lock_guard guard(mutex_);
  if (is_waiting_) offsets_ = std::move(offsets);
  return Status::ok();
}

Status SharedBeside::write() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return may_begin_ || is_given_up_; });
    if (is_given_up_) return Status::cancelled("the checkpoint was given up");
  }
  Status status = or_no_space("not enough memory to pack a shard", [&] { return pack_all(); });
  const Status last = round(status.is_ok() ? RankState::kDone : RankState::kFailed);
  if (status.is_ok()) status = last;
  out_.times.write_ns -= std::min(out_.times.write_ns, not_writing_ns_);
  STRATALOG_RETURN_IF_ERROR(status);
  for (const GroupFile& file : files_)
    for (std::size_t d = file.batch.begin; d < file.batch.end; ++d)
      if (shards_[d].summary.rows != 0)
        note_shard(context_, context_.layout.images[d], shards_[d].summary, file.name,
                   shards_[d].extents, out_);
  // Other ranks may need further rounds: how long the files are is known when all have ended.
  if (is_leader())
    out_.when_written.emplace_back([this] {
      for (const GroupFile& file : files_) {
        out_.file_lines += file_line({.name = file.name, .bytes = file.end, .frame = {}});
        out_.bytes += file.end;
        ++out_.files;
      }
      return Status::ok();
    });
  return Status::ok();
}

Status SharedBeside::pack_all() {
  for (; packed_ < shards_.size(); ++packed_) STRATALOG_RETURN_IF_ERROR(pack(packed_));
  return Status::ok();
}

Status SharedBeside::pack(std::size_t dataset) {
  const std::size_t index = context_.layout.images[dataset];
  const RelationImage& image = context_.request.images[index];
  ShardEncoder encoder(shard_header(context_, index, context_.comm.rank()), image.column_order,
                       context_.options.block_bytes,
                       [&](std::span<const std::byte> bytes) { return append(dataset, bytes); });
  STRATALOG_RETURN_IF_ERROR(encode_image(context_.request, index, encoder, out_.times));
  if (!encoder.is_empty()) {
    STRATALOG_ASSIGN_OR_RETURN(shards_[dataset].summary, encoder.finish());
  }
  return check_rows(image, shards_[dataset].summary.rows);
}

// The sink of the encoder.
Status SharedBeside::append(std::size_t dataset, std::span<const std::byte> bytes) {
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

// Waits for the callers to meet, and writes what is staged where it belongs.
Status SharedBeside::round(RankState state) {
  if (has_ended_) return Status::ok();
  const Stopwatch watch(out_.times.write_ns);
  {
    const Stopwatch waiting(not_writing_ns_);
    std::unique_lock lock(mutex_);
    state_ = state;
    is_waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_waiting_ || is_given_up_; });
    const Status answer = is_given_up_ ? Status::cancelled("the checkpoint was given up") : answer_;
    has_ended_ = !answer.is_ok();
    STRATALOG_RETURN_IF_ERROR(answer);
  }
  return state == RankState::kFailed ? Status::ok() : write_stage();
}

// File after file; one that gets nothing more is fsynced and closed at once.
Status SharedBeside::write_stage() {
  for (std::size_t f = finished_; f < files_.size(); ++f) {
    GroupFile& file = files_[f];
    for (std::size_t d = file.batch.begin; d < file.batch.end; ++d) {
      Shard& shard = shards_[d];
      if (shard.stage.empty()) continue;
      STRATALOG_RETURN_IF_ERROR(file.file.write(offsets_[d], shard.stage));
      if (!shard.extents.empty() &&
          shard.extents.back().offset + shard.extents.back().bytes == offsets_[d])
        shard.extents.back().bytes += shard.stage.size();
      else
        shard.extents.push_back({.offset = offsets_[d], .bytes = shard.stage.size()});
      shard.stage = {};
    }
    if (packed_ < file.batch.end) break;
    // Nobody else fsyncs a file that stays empty.
    if (is_leader()) STRATALOG_RETURN_IF_ERROR(file.file.open());
    const Stopwatch watch(out_.times.sync_ns);
    const Stopwatch syncing(not_writing_ns_);
    STRATALOG_RETURN_IF_ERROR(file.file.finish(context_.sync_files()));
    finished_ = f + 1;
  }
  staged_bytes_ = 0;
  return Status::ok();
}

}  // namespace stratalog
