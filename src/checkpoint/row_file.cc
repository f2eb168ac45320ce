// SPDX-License-Identifier: Apache-2.0
// Modes hdf5 and hdf5-opt: HDF5 files with a dataset (rows, columns) of uint64 per relation and
// version, written through a bounded stage with collective hyperslabs in rounds, in phases, by each
// rank for itself or by rank 0 alone, as the plan says. Each rank's rows are contiguous in the
// dataset; every piece of them has its checksum in the manifest, and so has the frame around the
// datasets, so that a reader needs no HDF5 to verify or load. Collective; the Status is this rank's
// own.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/row_datasets.h"
#include "checkpoint/row_image.h"
#include "checkpoint/row_view.h"
#include "checkpoint/striped_folder.h"

namespace stratalog {
namespace {

// When a rank writes: rounds [begin, begin + own) of `all`, and then perhaps the edges, those
// chunks that it shares with its neighbours.
struct CollectiveRounds {
  std::uint64_t begin = 0;
  std::uint64_t all = 0;
  bool has_edges = false;  // any rank has
};

// One rank's rows of one dataset on their way into the file through collective writes.
class RoundWriter {
 public:
  RoundWriter(const SaveContext& context, RowFile& file, const RowFilePart& part,
              std::size_t dataset, LocalOutput& out)
      : context_(context),
        file_(file),
        dataset_(dataset),
        columns_(part.datasets[dataset].columns),
        plan_(part.plans[dataset]),
        out_(out),
        first_(part.first_rows[dataset][static_cast<std::size_t>(context.comm.rank())]),
        shape_(shape_from(first_)) {
    plan_rounds(part.first_rows[dataset]);
  }

  Status run(std::size_t image, WrittenShard& shard) {
    Status status;
    // Where ranks write each for itself there are no rounds.
    while (status.is_ok() && round_ < rounds_.begin) status = write({}, {});
    if (status.is_ok())
      status = pack_rows(
          context_, image, shape_,
          [&](std::uint64_t first, std::span<const std::uint64_t> rows) {
            return write_stage(first_ + first, rows);
          },
          shard, out_);
    // Ranks that are done, or have failed, take part in the others' rounds.
    while (round_ < rounds_.all) {
      const Status written = write({}, {});
      if (status.is_ok()) status = written;
    }
    if (!rounds_.has_edges) return status;
    const Status written = status.is_ok() ? write(edge_runs_, edges_) : write({}, {});
    return status.is_ok() ? written : status;
  }

 private:
  bool is_chunked() const { return plan_.layout == DataLayout::kChunked; }
  // Of a rank whose rows begin there. Chunks are dealt to ranks in every round: few rounds.
  RowUnitShape shape_from(std::uint64_t first_row) const {
    return plan_row_units(columns_,
                          is_chunked() ? context_.options.stage_bytes : context_.round_bytes(),
                          plan_.chunk_rows, first_row);
  }

  void plan_rounds(const std::vector<std::uint64_t>& first_rows) {
    total_rows_ = first_rows.back();
    if (plan_.transfer == RowTransfer::kIndependent) return;
    std::vector<std::uint64_t> of_phase(plan_.phases, 0);
    const std::size_t ranks = first_rows.size() - 1;
    const auto phase_of = [&](std::size_t r) {
      return plan_.phase_of_rank.empty() ? 0 : plan_.phase_of_rank[r];
    };
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::uint64_t rows = first_rows[r + 1] - first_rows[r];
      const RowUnitShape shape = shape_from(first_rows[r]);
      of_phase[phase_of(r)] = std::max(of_phase[phase_of(r)], shape.stages(rows));
      if (is_chunked() && rows != 0)
        rounds_.has_edges =
            rounds_.has_edges || first_rows[r] % plan_.chunk_rows != 0 ||
            (first_rows[r + 1] % plan_.chunk_rows != 0 && first_rows[r + 1] != first_rows.back());
    }
    const std::uint32_t mine = phase_of(static_cast<std::size_t>(context_.comm.rank()));
    for (std::uint32_t p = 0; p < plan_.phases; ++p) {
      if (p < mine) rounds_.begin += of_phase[p];
      rounds_.all += of_phase[p];
    }
  }

  Status write(std::span<const RowRun> runs, std::span<const std::uint64_t> rows) {
    const Stopwatch watch(out_.times.write_ns);
    ++round_;
    return file_.write_all(dataset_, runs, rows);
  }

  // Rows from `first` of the dataset on. A chunk that other ranks also have rows of is written
  // once, by all of them in the last round; written twice it would be inflated, changed, deflated
  // and moved.
  Status write_stage(std::uint64_t first, std::span<const std::uint64_t> rows) {
    std::uint64_t count = rows.size() / columns_;
    if (is_chunked()) {
      const std::uint64_t chunk = plan_.chunk_rows;
      const std::uint64_t head = first % chunk == 0 ? 0 : std::min(count, chunk - (first % chunk));
      keep_edge(first, rows.first(head * columns_));
      rows = rows.subspan(head * columns_);
      first += head;
      count -= head;
      const std::uint64_t end = first + count;
      const std::uint64_t tail = end == total_rows_ ? 0 : std::min(count, end % chunk);
      keep_edge(end - tail, rows.last(tail * columns_));
      rows = rows.first(rows.size() - (tail * columns_));
      count -= tail;
    }
    const RowRun run{.first_row = first, .rows = count};
    return count == 0 ? write({}, {}) : write(std::span(&run, 1), rows);
  }

  void keep_edge(std::uint64_t first, std::span<const std::uint64_t> rows) {
    if (rows.empty()) return;
    const std::uint64_t count = rows.size() / columns_;
    edges_.insert(edges_.end(), rows.begin(), rows.end());
    if (!edge_runs_.empty() && edge_runs_.back().first_row + edge_runs_.back().rows == first)
      edge_runs_.back().rows += count;
    else
      edge_runs_.push_back({.first_row = first, .rows = count});
  }

  const SaveContext& context_;
  RowFile& file_;
  std::size_t dataset_;
  std::uint32_t columns_;
  const DatasetPlan& plan_;
  LocalOutput& out_;
  std::uint64_t first_;
  RowUnitShape shape_;
  std::uint64_t total_rows_ = 0;
  CollectiveRounds rounds_;
  std::uint64_t round_ = 0;
  std::vector<RowRun> edge_runs_;
  std::vector<std::uint64_t> edges_;
};

// Collective: an open file for all ranks of each group.
Result<RowFile> open_collectively(const SaveContext& context, const RowFilePart& part,
                                  LocalOutput& out) {
  const Stopwatch watch(out.times.metadata_ns);
  const RowFiles& backend = context.options.backends.rows;
  const LayoutPlan& plan = context.layout.plan;
  const std::string path = context.path(part.name);
  if (plan.creation == FileCreation::kCollective)
    return backend.create(context.comm, context.store, path, part.datasets, part.settings(plan));
  Status status;
  if (context.comm.rank() == part.leader && !part.datasets.empty()) {
    Result<RowImageFile> made = RowImageFile::create(context, part);
    status = made.status();
    // HDF5 refuses a file that is shorter than it says.
    if (made.is_ok()) status = made.value().extend();
    if (made.is_ok()) {
      const Status closed = made.value().finish(SyncFiles::kNo);
      if (status.is_ok()) status = closed;
    }
  }
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  return backend.open(context.comm, context.store, path, part.datasets, part.settings(plan));
}

Status write_collectively(const SaveContext& context, const RowFilePart& part, LocalOutput& out) {
  Result<RowFile> file = open_collectively(context, part, out);
  const Status opened = agree(context.comm, file.status());
  // What another group could not open this one has open.
  if (!opened.is_ok() && file.is_ok()) (void)file.value().finish(SyncFiles::kNo);
  STRATALOG_RETURN_IF_ERROR(opened);
  std::vector<WrittenShard> shards(part.datasets.size());
  Status status;
  // Groups differ in the number of datasets and rounds; within a group all ranks walk alike. Errors
  // are agreed on by all ranks at the end, so a group that failed leaves the others undisturbed.
  for (std::size_t d = 0; d < part.datasets.size(); ++d) {
    RoundWriter writer(context, file.value(), part, d, out);
    const Status written = writer.run(context.layout.images[part.indices[d]], shards[d]);
    if (status.is_ok()) status = written;
    if (part.group.groups == 1) {
      status = agree(context.comm, status);
      if (!status.is_ok()) break;
    }
  }
  status = agree(context.comm, status);
  const Stopwatch watch(out.times.sync_ns);
  Result<std::vector<RowPlacement>> placements =
      file.value().finish(status.is_ok() ? context.sync_files() : SyncFiles::kNo);
  if (status.is_ok()) status = placements.status();
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  if (part.datasets.empty()) return Status::ok();
  return describe_row_file(context, part, shards, placements.value(), out);
}

// O1: rank 0 collects all rows of a dataset and writes them. Checksums are made by those who
// packed.
Status gather_dataset(const SaveContext& context, const RowFilePart& part, std::size_t dataset,
                      RowImageFile* file, WrittenShard& shard, LocalOutput& out) {
  std::vector<std::uint64_t> mine;
  const RowUnitShape shape =
      plan_row_units(part.datasets[dataset].columns, context.options.stage_bytes, 0, 0);
  Status status = pack_rows(
      context, context.layout.images[part.indices[dataset]], shape,
      [&](std::uint64_t /*first*/, std::span<const std::uint64_t> rows) {
        mine.insert(mine.end(), rows.begin(), rows.end());
        return Status::ok();
      },
      shard, out);
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  const std::uint64_t start = working_ns();
  const Result<Received> all = context.comm.gather(std::as_bytes(std::span(mine)), 0);
  out.times.route_ns += working_ns() - start;
  STRATALOG_RETURN_IF_ERROR(all.status());
  const Stopwatch watch(out.times.write_ns);
  if (file != nullptr) status = file->write(dataset, 0, all.value().data);
  return status;
}

Status gather_part(const SaveContext& context, const RowFilePart& part, LocalOutput& out) {
  std::unique_ptr<RowImageFile> file;
  Status status;
  if (context.comm.rank() == 0) {
    const Stopwatch watch(out.times.metadata_ns);
    Result<RowImageFile> made = RowImageFile::create(context, part);
    status = made.status();
    if (made.is_ok()) file = std::make_unique<RowImageFile>(std::move(made).value());
  }
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  std::vector<WrittenShard> shards(part.datasets.size());
  for (std::size_t d = 0; d < part.datasets.size() && status.is_ok(); ++d)
    status = agree(context.comm, gather_dataset(context, part, d, file.get(), shards[d], out));
  std::vector<RowPlacement> placements;
  if (file) {
    const Stopwatch watch(out.times.sync_ns);
    const Status finished = file->finish(status.is_ok() ? context.sync_files() : SyncFiles::kNo);
    if (status.is_ok()) status = finished;
    placements = file->placements();
  }
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  STRATALOG_ASSIGN_OR_RETURN(placements, share_placements(context, part, placements));
  return describe_row_file(context, part, shards, placements, out);
}

Status write_parts(const SaveContext& context, LocalOutput& out) {
  const bool alone = context.layout.plan.creation == FileCreation::kRankZeroOnly;
  for (const RowFilePart& part : row_file_parts(context)) {
    // All ranks stop at the same file: the next one must not be begun by some only.
    const Status written =
        alone ? gather_part(context, part, out) : write_collectively(context, part, out);
    STRATALOG_RETURN_IF_ERROR(agree(context.comm, written));
  }
  return Status::ok();
}

}  // namespace

Status write_row_files(const SaveContext& context, LocalOutput& out) {
  RowViewFile view;
  if (RowViewFile::is_due(context)) {
    STRATALOG_RETURN_IF_ERROR(agree(context.comm, view.begin(context, out)));
  }
  // Of a file that HDF5 creates, MPI-IO sets the stripes.
  if (context.layout.plan.creation == FileCreation::kCollective) {
    STRATALOG_RETURN_IF_ERROR(write_parts(context, out));
  } else {
    STRATALOG_RETURN_IF_ERROR(write_striped(context.comm, context.store, striped_folder(context),
                                            out.lasting_notes,
                                            [&] { return write_parts(context, out); }));
  }
  return view.finish(context, out);
}

}  // namespace stratalog
