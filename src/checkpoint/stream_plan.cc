// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/stream_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/memory_end.h"
#include "encode/file_streams.h"

namespace stratalog {
namespace {

// What a rank tells of a relation: numbers in each stream, and the last key.
std::size_t words_of(const RelationImage& image) { return file_stream_count(image.arity) + 1; }

Status count_numbers(const RelationImage& image, std::uint64_t block_tuples,
                     std::vector<std::uint64_t>& counts) {
  FileStreams<NumberCounter> streams(image.column_order, 0, block_tuples);
  if (image.rows != 0 && image.for_each_group)
    STRATALOG_RETURN_IF_ERROR(
        image.for_each_group([&](const TupleGroup& group) { return streams.add(group); }));
  streams.finish();
  STRATALOG_RETURN_IF_ERROR(check_rows(image, streams.rows()));
  for (std::size_t s = 0; s < streams.size(); ++s) counts.push_back(streams.stream(s).values());
  counts.push_back(streams.last_key());
  return Status::ok();
}

// The words of all relations of the part, of each rank of the group; nothing of other ranks.
Result<std::vector<std::vector<std::uint64_t>>> share_counts(const SaveContext& context,
                                                             std::span<const std::uint64_t> mine) {
  STRATALOG_ASSIGN_OR_RETURN(const Received all, context.comm.allgather(std::as_bytes(mine)));
  const std::uint32_t file = context.layout.file_of(context.comm.rank());
  std::vector<std::vector<std::uint64_t>> counts(all.counts.size());
  std::size_t at = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const std::size_t bytes = all.counts[r];
    if (context.layout.file_of(static_cast<int>(r)) == file) {
      if (bytes != mine.size_bytes()) return Status::internal("numbers of streams of odd length");
      counts[r].resize(mine.size());
      if (bytes != 0) std::memcpy(counts[r].data(), all.data.data() + at, bytes);
    }
    at += bytes;
  }
  return counts;
}

// Pure, but for who asks.
Result<std::vector<StreamPlan>> plans_of(const SaveContext& context, const RowFilePart& part,
                                         const std::vector<std::vector<std::uint64_t>>& counts) {
  const auto rank = static_cast<std::size_t>(context.comm.rank());
  std::vector<StreamPlan> plans;
  std::size_t at = 0;
  for (const std::size_t d : part.indices) {
    const std::size_t words = words_of(context.request.images[context.layout.images[d]]);
    StreamPlan plan;
    for (std::size_t s = 0; s + 1 < words; ++s) {
      std::vector<std::uint64_t> numbers(counts.size(), 0);
      std::uint64_t total = 0;
      for (std::size_t r = 0; r < counts.size(); ++r) {
        if (!counts[r].empty()) numbers[r] = counts[r][at + s];
        total += numbers[r];
      }
      STRATALOG_ASSIGN_OR_RETURN(
          ChunkOwners owners,
          ChunkOwners::plan(numbers,
                            std::clamp<std::uint64_t>(total, 1, numbers_a_chunk(context.options))));
      plan.streams.push_back(std::move(owners));
    }
    for (std::size_t r = 0; r < rank; ++r)
      if (!counts[r].empty() && counts[r][at] != 0)
        plan.key_before = static_cast<Cell>(counts[r][at + words - 1]);
    plans.push_back(std::move(plan));
    at += words;
  }
  return plans;
}

}  // namespace

std::uint64_t tuples_a_block(const WriterOptions& options) {
  return std::clamp<std::uint64_t>(options.block_bytes / 8, 1, kFileStreamsBlock);
}

std::uint64_t numbers_a_chunk(const WriterOptions& options) {
  return std::clamp<std::uint64_t>(options.block_bytes / 16, 1, kFileStreamsChunk);
}

std::string stream_name(std::size_t stream) {
  if (stream == 0) return "key";
  constexpr std::array kNames = {"count", "first", "gap"};
  const std::size_t level = (stream + 2) / 3;
  return level == 1 ? kNames[stream - 1] : fmt::format("{}{}", kNames[(stream - 1) % 3], level);
}

Result<std::vector<StreamPlan>> plan_streams(const SaveContext& context, const RowFilePart& part,
                                             LocalOutput& out) {
  std::vector<std::uint64_t> mine;
  {
    const Stopwatch watch(out.times.walk_ns);
    const Status counted = or_no_space("not enough memory to count numbers", [&] {
      for (const std::size_t d : part.indices)
        STRATALOG_RETURN_IF_ERROR(count_numbers(context.request.images[context.layout.images[d]],
                                                tuples_a_block(context.options), mine));
      return Status::ok();
    });
    STRATALOG_RETURN_IF_ERROR(agree(context.comm, counted));
  }
  const Stopwatch watch(out.times.metadata_ns);
  Result<std::vector<StreamPlan>> plans = std::vector<StreamPlan>();
  const auto counts = share_counts(context, mine);
  Status planned = counts.status();
  if (planned.is_ok())
    planned = or_no_space("not enough memory to plan streams", [&] {
      plans = plans_of(context, part, counts.value());
      return plans.status();
    });
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, planned));
  return plans;
}

}  // namespace stratalog
