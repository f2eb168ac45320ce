// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/row_datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/memory_end.h"
#include "read/file_frame.h"

namespace stratalog {
namespace {

ColumnLabels labels_of(const SaveRequest& request, std::size_t image) {
  if (image < request.labels.size() && request.labels[image].size() == request.images[image].arity)
    return request.labels[image];
  ColumnLabels labels(request.images[image].arity);
  for (std::size_t c = 0; c < labels.size(); ++c) labels[c].name = fmt::format("column{}", c);
  return labels;
}

// This rank's extents: a run of rows, or the chunks that hold some of them.
std::vector<Extent> extents_of(const RowPlacement& placement, const DatasetPlan& plan,
                               std::uint64_t first_row, std::uint64_t rows,
                               std::uint64_t row_bytes) {
  if (plan.layout == DataLayout::kContiguous)
    return {{.offset = placement.file_offset + (first_row * row_bytes), .bytes = rows * row_bytes}};
  std::vector<Extent> extents;
  const std::uint64_t last = (first_row + rows - 1) / plan.chunk_rows;
  for (std::uint64_t c = first_row / plan.chunk_rows; c <= last; ++c)
    extents.push_back(
        {.offset = placement.chunks[c].file_offset, .bytes = placement.chunks[c].bytes});
  return extents;
}

}  // namespace

RowFileSettings RowFilePart::settings(const LayoutPlan& plan) const {
  return {.striping = plan.striping,
          .hints = plan.hints,
          .tuning = plan.tuning,
          .plans = plans,
          .group = group,
          .labels = labels};
}

RowDataset row_dataset(const SaveContext& context, std::size_t dataset, std::uint64_t rows) {
  const std::size_t index = context.layout.images[dataset];
  const RelationImage& image = context.request.images[index];
  const bool grows = part_of(context.request, index) == ImagePart::kGrowth;
  return {.name = fmt::format("{}.{}", image.name, version_name(image.version)),
          .relation = image.name,
          .version = std::string(version_name(image.version)),
          .part = grows ? "growth" : "whole",
          .rows = rows,
          .labels = labels_of(context.request, index),
          .columns = image.arity};
}

std::vector<RowFilePart> row_file_parts(const SaveContext& context) {
  const SaveLayout& layout = context.layout;
  const std::uint32_t file = layout.file_of(context.comm.rank());
  const std::vector<SaveLayout::Batch> batches = layout.batches();
  std::vector<RowFilePart> parts;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    RowFilePart part;
    part.name = row_file_name(b, batches.size(), file, layout.plan.files);
    part.labels = {.generation = generation_name(context.id),
                   .file = fmt::format("{} of {}", (b * layout.plan.files) + file + 1,
                                       batches.size() * layout.plan.files),
                   .builds_on = context.request.base};
    part.batch = batches[b];
    part.group = {.groups = layout.plan.files, .mine = file};
    part.leader = layout.leader_of(file);
    for (std::size_t d = batches[b].begin; d < batches[b].end; ++d) {
      std::vector<std::uint64_t> first = layout.first_rows(d, file);
      if (first.back() == 0) continue;
      part.indices.push_back(d);
      part.datasets.push_back(row_dataset(context, d, first.back()));
      DatasetPlan plan = layout.plan.datasets[d];
      plan.chunk_rows = std::min(plan.chunk_rows, first.back());
      part.plans.push_back(std::move(plan));
      part.first_rows.push_back(std::move(first));
    }
    if (part.datasets.empty()) part.group.mine = kNoGroup;
    parts.push_back(std::move(part));
  }
  return parts;
}

Status describe_file(const SaveContext& context, const std::string& file, std::vector<Extent> data,
                     LocalOutput& out) {
  const auto describe = [&context, &out, name = file](std::vector<Extent> extents) -> Status {
    const std::string path = context.path(name);
    STRATALOG_ASSIGN_OR_RETURN(const FileInfo info, context.store.info(path));
    STRATALOG_ASSIGN_OR_RETURN(const Hash128 frame,
                               hash_frame(context.store, path, std::move(extents)));
    out.file_lines += file_line({.name = name, .bytes = info.size_bytes, .frame = frame});
    out.bytes += info.size_bytes;
    ++out.files;
    return Status::ok();
  };
  if (context.overlap == OverlapWay::kNone) return describe(std::move(data));
  out.when_written.emplace_back([describe, data = std::move(data)] { return describe(data); });
  return Status::ok();
}

namespace {

Status describe_rows(const SaveContext& context, const RowFilePart& part,
                     const std::vector<WrittenShard>& shards,
                     const std::vector<RowPlacement>& placements, LocalOutput& out) {
  const auto rank = static_cast<std::size_t>(context.comm.rank());
  std::vector<Extent> data;
  for (std::size_t i = 0; i < part.datasets.size(); ++i) {
    const std::uint64_t row_bytes = 8ULL * part.datasets[i].columns;
    const std::vector<Extent> all =
        extents_of(placements[i], part.plans[i], 0, part.datasets[i].rows, row_bytes);
    data.insert(data.end(), all.begin(), all.end());
    if (shards[i].rows == 0) continue;
    ManifestShard shard;
    shard.relation = static_cast<std::uint32_t>(context.layout.images[part.indices[i]]);
    shard.rank = static_cast<std::uint32_t>(rank);
    shard.file = part.name;
    shard.rows = shards[i].rows;
    shard.groups = shards[i].groups;
    shard.pieces = shards[i].checksums;
    shard.zones = shards[i].zones;
    shard.blocks = shard.pieces.size();
    shard.piece_rows = shards[i].shape.unit_rows;
    if (part.plans[i].layout == DataLayout::kChunked) {
      shard.chunk_rows = part.plans[i].chunk_rows;
      shard.first_row = part.first_rows[i][rank];
    }
    shard.extents = extents_of(placements[i], part.plans[i], part.first_rows[i][rank],
                               shards[i].rows, row_bytes);
    out.shard_lines += shard_line(shard);
  }
  return context.comm.rank() == part.leader
             ? describe_file(context, part.name, std::move(data), out)
             : Status::ok();
}

}  // namespace

Status describe_row_file(const SaveContext& context, const RowFilePart& part,
                         const std::vector<WrittenShard>& shards,
                         const std::vector<RowPlacement>& placements, LocalOutput& out) {
  return or_no_space("not enough memory to describe a file of rows",
                     [&] { return describe_rows(context, part, shards, placements, out); });
}

Status pack_rows(const SaveContext& context, std::size_t image, const RowUnitShape& shape,
                 RowUnits::Sink sink, WrittenShard& shard, LocalOutput& out,
                 const SinkReads& reads) {
  const RelationImage& about = context.request.images[image];
  std::optional<RowUnits> units;
  Status status = or_no_space("not enough memory to pack rows", [&] {
    units.emplace(about, shape, context.nonce, shard_file_id(image, context.comm.rank()),
                  std::move(sink), reads.buffers);
    return units->run(out.times);
  });
  // Also after an error: the buffers go with `units`.
  if (reads.finish) {
    const Status finished = reads.finish();
    if (status.is_ok()) status = finished;
  }
  if (!status.is_ok()) return status;
  shard.rows = about.rows;
  shard.groups = units->groups();
  shard.shape = shape;
  shard.checksums = units->take_checksums();
  shard.zones = units->take_zones();
  out.groups += shard.groups;
  out.staging_bytes = std::max(out.staging_bytes, units->staging_bytes());
  return status;
}

}  // namespace stratalog
