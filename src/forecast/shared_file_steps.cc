// SPDX-License-Identifier: Apache-2.0
// Files that ranks share, of modes shared and hdf5-streams.
#include <algorithm>
#include <numeric>
#include <utility>

#include "encode/file_streams.h"
#include "forecast/save_step_list.h"
#include "place/shared_layout.h"
#include "place/write_edges.h"

namespace stratalog {
namespace {

// What deflate leaves of a stream's chunk of a number that is always the same.
constexpr std::uint64_t kLeastChunkBytes = 300;

class SharedFileSteps {
 public:
  explicit SharedFileSteps(SaveStepList& list) : list_(list) {}

  Status shared_files() {
    for (const SaveLayout::Batch& batch : list_.layout().batches()) {
      const std::vector<std::uint32_t> files = list_.open_group_files();
      // MPI-IO: one rank creates, then all open.
      list_.add(Phase::kMetadata, StepKind::kCreate, 0, files.size());
      list_.add(Phase::kMetadata, StepKind::kOpen, 0,
                static_cast<std::uint64_t>(list_.ranks()) - files.size());
      list_.agree(Phase::kMetadata, 2);
      std::vector<std::uint64_t> ends(files.size(), 0);
      for (std::size_t d = batch.begin; d < batch.end; ++d)
        STRATALOG_RETURN_IF_ERROR(shared_dataset(list_.question().facts.datasets[d], files, ends));
      list_.sync(Phase::kSync);
      list_.agree(Phase::kMetadata, 2);
    }
    return Status::ok();
  }

  // Tuples are walked twice, to count and to deflate; chunks that ranks have in common, and where
  // chunks lie, are passed on in three exchanges (checkpoint/stream_files.cc).
  Status stream_files() {
    for (const SaveLayout::Batch& batch : list_.layout().batches()) {
      const std::vector<std::uint32_t> files = list_.open_group_files();
      std::vector<std::uint64_t> packed(static_cast<std::size_t>(list_.ranks()), 0);
      std::uint64_t streams = 0;
      for (std::size_t d = batch.begin; d < batch.end; ++d) {
        const DatasetFacts& about = list_.question().facts.datasets[d];
        streams += (2 * static_cast<std::uint64_t>(about.columns)) - 1;
        for (std::size_t r = 0; r < packed.size(); ++r)
          packed[r] += about.rows_of_rank[r] * about.row_bytes();
      }
      list_.add(Phase::kPack, StepKind::kPack, *std::max_element(packed.begin(), packed.end()), 0);
      // Of each stream how many numbers, and the last key.
      list_.add(Phase::kRoute, StepKind::kExchange,
                static_cast<std::uint64_t>(list_.ranks()) * streams * 8, 1);
      list_.add(Phase::kMetadata, StepKind::kCreate, 0, files.size());
      list_.agree(Phase::kMetadata, 2);
      list_.add(Phase::kMetadata, StepKind::kOpen, 0,
                static_cast<std::uint64_t>(list_.ranks()) - files.size());
      std::vector<std::uint64_t> ends(files.size(), kStreamsBegin);
      for (std::size_t d = batch.begin; d < batch.end; ++d)
        STRATALOG_RETURN_IF_ERROR(shared_dataset(list_.question().facts.datasets[d], files, ends));
      // A rank's first numbers of each stream, half a chunk of it, to the owner of the chunk; then
      // where that one is; then all places to the file's first rank.
      list_.add(Phase::kRoute, StepKind::kExchange, streams * kFileStreamsChunk / 2 * 4, streams);
      list_.add(Phase::kRoute, StepKind::kExchange, streams * 40, streams);
      std::uint64_t bytes = 0;
      for (const std::uint64_t end : ends) bytes = std::max(bytes, end);
      list_.add(Phase::kRoute, StepKind::kExchange, bytes / kLeastChunkBytes * 16,
                static_cast<std::uint64_t>(list_.ranks()) / files.size());
      list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0, (1 + streams) * files.size());
      list_.sync(Phase::kSync);
      list_.agree(Phase::kMetadata, 2);
    }
    return Status::ok();
  }

 private:
  Status shared_dataset(const DatasetFacts& about, const std::vector<std::uint32_t>& files,
                        std::vector<std::uint64_t>& ends) {
    std::vector<std::uint64_t> left;
    left.reserve(about.rows_of_rank.size());
    for (const std::uint64_t rows : about.rows_of_rank)
      left.push_back(list_.encoded(rows * about.row_bytes()));
    std::vector<ShardExtents> shards(left.size());
    for (bool over = false; !over;) {
      std::vector<Transfer> pieces;
      std::uint64_t busiest = 0;
      over = true;
      for (std::uint32_t g = 0; g < files.size(); ++g) {
        std::vector<std::uint64_t> sizes(left.size(), 0);
        for (std::size_t r = 0; r < left.size(); ++r)
          if (list_.layout().file_of(static_cast<int>(r)) == g)
            sizes[r] = std::min(left[r], list_.question().stage_bytes);
        if (list_.plan().extent_alignment == 1) ends[g] = round_up_to(ends[g], kExtentAlignment);
        STRATALOG_ASSIGN_OR_RETURN(const RoundPlan plan,
                                   plan_round(ends[g], sizes, list_.plan().extent_alignment));
        for (std::size_t r = 0; r < left.size(); ++r) {
          if (sizes[r] == 0) continue;
          busiest = std::max(busiest, sizes[r]);
          left[r] -= sizes[r];
          over = over && left[r] == 0;
          pieces.push_back({.file = files[g],
                            .rank = static_cast<int>(r),
                            .offset = plan.offsets[r],
                            .bytes = sizes[r]});
          shards[r].push_back(pieces.back());
          // Tuned files have no holes within a round: what lies between is written, too.
          if (list_.mode() == CheckpointMode::kSharedOpt)
            pieces.back().bytes = std::min(plan.end, round_up_to(plan.offsets[r] + sizes[r],
                                                                 list_.plan().extent_alignment)) -
                                  plan.offsets[r];
        }
        ends[g] = plan.end;
      }
      if (pieces.empty()) break;
      const std::uint64_t raw =
          busiest * 1000 / std::max<std::uint64_t>(1, list_.question().facts.encoded_milli);
      list_.add(Phase::kPack, StepKind::kPack, raw, 0);
      // Of each tuple at least the gap to the one before: 32 bits of its columns' 64 each.
      if (stores_streams(list_.mode()))
        list_.add(Phase::kEncode, StepKind::kDeflate, raw / (2 * about.columns), 0);
      // The round's sizes, from everybody to everybody.
      list_.add(Phase::kWrite, StepKind::kExchange, static_cast<std::uint64_t>(list_.ranks()) * 16,
                1);
      if (stores_streams(list_.mode()))
        write_whole_blocks(std::move(pieces));
      else
        list_.write_together(pieces);
    }
    for (ShardExtents& shard : shards)
      if (!shard.empty()) list_.out().shards.push_back(std::move(shard));
    return Status::ok();
  }

  // A round of mode hdf5-streams: what does not fill a block goes to the rank that writes it.
  // `pieces`: of each file by rank, without holes where blocks matter.
  void write_whole_blocks(std::vector<Transfer> pieces) {
    if (list_.plan().edge_alignment <= 1) {
      list_.add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(pieces);
      return;
    }
    std::vector<Transfer> writes;
    std::vector<std::uint64_t> received(static_cast<std::size_t>(list_.ranks()), 0);
    const auto write = [&writes](const Transfer& one) {
      const bool goes_on = !writes.empty() && writes.back().file == one.file &&
                           writes.back().rank == one.rank &&
                           writes.back().offset + writes.back().bytes == one.offset;
      if (goes_on)
        writes.back().bytes += one.bytes;
      else if (one.bytes != 0)
        writes.push_back(one);
    };
    for (std::size_t first = 0, end = 0; first < pieces.size(); first = end) {
      std::vector<std::uint64_t> begins(received.size() + 1, 0);
      for (; end < pieces.size() && pieces[end].file == pieces[first].file; ++end)
        begins[static_cast<std::size_t>(pieces[end].rank) + 1] = pieces[end].bytes;
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      list_.split_at_edges(pieces[first].file, pieces[first].offset, begins,
                           [&](const Transfer& shipped, const Transfer& kept) {
                             write(shipped);
                             write(kept);
                             received[static_cast<std::size_t>(shipped.rank)] += shipped.bytes;
                           });
    }
    list_.add(Phase::kRoute, StepKind::kExchange,
              *std::max_element(received.begin(), received.end()),
              static_cast<std::uint64_t>(list_.ranks()));
    list_.add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(writes);
  }

  SaveStepList& list_;
};

}  // namespace

Status add_shared_files(SaveStepList& list) { return SharedFileSteps(list).shared_files(); }

Status add_stream_files(SaveStepList& list) { return SharedFileSteps(list).stream_files(); }

}  // namespace stratalog
