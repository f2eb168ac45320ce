// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/save_plan.h"

#include <fmt/format.h>

#include <utility>

namespace stratalog {

namespace {

Status encode_batches(const BatchWalk& walk, ShardEncoder& encoder, PhaseTimes& times) {
  const std::uint64_t write_before = times.write_ns;
  const std::uint64_t start = working_ns();
  std::uint64_t encoding = 0;
  const Status walked = walk([&](const GroupBatch& batch) {
    const Stopwatch watch(encoding);
    return encoder.add(batch);
  });
  const std::uint64_t writing = times.write_ns - write_before;
  times.walk_ns += working_ns() - start - writing;
  times.encode_ns += encoding - writing;  // the encoder writes what it closes
  return walked;
}

// Feeds all groups of image `index` to `encoder`.
Status encode_image(const SaveRequest& request, std::size_t index, ShardEncoder& encoder,
                    PhaseTimes& times) {
  if (index < request.batch_walks.size() && request.batch_walks[index])
    return encode_batches(request.batch_walks[index], encoder, times);
  const RelationImage& image = request.images[index];
  if (!image.for_each_group) return Status::ok();
  SampledTime sample;
  const std::uint64_t write_before = times.write_ns;
  const std::uint64_t start = working_ns();
  const Status walked = image.for_each_group([&](const TupleGroup& group) {
    return sample.run(group.set.count, times.write_ns, [&] { return encoder.add(group); });
  });
  const std::uint64_t spent = working_ns() - start - (times.write_ns - write_before);
  times.walk_ns += spent;
  times.encode_ns += sample.total_ns() < spent ? sample.total_ns() : spent;
  return walked;
}

}  // namespace

Result<ShardSummary> pack_shard(const SaveContext& context, std::size_t index, ByteSink sink,
                                PhaseTimes& times) {
  const RelationImage& image = context.request.images[index];
  ShardEncoder encoder(shard_header(context, index, context.comm.rank()), image.column_order,
                       context.options.block_bytes, std::move(sink));
  STRATALOG_RETURN_IF_ERROR(encode_image(context.request, index, encoder, times));
  ShardSummary summary;
  if (!encoder.is_empty()) {
    STRATALOG_ASSIGN_OR_RETURN(summary, encoder.finish());
  }
  STRATALOG_RETURN_IF_ERROR(check_rows(image, summary.rows));
  return summary;
}

void append_extent(const Extent& bytes, std::vector<Extent>& extents) {
  if (!extents.empty() && extents.back().offset + extents.back().bytes == bytes.offset)
    extents.back().bytes += bytes.bytes;
  else
    extents.push_back(bytes);
}

Status check_rows(const RelationImage& image, std::uint64_t walked) {
  if (walked == image.rows) return Status::ok();
  return Status::internal(fmt::format("relation {} announced {} rows but handed out {}", image.name,
                                      image.rows, walked));
}

ShardHeader shard_header(const SaveContext& context, std::size_t image, int rank) {
  const RelationImage& about = context.request.images[image];
  return {.encoding = context.layout.encoding,
          .file_id = shard_file_id(image, rank),
          .nonce = context.nonce,
          .store = context.store_id,
          .arity = about.arity,
          .name = fmt::format("{}.{}", about.name, version_name(about.version))};
}

void note_shard(const SaveContext& context, std::size_t image, const ShardSummary& summary,
                const std::string& file, std::vector<Extent> extents, LocalOutput& out) {
  ManifestShard shard;
  shard.relation = static_cast<std::uint32_t>(image);
  shard.rank = static_cast<std::uint32_t>(context.comm.rank());
  shard.file = file;
  shard.rows = summary.rows;
  shard.groups = summary.groups;
  shard.blocks = summary.blocks;
  shard.hash = summary.hash;
  shard.streams_blocks = summary.streams_blocks;
  shard.run_pools = summary.run_pools;
  shard.zones = summary.zones;
  shard.extents = std::move(extents);
  out.shard_lines += shard_line(shard);
  out.groups += summary.groups;
}

}  // namespace stratalog
