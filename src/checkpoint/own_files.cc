// SPDX-License-Identifier: Apache-2.0
// File per process, and the section files of rank 0: each shard is one file that only its writer
// touches, fsynced once and closed (RA-checkpoint, section III: POSIX I/O; empty shards make no
// files). Several relations may share a file. What the store is asked for goes through the queue of
// the save. Local; no collectives.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "checkpoint/queued_file.h"
#include "checkpoint/save_plan.h"
#include "place/shared_layout.h"

namespace stratalog {
namespace {

// A new file that is filled from the front. A shard without groups makes none.
class OwnFile {
 public:
  OwnFile(const SaveContext& context, const std::string& name, SyncFiles sync, PhaseTimes& times)
      : file_(context, name, OpenMode::kCreateExclusive, sync), sync_(sync), times_(times) {}

  Status append(std::span<const std::byte> bytes) {
    const Stopwatch watch(times_.write_ns);
    STRATALOG_RETURN_IF_ERROR(file_.write(next_, bytes));
    next_ += bytes.size();
    return Status::ok();
  }

  Status finish() {
    const Stopwatch watch(times_.sync_ns);
    return file_.finish(sync_);
  }

  // Where the shard begins that is appended next, if anything is; bytes in between are zero.
  std::uint64_t begin_shard() {
    end_ = next_;
    next_ = (next_ + kExtentAlignment - 1) / kExtentAlignment * kExtentAlignment;
    return next_;
  }
  // The shard that was begun has no bytes.
  void drop_shard() { next_ = end_; }
  std::uint64_t size() const { return next_; }

 private:
  QueuedFile file_;
  SyncFiles sync_;
  PhaseTimes& times_;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;  // of the shard before
};

// Appends a shard to the file.
Status append_shard(const SaveContext& context, std::size_t index, const std::string& name,
                    OwnFile& file, LocalOutput& out) {
  const std::uint64_t begin = file.begin_shard();
  STRATALOG_ASSIGN_OR_RETURN(
      const ShardSummary summary,
      pack_shard(
          context, index, [&](std::span<const std::byte> bytes) { return file.append(bytes); },
          out.times));
  if (summary.bytes == 0) {
    file.drop_shard();
    return Status::ok();
  }
  note_shard(context, index, summary, name, {{.offset = begin, .bytes = summary.bytes}}, out);
  return Status::ok();
}

}  // namespace

Status write_own_files(const SaveContext& context, LocalOutput& out) {
  const std::vector<RelationImage>& images = context.request.images;
  const std::size_t wished = context.layout.plan.relations_per_file;
  const std::size_t step = wished == 0 ? std::max<std::size_t>(1, images.size()) : wished;
  const int rank = context.comm.rank();
  for (std::size_t begin = 0; begin < images.size(); begin += step) {
    const std::string name =
        step == 1 ? shard_file_name(begin, images[begin].name, images[begin].version, rank)
                  : own_batch_name(begin / step, rank);
    OwnFile file(context, name, context.sync_files(), out.times);
    for (std::size_t i = begin; i < std::min(begin + step, images.size()); ++i)
      if (images[i].arity != 0)
        STRATALOG_RETURN_IF_ERROR(append_shard(context, i, name, file, out));
    if (file.size() == 0) continue;
    STRATALOG_RETURN_IF_ERROR(file.finish());
    out.file_lines += file_line({.name = name, .bytes = file.size(), .frame = {}});
    out.bytes += file.size();
    ++out.files;
  }
  return Status::ok();
}

Status write_sections(const SaveContext& context, std::vector<ManifestSection>& sections,
                      LocalOutput& out) {
  const bool sync = context.options.durability != Durability::kNone &&
                    context.options.steps.includes(ProtocolStep::kSyncSections);
  for (std::size_t i = 0; i < context.request.sections.size(); ++i) {
    const NamedSection& section = context.request.sections[i];
    if (context.carried.sections[i]) {
      sections.push_back(*context.carried.sections[i]);
      continue;
    }
    ManifestSection entry;
    entry.name = section.name;
    entry.piece = section.piece;
    entry.file = section_file_name(i, section.name);
    OwnFile file(context, entry.file, sync ? SyncFiles::kYes : SyncFiles::kNo, out.times);
    const ShardHeader header{.encoding = ShardEncoding::kRaw,
                             .file_id = section_file_id(i),
                             .nonce = context.nonce,
                             .store = context.store_id,
                             .arity = 0,
                             .name = section.name};
    ShardEncoder encoder(header, {}, context.options.block_bytes,
                         [&](std::span<const std::byte> bytes) { return file.append(bytes); });
    STRATALOG_RETURN_IF_ERROR(encoder.add_raw(section.data));
    STRATALOG_ASSIGN_OR_RETURN(const ShardSummary summary, encoder.finish());
    STRATALOG_RETURN_IF_ERROR(file.finish());
    entry.bytes = section.data.size();
    entry.blocks = summary.blocks;
    entry.hash = summary.hash;
    out.file_lines += file_line({.name = entry.file, .bytes = summary.bytes, .frame = {}});
    out.bytes += summary.bytes;
    ++out.files;
    sections.push_back(std::move(entry));
  }
  return Status::ok();
}

}  // namespace stratalog
