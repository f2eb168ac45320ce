// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/auto_layout.h"

#include <algorithm>

#include "commit/staged_store.h"

namespace stratalog {

LayoutOption option_of(CheckpointMode mode, const LayoutWishes& wishes) {
  return {.mode = mode,
          .files = wishes.files,
          .aggregators = wishes.aggregators,
          .alignment = wishes.alignment,
          .relations_per_file = wishes.relations_per_file,
          .deflate_level = wishes.deflate_level};
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

LayoutWishes wishes_with(const LayoutOption& option, const LayoutWishes& wishes) {
  LayoutWishes all = wishes;
  all.mode = option.mode;
  all.files = option.files;
  const auto take = [](auto& wish, auto choice) { wish = wish == 0 ? choice : wish; };
  take(all.aggregators, option.aggregators);
  take(all.alignment, option.alignment);
  take(all.relations_per_file, option.relations_per_file);
  all.deflate_level = option.deflate_level;
  return all;
}

// Sums and maxima only, so that ranks that were given different lists still agree.
Result<AutoFacts> gather_auto_facts(Comm& comm, const JobFacts& job, const WriterOptions& options,
                                    const SaveRequest& request) {
  const bool has_rows = request.mode == CheckpointMode::kHdf5Auto;
  AutoFacts facts{.format = has_rows ? LearnedFormat::kRows : LearnedFormat::kEncoded,
                  .ranks = comm.size(),
                  .file_system = job.file_system,
                  .wished_files = options.layout.files,
                  .wished_aggregators = options.layout.aggregators,
                  .wished_alignment = options.layout.alignment,
                  .wished_relations = options.layout.relations_per_file,
                  .wished_deflate = options.layout.deflate_level};
  // "The better of the two, block by block" leaves it to us.
  if (request.encoding == ShardEncoding::kAuto && !has_rows) facts.coding = CodingWish::kFree;
  for (const int node : job.node_of_rank) facts.nodes = std::max(facts.nodes, node + 1);
  std::uint64_t bytes = 0;
  std::uint64_t images = 0;
  for (const RelationImage& image : request.images) {
    bytes += image.rows * 8 * image.arity;
    images += image.rows != 0 ? 1 : 0;
  }
  bytes = bytes / 1000 * encoded_milli(has_rows ? ShardEncoding::kRowsU64 : request.encoding);
  const std::uint64_t is_missing = options.backends.rows.create ? 0 : 1;
  std::uint64_t most[] = {bytes, images, is_missing};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(most, ReduceOp::kMax));
  std::uint64_t sums[] = {bytes};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(sums, ReduceOp::kSum));
  facts.bytes = sums[0];
  facts.largest_rank_bytes = most[0];
  facts.images = static_cast<std::uint32_t>(most[1]);
  facts.collective_hdf5 = most[2] == 0 ? CollectiveHdf5::kThere : CollectiveHdf5::kMissing;
  return facts;
}

MeasuredOn measured_on(const AutoFacts& facts, const WriterOptions& options,
                       const SaveRequest& request, const Store& store) {
  const bool is_staged = dynamic_cast<const StagedStore*>(&store) != nullptr;
  // One rank shares nothing, however it was started.
  const bool has_mpi =
      facts.ranks > 1 && (options.backends.shared.create || options.backends.rows.create);
  return {
      .format = facts.format,
      .ranks = static_cast<std::uint32_t>(facts.ranks),
      .nodes = static_cast<std::uint32_t>(facts.nodes),
      .file_system = facts.file_system.name,
      .durability = options.durability,
      .stage = is_staged ? StageUse::kStaged : StageUse::kDirect,
      .shared = has_mpi ? SharedWriting::kByMpi : SharedWriting::kByStore,
      .encoding = facts.format == LearnedFormat::kRows ? ShardEncoding::kRowsU64 : request.encoding,
      .aggregators = options.layout.aggregators,
      .alignment = options.layout.alignment,
      .relations_per_file = options.layout.relations_per_file};
}

}  // namespace stratalog
