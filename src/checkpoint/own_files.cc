// SPDX-License-Identifier: Apache-2.0
// File per process, and the section files of rank 0: each shard is one file that only its writer
// touches, fsynced once and closed (RA-checkpoint, section III: POSIX I/O; empty shards make no
// files). Local; no collectives.
#include <fmt/format.h>

#include "checkpoint/save_plan.h"
#include "write/patient_open.h"

namespace stratalog {
namespace {

// A new file that is filled from the front.
class OwnFile {
 public:
  OwnFile(Store& store, std::string path, PhaseTimes& times)
      : store_(store), path_(std::move(path)), times_(times) {}

  // Creates the file with the first bytes, so that a shard without groups makes none.
  Status append(std::span<const std::byte> bytes) {
    const Stopwatch watch(times_.write_ns);
    if (!file_) {
      STRATALOG_ASSIGN_OR_RETURN(file_, open_patiently(store_, path_, OpenMode::kCreateExclusive));
    }
    STRATALOG_RETURN_IF_ERROR(file_->write_at(size_, bytes));
    size_ += bytes.size();
    return Status::ok();
  }

  Status finish(SyncFiles sync) {
    const Stopwatch watch(times_.sync_ns);
    const Status synced = sync == SyncFiles::kYes ? file_->sync() : Status::ok();
    const Status closed = file_->close();
    return synced.is_ok() ? closed : synced;
  }

  std::uint64_t size() const { return size_; }

 private:
  Store& store_;
  std::string path_;
  PhaseTimes& times_;
  std::unique_ptr<File> file_;
  std::uint64_t size_ = 0;
};

Status write_image(const SaveContext& context, std::size_t index, LocalOutput& out) {
  const RelationImage& image = context.request.images[index];
  const int rank = context.comm.rank();
  const std::string name = shard_file_name(index, image.name, image.version, rank);
  OwnFile file(context.store, context.path(name), out.times);
  ShardEncoder encoder(shard_header(context, index, rank), image.column_order,
                       context.options.block_bytes,
                       [&](std::span<const std::byte> bytes) { return file.append(bytes); });
  STRATALOG_RETURN_IF_ERROR(encode_image(image, encoder, out.times));
  if (encoder.is_empty()) return check_rows(image, 0);
  STRATALOG_ASSIGN_OR_RETURN(const ShardSummary summary, encoder.finish());
  STRATALOG_RETURN_IF_ERROR(check_rows(image, summary.rows));
  STRATALOG_RETURN_IF_ERROR(file.finish(context.syncs_shards() ? SyncFiles::kYes : SyncFiles::kNo));
  ManifestShard shard;
  shard.relation = static_cast<std::uint32_t>(index);
  shard.rank = static_cast<std::uint32_t>(rank);
  shard.file = name;
  shard.rows = summary.rows;
  shard.groups = summary.groups;
  shard.blocks = summary.blocks;
  shard.hash = summary.hash;
  shard.extents = {{.offset = 0, .bytes = summary.bytes}};
  out.shard_lines += shard_line(shard);
  out.file_lines += file_line({.name = name, .bytes = summary.bytes, .frame = {}});
  out.bytes += summary.bytes;
  out.groups += summary.groups;
  ++out.files;
  return Status::ok();
}

}  // namespace

Status write_own_files(const SaveContext& context, LocalOutput& out) {
  for (std::size_t i = 0; i < context.request.images.size(); ++i)
    if (context.request.images[i].arity != 0)
      STRATALOG_RETURN_IF_ERROR(write_image(context, i, out));
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
    entry.file = section_file_name(i, section.name);
    OwnFile file(context.store, context.path(entry.file), out.times);
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
    STRATALOG_RETURN_IF_ERROR(file.finish(sync ? SyncFiles::kYes : SyncFiles::kNo));
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
