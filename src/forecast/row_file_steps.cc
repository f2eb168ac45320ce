// SPDX-License-Identifier: Apache-2.0
// Files of rows, of the modes that write HDF5.
#include <algorithm>
#include <utility>

#include "checkpoint/row_units.h"
#include "forecast/save_step_list.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kHdf5HeaderBytes = 2048;
// A chunk's entry in the list that all writers of a deflated data set exchange.
constexpr std::uint64_t kChunkEntryBytes = 48;

class RowFileSteps {
 public:
  explicit RowFileSteps(SaveStepList& list) : list_(list) {}

  void row_files() {
    // A small file that shows them as one.
    if (list_.layout().batches().size() * list_.plan().files > 1) {
      list_.add(Phase::kMetadata, StepKind::kCreate, 0, 1);
      list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1);
      list_.agree(Phase::kMetadata, 1);
    }
    for (const SaveLayout::Batch& batch : list_.layout().batches()) {
      const std::vector<std::uint32_t> files = list_.open_group_files();
      const std::uint64_t datasets = batch.end - batch.begin;
      create_row_files(files.size(), datasets);
      std::vector<std::uint64_t> ends(files.size(), kHdf5HeaderBytes);
      for (std::size_t d = batch.begin; d < batch.end; ++d) row_dataset(d, files, ends);
      // Closing: the end of the file is agreed on, and its header written.
      if (list_.plan().creation != FileCreation::kRankZeroLaysOut) {
        list_.agree(Phase::kMetadata, 2 + datasets);
        list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1 + datasets);
      }
      list_.sync(Phase::kSync);
      list_.agree(Phase::kMetadata, 2);
    }
  }

 private:
  void create_row_files(std::uint64_t files, std::uint64_t datasets) {
    const auto openers = static_cast<std::uint64_t>(list_.ranks());
    list_.add(Phase::kMetadata, StepKind::kCreate, 0, files);
    switch (list_.plan().creation) {
      case FileCreation::kRankZeroOnly:
        return;
      case FileCreation::kCollective:
        list_.add(Phase::kMetadata, StepKind::kOpen, 0, openers - files);
        list_.agree(Phase::kMetadata, 2 + (2 * datasets));
        return;
      case FileCreation::kRankZeroLaysOut:
        list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1 + datasets);
        list_.agree(Phase::kMetadata, 3);
        list_.add(Phase::kMetadata, StepKind::kOpen, 0, openers - files);
        return;
      case FileCreation::kByRankZero:
        list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0, 1 + datasets);
        list_.agree(Phase::kMetadata, 2);
        list_.add(Phase::kMetadata, StepKind::kOpen, 0, openers);
        // Every rank reads the file's and the data sets' headers, all from the first stripe.
        const double reads = list_.machine().hdf5_file_reads +
                             (static_cast<double>(datasets) * list_.machine().hdf5_dataset_reads);
        list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0,
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
    const DatasetFacts& about = list_.question().facts.datasets[d];
    const RowFileTuning& tuning = list_.plan().tuning;
    std::vector<RowPart> parts;
    for (std::uint32_t g = 0; g < files.size(); ++g) {
      RowPart part{
          .file = files[g], .offset = ends[g], .first_rows = list_.layout().first_rows(d, g)};
      const std::uint64_t bytes = deflated(d, part.first_rows.back() * about.row_bytes());
      if (bytes == 0) continue;
      if (tuning.alignment > 1 && bytes >= tuning.align_from)
        part.offset = round_up_to(part.offset, tuning.alignment);
      ends[g] = part.offset + bytes;
      for (std::size_t r = 0; r + 1 < part.first_rows.size(); ++r)
        if (part.first_rows[r + 1] > part.first_rows[r])
          list_.out().shards.push_back(
              {rows_at(part, d, r, part.first_rows[r], part.first_rows[r + 1])});
      parts.push_back(std::move(part));
    }
    switch (list_.plan().creation) {
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
    return list_.plan().datasets[d].layout == DataLayout::kChunked;
  }
  std::uint64_t deflated(std::size_t d, std::uint64_t bytes) const {
    if (!is_chunked(d)) return bytes;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) / list_.machine().deflate_ratio);
  }
  Transfer rows_at(const RowPart& part, std::size_t d, std::size_t rank, std::uint64_t first,
                   std::uint64_t end) const {
    const std::uint64_t row_bytes = list_.question().facts.datasets[d].row_bytes();
    const std::uint64_t begin = deflated(d, first * row_bytes);
    return {.file = part.file,
            .rank = static_cast<int>(rank),
            .offset = part.offset + begin,
            .bytes = deflated(d, end * row_bytes) - begin};
  }

  // O1: rank 0 collects and writes.
  void gather(const RowPart& part, std::size_t d) {
    const std::uint64_t row_bytes = list_.question().facts.datasets[d].row_bytes();
    const std::uint64_t bytes = part.first_rows.back() * row_bytes;
    std::uint64_t busiest = 0;
    for (std::size_t r = 0; r + 1 < part.first_rows.size(); ++r)
      busiest = std::max(busiest, (part.first_rows[r + 1] - part.first_rows[r]) * row_bytes);
    list_.add(Phase::kPack, StepKind::kPack, busiest, 0);
    list_.add(Phase::kRoute, StepKind::kExchange, bytes, static_cast<std::uint64_t>(list_.ranks()));
    list_.add(Phase::kWrite, StepKind::kWrite, 0, 0)
        .transfers.push_back({.file = part.file, .rank = 0, .offset = part.offset, .bytes = bytes});
  }

  void write_directly(const std::vector<RowPart>& parts, std::size_t d) {
    const std::uint64_t row_bytes = list_.question().facts.datasets[d].row_bytes();
    std::vector<Transfer> writes;
    std::uint64_t busiest = 0;
    std::uint64_t shipped = 0;
    for (const RowPart& part : parts) {
      std::vector<std::uint64_t> begins;
      begins.reserve(part.first_rows.size());
      for (const std::uint64_t row : part.first_rows) begins.push_back(row * row_bytes);
      list_.split_at_edges(part.file, part.offset, begins,
                           [&](const Transfer& head, const Transfer& kept) {
                             busiest = std::max(busiest, head.bytes + kept.bytes);
                             shipped = std::max(shipped, head.bytes);
                             if (head.bytes != 0) writes.push_back(head);
                             if (kept.bytes != 0) writes.push_back(kept);
                           });
    }
    list_.add(Phase::kPack, StepKind::kPack, busiest, 0);
    if (list_.plan().edge_alignment > 1)
      list_.add(Phase::kRoute, StepKind::kExchange, shipped,
                static_cast<std::uint64_t>(list_.ranks()));
    list_.add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(writes);
  }

  // Collective hyperslabs: round after round, phase after phase.
  void write_rounds(const std::vector<RowPart>& parts, std::size_t d) {
    const DatasetPlan& plan = list_.plan().datasets[d];
    const DatasetFacts& about = list_.question().facts.datasets[d];
    if (is_chunked(d) && plan.space != SpaceTime::kIncremental)
      // Early allocation writes a fill chunk for every chunk.
      list_.add(Phase::kMetadata, StepKind::kSmallRequests, 0, about.rows() / plan.chunk_rows);
    for (std::uint32_t phase = 0; phase < plan.phases; ++phase)
      for (std::uint64_t stage = 0;; ++stage)
        if (!write_round(parts, d, phase, stage)) break;
    // Chunks that two ranks share wait for a last round.
    if (is_chunked(d)) list_.agree(Phase::kWrite);
  }

  // False if nobody has rows left.
  bool write_round(const std::vector<RowPart>& parts, std::size_t d, std::uint32_t phase,
                   std::uint64_t stage) {
    const DatasetPlan& plan = list_.plan().datasets[d];
    const DatasetFacts& about = list_.question().facts.datasets[d];
    std::vector<Transfer> pieces;
    std::uint64_t busiest = 0;
    std::uint64_t round_rows = 0;
    for (const RowPart& part : parts)
      for (std::size_t r = 0; r + 1 < part.first_rows.size(); ++r) {
        if (!plan.phase_of_rank.empty() && plan.phase_of_rank[r] != phase) continue;
        const std::uint64_t first = part.first_rows[r];
        const std::uint64_t rows = part.first_rows[r + 1] - first;
        const RowUnitShape shape =
            plan_row_units(about.columns, list_.question().stage_bytes, plan.chunk_rows, first);
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
    list_.add(Phase::kPack, StepKind::kPack, busiest * about.row_bytes(), 0);
    if (is_chunked(d)) {
      list_.add(Phase::kEncode, StepKind::kDeflate, busiest * about.row_bytes(), 0);
      list_.add(Phase::kRoute, StepKind::kExchange, round_rows / plan.chunk_rows * kChunkEntryBytes,
                1);
    }
    list_.write_together(pieces);
    return true;
  }

  SaveStepList& list_;
};

}  // namespace

void add_row_files(SaveStepList& list) { RowFileSteps(list).row_files(); }

}  // namespace stratalog
