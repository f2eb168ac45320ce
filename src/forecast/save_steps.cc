// SPDX-License-Identifier: Apache-2.0
#include "forecast/save_steps.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "checkpoint/row_units.h"
#include "checkpoint/save_layout.h"
#include "encode/file_streams.h"
#include "forecast/collective_write.h"
#include "place/shared_layout.h"
#include "place/write_edges.h"
#include "policy/plan_layout.h"
#include "policy/thresholds.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kHdf5HeaderBytes = 2048;
// A chunk's entry in the list that all writers of a deflated data set exchange.
constexpr std::uint64_t kChunkEntryBytes = 48;
// What deflate leaves of a stream's chunk of a number that is always the same.
constexpr std::uint64_t kLeastChunkBytes = 300;

SaveLayout layout_of(const SaveQuestion& question, const LayoutPlan& plan) {
  SaveLayout layout{.facts = question.facts, .plan = plan, .images = {}};
  layout.images.resize(question.facts.datasets.size());
  std::iota(layout.images.begin(), layout.images.end(), std::size_t{0});
  return layout;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Makes the steps of one checkpoint, file after file.
class SaveSteps {
 public:
  SaveSteps(const SaveQuestion& question, const Machine& machine, LayoutPlan plan)
      : question_(question), layout_(layout_of(question, plan)), machine_(machine) {
    out_.plan = std::move(plan);
    out_.steps.ranks = question.facts.ranks;
    for (const DatasetFacts& dataset : question.facts.datasets)
      out_.steps.row_bytes += dataset.rows() * dataset.row_bytes();
  }

  Result<SaveForecast> run() {
    // Everybody tells its row counts, and the directory is made.
    if (mode() != CheckpointMode::kFilePerProcess)
      add(Phase::kMetadata, StepKind::kExchange,
          question_.facts.datasets.size() * 8 * static_cast<std::uint64_t>(ranks()), 1);
    add(Phase::kCommit, StepKind::kCreate, 0, 1);
    add(Phase::kCommit, StepKind::kAgree, 0, 2);
    switch (format_of(mode())) {
      case CheckpointMode::kFilePerProcess:
        own_files();
        break;
      case CheckpointMode::kShared:
        STRATALOG_RETURN_IF_ERROR(shared_files());
        break;
      case CheckpointMode::kHdf5Streams:
        set_stripes();
        STRATALOG_RETURN_IF_ERROR(stream_files());
        set_stripes();
        break;
      default:
        set_stripes();
        row_files();
        set_stripes();
        break;
    }
    commit();
    return std::move(out_);
  }

 private:
  CheckpointMode mode() const { return layout_.plan.mode; }
  int ranks() const { return question_.facts.ranks; }

  Step& add(Phase phase, StepKind kind, std::uint64_t bytes, std::uint64_t count) {
    Step step;
    step.phase = phase;
    step.kind = kind;
    step.bytes = bytes;
    step.count = count;
    out_.steps.steps.push_back(std::move(step));
    return out_.steps.steps.back();
  }
  void agree(Phase phase, std::uint64_t count = 1) { add(phase, StepKind::kAgree, 0, count); }
  void sync(Phase phase) {
    if (question_.sync == SyncFiles::kYes) add(phase, StepKind::kSync, 0, 1);
  }

  // Whether files are created by ordinary calls, and not by MPI-IO with hints.
  bool one_rank_creates() const {
    return stores_streams(mode()) ||
           (stores_rows(mode()) && layout_.plan.creation != FileCreation::kCollective);
  }

  // Before the first file, and back before the manifest.
  void set_stripes() {
    if (layout_.plan.striping.stripe_count != 0 && one_rank_creates() &&
        question_.lfs == LfsProgram::kThere)
      add(Phase::kMetadata, StepKind::kSetStripes, 0, 1);
  }

  std::uint32_t add_file() {
    const StripingPlan& striping = layout_.plan.striping;
    const bool is_set = question_.lfs == LfsProgram::kThere || !one_rank_creates();
    out_.steps.files.push_back(
        is_set ? FileStripes{.count = striping.stripe_count, .bytes = striping.stripe_bytes}
               : FileStripes{});
    return static_cast<std::uint32_t>(out_.steps.files.size() - 1);
  }

  std::uint64_t encoded(std::uint64_t row_bytes) const {
    return row_bytes * question_.facts.encoded_milli / 1000;
  }

  // A file for each rank and batch of relations; nobody waits for anybody.
  void own_files() {
    std::vector<std::uint64_t> packed(static_cast<std::size_t>(ranks()), 0);
    std::vector<Transfer> writes;
    std::uint64_t files = 0;
    for (const SaveLayout::Batch& batch : layout_.batches())
      for (int r = 0; r < ranks(); ++r) {
        std::uint64_t at = 0;
        for (std::size_t d = batch.begin; d < batch.end; ++d) {
          const DatasetFacts& about = question_.facts.datasets[d];
          const std::uint64_t bytes =
              about.rows_of_rank[static_cast<std::size_t>(r)] * about.row_bytes();
          if (bytes == 0) continue;
          if (at == 0) {
            out_.steps.files.push_back({});
            ++files;
          }
          packed[static_cast<std::size_t>(r)] += bytes;
          writes.push_back({.file = static_cast<std::uint32_t>(out_.steps.files.size() - 1),
                            .rank = r,
                            .offset = round_up(at, kExtentAlignment),
                            .bytes = encoded(bytes)});
          at = writes.back().offset + writes.back().bytes;
          out_.shards.push_back({writes.back()});
        }
      }
    add(Phase::kMetadata, StepKind::kCreate, 0, files);
    add(Phase::kPack, StepKind::kPack, *std::max_element(packed.begin(), packed.end()), 0);
    add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(writes);
    sync(Phase::kSync);
  }

  // Files of one batch, one for each group of ranks; index is the group.
  std::vector<std::uint32_t> open_group_files() {
    std::vector<std::uint32_t> files;
    files.reserve(layout_.plan.files);
    for (std::uint32_t g = 0; g < layout_.plan.files; ++g) files.push_back(add_file());
    return files;
  }

  Status shared_files() {
    for (const SaveLayout::Batch& batch : layout_.batches()) {
      const std::vector<std::uint32_t> files = open_group_files();
      // MPI-IO: one rank creates, then all open.
      add(Phase::kMetadata, StepKind::kCreate, 0, files.size());
      add(Phase::kMetadata, StepKind::kOpen, 0, static_cast<std::uint64_t>(ranks()) - files.size());
      agree(Phase::kMetadata, 2);
      std::vector<std::uint64_t> ends(files.size(), 0);
      for (std::size_t d = batch.begin; d < batch.end; ++d)
        STRATALOG_RETURN_IF_ERROR(shared_dataset(question_.facts.datasets[d], files, ends));
      sync(Phase::kSync);
      agree(Phase::kMetadata, 2);
    }
    return Status::ok();
  }

  // Tuples are walked twice, to count and to deflate; chunks that ranks have in common, and where
  // chunks lie, are passed on in three exchanges (checkpoint/stream_files.cc).
  Status stream_files() {
    for (const SaveLayout::Batch& batch : layout_.batches()) {
      const std::vector<std::uint32_t> files = open_group_files();
      std::vector<std::uint64_t> packed(static_cast<std::size_t>(ranks()), 0);
      std::uint64_t streams = 0;
      for (std::size_t d = batch.begin; d < batch.end; ++d) {
        const DatasetFacts& about = question_.facts.datasets[d];
        streams += (2 * static_cast<std::uint64_t>(about.columns)) - 1;
        for (std::size_t r = 0; r < packed.size(); ++r)
          packed[r] += about.rows_of_rank[r] * about.row_bytes();
      }
      add(Phase::kPack, StepKind::kPack, *std::max_element(packed.begin(), packed.end()), 0);
      // Of each stream how many numbers, and the last key.
      add(Phase::kRoute, StepKind::kExchange, static_cast<std::uint64_t>(ranks()) * streams * 8, 1);
      add(Phase::kMetadata, StepKind::kCreate, 0, files.size());
      agree(Phase::kMetadata, 2);
      add(Phase::kMetadata, StepKind::kOpen, 0, static_cast<std::uint64_t>(ranks()) - files.size());
      std::vector<std::uint64_t> ends(files.size(), kStreamsBegin);
      for (std::size_t d = batch.begin; d < batch.end; ++d)
        STRATALOG_RETURN_IF_ERROR(shared_dataset(question_.facts.datasets[d], files, ends));
      // A rank's first numbers of each stream, half a chunk of it, to the owner of the chunk; then
      // where that one is; then all places to the file's first rank.
      add(Phase::kRoute, StepKind::kExchange, streams * kFileStreamsChunk / 2 * 4, streams);
      add(Phase::kRoute, StepKind::kExchange, streams * 40, streams);
      std::uint64_t bytes = 0;
      for (const std::uint64_t end : ends) bytes = std::max(bytes, end);
      add(Phase::kRoute, StepKind::kExchange, bytes / kLeastChunkBytes * 16,
          static_cast<std::uint64_t>(ranks()) / files.size());
      add(Phase::kMetadata, StepKind::kSmallRequests, 0, (1 + streams) * files.size());
      sync(Phase::kSync);
      agree(Phase::kMetadata, 2);
    }
    return Status::ok();
  }

  Status shared_dataset(const DatasetFacts& about, const std::vector<std::uint32_t>& files,
                        std::vector<std::uint64_t>& ends) {
    std::vector<std::uint64_t> left;
    left.reserve(about.rows_of_rank.size());
    for (const std::uint64_t rows : about.rows_of_rank)
      left.push_back(encoded(rows * about.row_bytes()));
    std::vector<ShardExtents> shards(left.size());
    for (bool over = false; !over;) {
      std::vector<Transfer> pieces;
      std::uint64_t busiest = 0;
      over = true;
      for (std::uint32_t g = 0; g < files.size(); ++g) {
        std::vector<std::uint64_t> sizes(left.size(), 0);
        for (std::size_t r = 0; r < left.size(); ++r)
          if (layout_.file_of(static_cast<int>(r)) == g)
            sizes[r] = std::min(left[r], question_.stage_bytes);
        if (layout_.plan.extent_alignment == 1) ends[g] = round_up(ends[g], kExtentAlignment);
        STRATALOG_ASSIGN_OR_RETURN(const RoundPlan plan,
                                   plan_round(ends[g], sizes, layout_.plan.extent_alignment));
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
          if (mode() == CheckpointMode::kSharedOpt)
            pieces.back().bytes = std::min(plan.end, round_up(plan.offsets[r] + sizes[r],
                                                              layout_.plan.extent_alignment)) -
                                  plan.offsets[r];
        }
        ends[g] = plan.end;
      }
      if (pieces.empty()) break;
      const std::uint64_t raw =
          busiest * 1000 / std::max<std::uint64_t>(1, question_.facts.encoded_milli);
      add(Phase::kPack, StepKind::kPack, raw, 0);
      // Of each tuple at least the gap to the one before: 32 bits of its columns' 64 each.
      if (stores_streams(mode()))
        add(Phase::kEncode, StepKind::kDeflate, raw / (2 * about.columns), 0);
      // The round's sizes, from everybody to everybody.
      add(Phase::kWrite, StepKind::kExchange, static_cast<std::uint64_t>(ranks()) * 16, 1);
      if (stores_streams(mode()))
        write_whole_blocks(std::move(pieces));
      else
        write_together(pieces);
    }
    for (ShardExtents& shard : shards)
      if (!shard.empty()) out_.shards.push_back(std::move(shard));
    return Status::ok();
  }

  // What lies from `offset` on in a file, begins[r] bytes further what rank r has: calls
  // visit(shipped, kept) for each rank that has bytes, with what another rank writes of them.
  template <typename Visit>
  void split_at_edges(std::uint32_t file, std::uint64_t offset,
                      const std::vector<std::uint64_t>& begins, Visit&& visit) const {
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      const std::uint64_t bytes = begins[r + 1] - begins[r];
      if (bytes == 0) continue;
      const auto rank = static_cast<int>(r);
      const WriteEdge edge = plan_write_edge(
          begins, rank, {.offset = offset, .alignment = layout_.plan.edge_alignment});
      const std::uint64_t at = offset + begins[r];
      visit(Transfer{.file = file, .rank = edge.writer, .offset = at, .bytes = edge.shipped_bytes},
            Transfer{.file = file,
                     .rank = rank,
                     .offset = at + edge.shipped_bytes,
                     .bytes = bytes - edge.shipped_bytes});
    }
  }

  // A round of mode hdf5-streams: what does not fill a block goes to the rank that writes it.
  // `pieces`: of each file by rank, without holes where blocks matter.
  void write_whole_blocks(std::vector<Transfer> pieces) {
    if (layout_.plan.edge_alignment <= 1) {
      add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(pieces);
      return;
    }
    std::vector<Transfer> writes;
    std::vector<std::uint64_t> received(static_cast<std::size_t>(ranks()), 0);
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
      split_at_edges(pieces[first].file, pieces[first].offset, begins,
                     [&](const Transfer& shipped, const Transfer& kept) {
                       write(shipped);
                       write(kept);
                       received[static_cast<std::size_t>(shipped.rank)] += shipped.bytes;
                     });
    }
    add(Phase::kRoute, StepKind::kExchange, *std::max_element(received.begin(), received.end()),
        static_cast<std::uint64_t>(ranks()));
    add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(writes);
  }

  void write_together(const std::vector<Transfer>& pieces) {
    CollectiveWrite write = plan_collective_write(pieces, out_.steps.files, layout_, machine_);
    add(Phase::kWrite, StepKind::kExchange, write.busiest_bytes, write.messages);
    add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(write.transfers);
    out_.aggregators = std::max(out_.aggregators, write.aggregators);
  }

  // ---- HDF5 ----

  void row_files() {
    for (const SaveLayout::Batch& batch : layout_.batches()) {
      const std::vector<std::uint32_t> files = open_group_files();
      const std::uint64_t datasets = batch.end - batch.begin;
      create_row_files(files.size(), datasets);
      std::vector<std::uint64_t> ends(files.size(), kHdf5HeaderBytes);
      for (std::size_t d = batch.begin; d < batch.end; ++d) row_dataset(d, files, ends);
      // Closing: the end of the file is agreed on, and its header written.
      if (layout_.plan.creation != FileCreation::kRankZeroLaysOut) {
        agree(Phase::kMetadata, 2 + datasets);
        add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1 + datasets);
      }
      sync(Phase::kSync);
      agree(Phase::kMetadata, 2);
    }
  }

  void create_row_files(std::uint64_t files, std::uint64_t datasets) {
    const auto openers = static_cast<std::uint64_t>(ranks());
    add(Phase::kMetadata, StepKind::kCreate, 0, files);
    switch (layout_.plan.creation) {
      case FileCreation::kRankZeroOnly:
        return;
      case FileCreation::kCollective:
        add(Phase::kMetadata, StepKind::kOpen, 0, openers - files);
        agree(Phase::kMetadata, 2 + (2 * datasets));
        return;
      case FileCreation::kRankZeroLaysOut:
        add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1 + datasets);
        agree(Phase::kMetadata, 3);
        add(Phase::kMetadata, StepKind::kOpen, 0, openers - files);
        return;
      case FileCreation::kByRankZero:
        add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1 + datasets);
        agree(Phase::kMetadata, 2);
        add(Phase::kMetadata, StepKind::kOpen, 0, openers);
        // Every rank reads the file's and the data sets' headers, all from the first stripe.
        const double reads = machine_.hdf5_file_reads +
                             (static_cast<double>(datasets) * machine_.hdf5_dataset_reads);
        add(Phase::kMetadata, StepKind::kSmallRequests, 0,
            static_cast<std::uint64_t>(reads * static_cast<double>(openers)));
        return;
    }
  }

  // One data set in the files of all groups. `ends`: of each file so far.
  struct RowPart {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::vector<std::uint64_t> first_rows;
  };

  void row_dataset(std::size_t d, const std::vector<std::uint32_t>& files,
                   std::vector<std::uint64_t>& ends) {
    const DatasetFacts& about = question_.facts.datasets[d];
    const RowFileTuning& tuning = layout_.plan.tuning;
    std::vector<RowPart> parts;
    for (std::uint32_t g = 0; g < files.size(); ++g) {
      RowPart part{.file = files[g], .offset = ends[g], .first_rows = layout_.first_rows(d, g)};
      const std::uint64_t bytes = deflated(d, part.first_rows.back() * about.row_bytes());
      if (bytes == 0) continue;
      if (tuning.alignment > 1 && bytes >= tuning.align_from)
        part.offset = round_up(part.offset, tuning.alignment);
      ends[g] = part.offset + bytes;
      for (std::size_t r = 0; r + 1 < part.first_rows.size(); ++r)
        if (part.first_rows[r + 1] > part.first_rows[r])
          out_.shards.push_back({rows_at(part, d, r, part.first_rows[r], part.first_rows[r + 1])});
      parts.push_back(std::move(part));
    }
    switch (layout_.plan.creation) {
      case FileCreation::kRankZeroOnly:
        for (const RowPart& part : parts) gather(part, d);
        return;
      case FileCreation::kRankZeroLaysOut:
        write_directly(parts, d);
        return;
      default:
        write_rounds(parts, d);
        return;
    }
  }

  bool is_chunked(std::size_t d) const {
    return layout_.plan.datasets[d].layout == DataLayout::kChunked;
  }
  std::uint64_t deflated(std::size_t d, std::uint64_t bytes) const {
    if (!is_chunked(d)) return bytes;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) / machine_.deflate_ratio);
  }
  Transfer rows_at(const RowPart& part, std::size_t d, std::size_t rank, std::uint64_t first,
                   std::uint64_t end) const {
    const std::uint64_t row_bytes = question_.facts.datasets[d].row_bytes();
    const std::uint64_t begin = deflated(d, first * row_bytes);
    return {.file = part.file,
            .rank = static_cast<int>(rank),
            .offset = part.offset + begin,
            .bytes = deflated(d, end * row_bytes) - begin};
  }

  // O1: rank 0 collects and writes.
  void gather(const RowPart& part, std::size_t d) {
    const std::uint64_t row_bytes = question_.facts.datasets[d].row_bytes();
    const std::uint64_t bytes = part.first_rows.back() * row_bytes;
    std::uint64_t busiest = 0;
    for (std::size_t r = 0; r + 1 < part.first_rows.size(); ++r)
      busiest = std::max(busiest, (part.first_rows[r + 1] - part.first_rows[r]) * row_bytes);
    add(Phase::kPack, StepKind::kPack, busiest, 0);
    add(Phase::kRoute, StepKind::kExchange, bytes, static_cast<std::uint64_t>(ranks()));
    add(Phase::kWrite, StepKind::kWrite, 0, 0)
        .transfers.push_back({.file = part.file, .rank = 0, .offset = part.offset, .bytes = bytes});
  }

  void write_directly(const std::vector<RowPart>& parts, std::size_t d) {
    const std::uint64_t row_bytes = question_.facts.datasets[d].row_bytes();
    std::vector<Transfer> writes;
    std::uint64_t busiest = 0;
    std::uint64_t shipped = 0;
    for (const RowPart& part : parts) {
      std::vector<std::uint64_t> begins;
      begins.reserve(part.first_rows.size());
      for (const std::uint64_t row : part.first_rows) begins.push_back(row * row_bytes);
      split_at_edges(part.file, part.offset, begins,
                     [&](const Transfer& head, const Transfer& kept) {
                       busiest = std::max(busiest, head.bytes + kept.bytes);
                       shipped = std::max(shipped, head.bytes);
                       if (head.bytes != 0) writes.push_back(head);
                       if (kept.bytes != 0) writes.push_back(kept);
                     });
    }
    add(Phase::kPack, StepKind::kPack, busiest, 0);
    if (layout_.plan.edge_alignment > 1)
      add(Phase::kRoute, StepKind::kExchange, shipped, static_cast<std::uint64_t>(ranks()));
    add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(writes);
  }

  // Collective hyperslabs: round after round, phase after phase.
  void write_rounds(const std::vector<RowPart>& parts, std::size_t d) {
    const DatasetPlan& plan = layout_.plan.datasets[d];
    const DatasetFacts& about = question_.facts.datasets[d];
    if (is_chunked(d) && plan.space != SpaceTime::kIncremental)
      // Early allocation writes a fill chunk for every chunk.
      add(Phase::kMetadata, StepKind::kSmallRequests, 0, about.rows() / plan.chunk_rows);
    for (std::uint32_t phase = 0; phase < plan.phases; ++phase)
      for (std::uint64_t stage = 0;; ++stage)
        if (!write_round(parts, d, phase, stage)) break;
    // Chunks that two ranks share wait for a last round.
    if (is_chunked(d)) agree(Phase::kWrite);
  }

  // False if nobody has rows left.
  bool write_round(const std::vector<RowPart>& parts, std::size_t d, std::uint32_t phase,
                   std::uint64_t stage) {
    const DatasetPlan& plan = layout_.plan.datasets[d];
    const DatasetFacts& about = question_.facts.datasets[d];
    std::vector<Transfer> pieces;
    std::uint64_t busiest = 0;
    std::uint64_t round_rows = 0;
    for (const RowPart& part : parts)
      for (std::size_t r = 0; r + 1 < part.first_rows.size(); ++r) {
        if (!plan.phase_of_rank.empty() && plan.phase_of_rank[r] != phase) continue;
        const std::uint64_t first = part.first_rows[r];
        const std::uint64_t rows = part.first_rows[r + 1] - first;
        const RowUnitShape shape =
            plan_row_units(about.columns, question_.stage_bytes, plan.chunk_rows, first);
        const auto begin_of = [&](std::uint64_t s) {
          return s == 0 ? 0
                        : std::min(rows, shape.first_unit_rows +
                                             (((s * shape.units_per_stage) - 1) * shape.unit_rows));
        };
        const std::uint64_t begin = begin_of(stage);
        const std::uint64_t end = begin_of(stage + 1);
        if (begin >= end) continue;
        busiest = std::max(busiest, end - begin);
        round_rows += end - begin;
        pieces.push_back(rows_at(part, d, r, first + begin, first + end));
      }
    if (pieces.empty()) return false;
    add(Phase::kPack, StepKind::kPack, busiest * about.row_bytes(), 0);
    if (is_chunked(d)) {
      add(Phase::kEncode, StepKind::kDeflate, busiest * about.row_bytes(), 0);
      add(Phase::kRoute, StepKind::kExchange, round_rows / plan.chunk_rows * kChunkEntryBytes, 1);
    }
    write_together(pieces);
    return true;
  }

  // Rank 0 collects what the manifest says of shards, writes and renames it.
  void commit() {
    agree(Phase::kCommit);
    add(Phase::kCommit, StepKind::kExchange, out_.shards.size() * kShardLineBytes,
        static_cast<std::uint64_t>(ranks()));
    add(Phase::kCommit, StepKind::kCreate, 0, 2);
    const std::uint32_t manifest = add_file();
    out_.steps.files[manifest] = {};
    add(Phase::kCommit, StepKind::kWrite, 0, 0)
        .transfers.push_back({.file = manifest,
                              .rank = 0,
                              .offset = 0,
                              .bytes = out_.shards.size() * kShardLineBytes});
    sync(Phase::kCommit);
    sync(Phase::kCommit);
    agree(Phase::kCommit, 2);
  }

  const SaveQuestion& question_;
  SaveLayout layout_;
  const Machine& machine_;
  SaveForecast out_;
};

}  // namespace

Result<SaveForecast> forecast_save(const SaveQuestion& question, const Machine& machine) {
  STRATALOG_RETURN_IF_ERROR(check_machine(machine));
  if (question.stage_bytes == 0) return Status::invalid_argument("a stage of no bytes");
  STRATALOG_ASSIGN_OR_RETURN(LayoutPlan plan, plan_layout(question.facts, question.wishes));
  return SaveSteps(question, machine, std::move(plan)).run();
}

Steps bare_save(const SaveQuestion& question, BareFiles files) {
  Steps steps{.ranks = question.facts.ranks, .files = {}, .steps = {}, .row_bytes = 0};
  Step create{.phase = Phase::kMetadata, .kind = StepKind::kCreate, .transfers = {}};
  Step open{.phase = Phase::kMetadata, .kind = StepKind::kOpen, .transfers = {}};
  Step write{.phase = Phase::kWrite, .kind = StepKind::kWrite, .transfers = {}};
  for (const DatasetFacts& dataset : question.facts.datasets) {
    const std::uint64_t bytes = dataset.rows() * dataset.row_bytes();
    FileStripes stripes;
    // As the policy stripes files.
    if (files == BareFiles::kShared && bytes > value_of(Limit::kStripedOutput))
      stripes = {.count = static_cast<std::uint32_t>(value_of(Limit::kStripeCount)),
                 .bytes = value_of(Limit::kStripeBytes)};
    std::uint64_t at = 0;
    for (int r = 0; r < steps.ranks; ++r) {
      const std::uint64_t mine =
          dataset.rows_of_rank[static_cast<std::size_t>(r)] * dataset.row_bytes();
      if (mine == 0) continue;
      const bool is_new = files == BareFiles::kOwn || at == 0;
      if (is_new) steps.files.push_back(stripes);
      ++(is_new ? create : open).count;
      write.transfers.push_back({.file = static_cast<std::uint32_t>(steps.files.size() - 1),
                                 .rank = r,
                                 .offset = files == BareFiles::kOwn ? 0 : at,
                                 .bytes = mine});
      at += mine;
    }
    steps.row_bytes += at;
  }
  steps.steps = {std::move(create), std::move(open), std::move(write)};
  if (question.sync == SyncFiles::kYes)
    steps.steps.push_back({.phase = Phase::kSync, .kind = StepKind::kSync, .transfers = {}});
  return steps;
}

FileSystemFacts file_system_of(const Machine& machine) {
  return {.kind = FileSystemKind::kLustre,
          .name = "lustre",
          .block_bytes = 4096,
          .stripe_bytes = static_cast<std::uint64_t>(machine.default_stripe_bytes),
          .stripe_count = static_cast<std::uint32_t>(machine.default_stripes)};
}

}  // namespace stratalog
