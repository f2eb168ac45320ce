// SPDX-License-Identifier: Apache-2.0
// The steps of a restart, from where a forecast save put its shards.
#include <algorithm>
#include <numeric>
#include <set>

#include "forecast/save_steps.h"
#include "place/read_ranges.h"

namespace stratalog {
namespace {

// The bytes [begin, end) of a shard, wherever its extents lie.
void add_reads(const ShardExtents& shard, std::uint64_t begin, std::uint64_t end, int reader,
               std::vector<Transfer>& reads) {
  std::uint64_t at = 0;
  for (const Transfer& extent : shard) {
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + extent.bytes);
    if (from < to)
      reads.push_back({.file = extent.file,
                       .rank = reader,
                       .offset = extent.offset + from - at,
                       .bytes = to - from});
    at += extent.bytes;
  }
}

std::vector<Transfer> reads_of(const SaveForecast& saved, int readers, bool as_written) {
  std::vector<Transfer> reads;
  std::vector<std::uint64_t> bytes;
  for (const ShardExtents& shard : saved.shards) {
    bytes.push_back(0);
    for (const Transfer& extent : shard) bytes.back() += extent.bytes;
    if (as_written) add_reads(shard, 0, bytes.back(), shard.front().rank, reads);
  }
  for (int r = 0; r < readers && !as_written; ++r)
    for (const ShardRange& range : plan_read_ranges(bytes, readers, r))
      add_reads(saved.shards[range.shard], range.begin, range.end, r, reads);
  return reads;
}

}  // namespace

Steps forecast_restart(const SaveForecast& saved, int readers, ReadParts parts) {
  const bool as_written = parts == ReadParts::kAsWritten && readers == saved.steps.ranks;
  Steps steps{.ranks = readers,
              .files = saved.steps.files,
              .steps = {},
              .row_bytes = saved.steps.row_bytes};
  const auto add = [&](Phase phase, StepKind kind, std::uint64_t bytes, std::uint64_t count,
                       std::vector<Transfer> transfers = {}) {
    steps.steps.push_back({.phase = phase,
                           .kind = kind,
                           .bytes = bytes,
                           .count = count,
                           .transfers = std::move(transfers)});
  };
  // Rank 0 reads the manifest, the file that a save adds last, and tells everybody.
  const std::uint64_t manifest = saved.shards.size() * kShardLineBytes;
  add(Phase::kMetadata, StepKind::kOpen, 0, 1);
  add(Phase::kMetadata, StepKind::kRead, 0, 0,
      {{.file = static_cast<std::uint32_t>(steps.files.size() - 1),
        .rank = 0,
        .offset = 0,
        .bytes = manifest}});
  add(Phase::kMetadata, StepKind::kAgree, 0, 1);
  add(Phase::kMetadata, StepKind::kExchange, manifest, 0);
  std::vector<Transfer> reads = reads_of(saved, readers, as_written);
  std::set<std::pair<std::uint32_t, int>> opened;
  std::vector<std::uint64_t> read(static_cast<std::size_t>(readers), 0);
  for (const Transfer& one : reads) {
    opened.emplace(one.file, one.rank);
    read[static_cast<std::size_t>(one.rank)] += one.bytes;
  }
  add(Phase::kRead, StepKind::kOpen, 0, opened.size());
  add(Phase::kRead, StepKind::kRead, 0, 0, std::move(reads));
  if (!as_written)
    add(Phase::kRoute, StepKind::kExchange,
        read.empty() ? 0 : *std::max_element(read.begin(), read.end()),
        static_cast<std::uint64_t>(readers));
  add(Phase::kCommit, StepKind::kAgree, 0, 1);
  return steps;
}

}  // namespace stratalog
