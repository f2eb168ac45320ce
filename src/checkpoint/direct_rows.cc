// SPDX-License-Identifier: Apache-2.0
// Mode hdf5-direct: the first rank of each group lays out an HDF5 file of contiguous datasets and
// writes everything but the rows; then every rank writes its rows as plain bytes at their offsets.
// No collective of HDF5 or MPI-IO. Where file systems lock blocks or stripes, boundaries between
// writers are rounded to them and the bytes around a boundary travel to the rank that writes the
// block. Where that goes on beside the caller, bytes go through the queue of the save, and without
// such blocks nothing but the layout needs other ranks. Collective; the Status is this rank's own.
#include <algorithm>
#include <optional>

#include "base/allowed_cores.h"
#include "base/memory_end.h"
#include "checkpoint/queued_file.h"
#include "checkpoint/row_datasets.h"
#include "checkpoint/row_image.h"
#include "checkpoint/row_view.h"
#include "checkpoint/striped_folder.h"
#include "place/write_edges.h"
#include "write/patient_open.h"
#include "write/write_beside.h"

namespace stratalog {
namespace {

// One rank's part of an open file.
class DirectFile {
 public:
  explicit DirectFile(SyncFiles sync) : behind_(sync) {}
  // On the leader the layout that it has just written, on others the file opened for writing. A
  // rank whose group has nothing in this part opens nothing.
  Status create(const SaveContext& context, const RowFilePart& part) {
    if (part.datasets.empty()) return Status::ok();
    const bool leads = context.comm.rank() == part.leader;
    if (context.overlap != OverlapWay::kNone) {
      queued_.emplace(context, part.name, OpenMode::kWriteExisting, context.sync_files());
      return leads ? lay_out(context, part) : Status::ok();
    }
    if (!leads) return Status::ok();
    STRATALOG_ASSIGN_OR_RETURN(RowImageFile made, RowImageFile::create(context, part));
    image_ = std::make_unique<RowImageFile>(std::move(made));
    placements_ = image_->placements();
    return Status::ok();
  }
  Status open(const SaveContext& context, const RowFilePart& part) {
    if (part.datasets.empty() || image_ || queued_) return Status::ok();
    STRATALOG_ASSIGN_OR_RETURN(
        file_, open_patiently(context.store, context.path(part.name), OpenMode::kWriteExisting));
    return Status::ok();
  }
  // Collective.
  Status share(const SaveContext& context, const RowFilePart& part) {
    STRATALOG_ASSIGN_OR_RETURN(placements_, share_placements(context, part, placements_));
    return Status::ok();
  }
  // Of the leader, where bytes go through the queue: all but the rows.
  Status write_layout() {
    const std::vector<RowFileImage::Piece> pieces = std::exchange(pieces_, {});
    for (const RowFileImage::Piece& piece : pieces)
      STRATALOG_RETURN_IF_ERROR(queued_->write(piece.offset, piece.bytes));
    return Status::ok();
  }
  Status write(std::size_t dataset, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return Status::ok();
    if (image_) return image_->write(dataset, offset, bytes);
    const std::uint64_t at = placements_[dataset].file_offset + offset;
    if (queued_) return queued_->write(at, bytes);
    STRATALOG_RETURN_IF_ERROR(file_->write_at(at, bytes));
    behind_.wrote(*file_, at, bytes.size());
    return Status::ok();
  }
  Status finish(SyncFiles sync) {
    if (image_) return image_->finish(sync);
    if (queued_) return queued_->finish(sync);  // nothing is open where nothing was written
    if (!file_) return Status::ok();
    return close_file(*file_, sync);
  }
  const std::vector<RowPlacement>& placements() const { return placements_; }

 private:
  // The leader creates the file, which its first bytes open again.
  Status lay_out(const SaveContext& context, const RowFilePart& part) {
    STRATALOG_ASSIGN_OR_RETURN(
        RowFileImage image,
        context.options.backends.rows.lay_out(part.datasets, part.settings(context.layout.plan)));
    placements_ = std::move(image.placements);
    pieces_ = std::move(image.pieces);
    STRATALOG_ASSIGN_OR_RETURN(
        const std::unique_ptr<File> made,
        open_patiently(context.store, context.path(part.name), OpenMode::kCreateExclusive));
    return made->close();
  }

  std::unique_ptr<RowImageFile> image_;
  std::unique_ptr<File> file_;
  std::optional<QueuedFile> queued_;  // where writing goes on beside the caller
  std::vector<RowFileImage::Piece> pieces_;  // of the leader, there
  WriteBehind behind_;
  std::vector<RowPlacement> placements_;
};

// One rank's rows of one dataset.
class DirectRows {
 public:
  DirectRows(const SaveContext& context, DirectFile& file, const RowFilePart& part,
             std::size_t dataset, LocalOutput& out)
      : context_(context), file_(file), dataset_(dataset), out_(out) {
    const std::uint64_t row_bytes = 8ULL * part.datasets[dataset].columns;
    for (const std::uint64_t row : part.first_rows[dataset]) begins_.push_back(row * row_bytes);
    begin_ = begins_[static_cast<std::size_t>(context.comm.rank())];
    row_bytes_ = row_bytes;
    edge_ = plan_write_edge(begins_, context.comm.rank(),
                            {.offset = file.placements()[dataset].file_offset,
                             .alignment = context.layout.plan.edge_alignment});
    head_.reserve(edge_.shipped_bytes);
  }

  Status write(std::size_t image, WrittenShard& shard) {
    const RowUnitShape shape =
        plan_row_units(static_cast<std::uint32_t>(row_bytes_ / 8), stage_bytes(), 0, 0);
    const std::uint64_t bytes =
        begins_[static_cast<std::size_t>(context_.comm.rank()) + 1] - begin_;
    WriteBeside beside(
        [this](std::uint64_t at, std::span<const std::byte> rows) {
          return file_.write(dataset_, at, rows);
        },
        // What is packed now and written later has a thread for it already.
        context_.overlap != OverlapWay::kWrite
            ? plan_write_thread(bytes, context_.ranks_on_node(), allowed_core_count())
            : WriteThread::kNone);
    const PhaseTimes before = out_.times;
    const Status status =
        pack_rows(context_, image, shape,
                  [&](std::uint64_t first, std::span<const std::uint64_t> rows) {
                    const Stopwatch waiting(out_.times.write_ns);
                    return write_rows(first * row_bytes_, std::as_bytes(rows), beside);
                  },
                  shard, out_, {.buffers = beside.buffers(), .finish = [&] {
                                  const Stopwatch waiting(out_.times.write_ns);
                                  return beside.finish();
                                }});
    out_.times.count_hidden(before, beside.busy_ns());
    return status;
  }

  const Bytes& head() const { return head_; }
  int head_writer() const { return edge_.writer; }
  // Heads of other ranks, whose blocks this rank writes. One after another: a rank that failed
  // leaves a gap.
  Status write_heads(const ReceivedParcels& received) {
    const Stopwatch watch(out_.times.write_ns);
    std::size_t at = 0;
    for (const auto& [sender, bytes] : received.parcels) {
      STRATALOG_RETURN_IF_ERROR(file_.write(dataset_, begins_[static_cast<std::size_t>(sender)],
                                            std::span(received.data).subspan(at, bytes)));
      at += bytes;
    }
    return Status::ok();
  }

 private:
  // Rows leave in the units in which they were packed and hashed, while they are in cache and the
  // next ones are packed; but in whole blocks where blocks matter. The copy that the kernel makes
  // has to fit beside them: with 1 MiB packing took a quarter longer where a core has 2 MiB.
  std::uint64_t stage_bytes() const {
    constexpr std::uint64_t kCached = std::uint64_t{512} << 10;
    return std::min(context_.options.stage_bytes,
                    std::max(kCached, context_.layout.plan.edge_alignment));
  }

  // `at`: relative to this rank's part.
  Status write_rows(std::uint64_t at, std::span<const std::byte> bytes, WriteBeside& beside) {
    if (head_.size() < edge_.shipped_bytes) {
      const std::size_t piece =
          std::min<std::uint64_t>(bytes.size(), edge_.shipped_bytes - head_.size());
      head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(piece));
      bytes = bytes.subspan(piece);
      at += piece;
    }
    return bytes.empty() ? Status::ok() : beside.write(begin_ + at, bytes);
  }

  const SaveContext& context_;
  DirectFile& file_;
  std::size_t dataset_;
  LocalOutput& out_;
  std::vector<std::uint64_t> begins_;  // in bytes of the dataset
  std::uint64_t begin_ = 0;
  std::uint64_t row_bytes_ = 8;
  WriteEdge edge_;
  Bytes head_;
};

// Writes this rank's rows of dataset `d` of the layout, or nothing if its group has none of it.
// Collective where blocks must not be shared, also for ranks that failed before (`so_far`).
Status write_dataset(const SaveContext& context, const RowFilePart& part, std::size_t d,
                     const Status& so_far, DirectFile& file, std::vector<WrittenShard>& shards,
                     LocalOutput& out) {
  const auto found = std::find(part.indices.begin(), part.indices.end(), d);
  const auto index = static_cast<std::size_t>(found - part.indices.begin());
  std::unique_ptr<DirectRows> rows;
  Status status = so_far;
  if (found != part.indices.end() && so_far.is_ok()) {
    status = or_no_space("not enough memory to write rows", [&] {
      rows = std::make_unique<DirectRows>(context, file, part, index, out);
      return rows->write(context.layout.images[d], shards[index]);
    });
  }
  if (context.layout.plan.edge_alignment <= 1) return status;
  const std::uint64_t start = working_ns();
  std::vector<Parcel> parcels;
  std::span<const std::byte> head;
  if (rows && status.is_ok()) head = rows->head();
  if (!head.empty()) parcels.push_back({.rank = rows->head_writer(), .bytes = head.size()});
  const Result<ReceivedParcels> received = context.comm.exchange_parcels(head, parcels);
  out.times.route_ns += working_ns() - start;
  STRATALOG_RETURN_IF_ERROR(status);
  STRATALOG_RETURN_IF_ERROR(received.status());
  return rows ? or_no_space("not enough memory to pass rows on",
                            [&] { return rows->write_heads(received.value()); })
              : Status::ok();
}

// Collective.
Status open_part(const SaveContext& context, const RowFilePart& part, DirectFile& file,
                 LocalOutput& out) {
  const Stopwatch watch(out.times.metadata_ns);
  STRATALOG_RETURN_IF_ERROR(
      agree(context.comm, or_no_space("not enough memory to lay an HDF5 file out",
                                      [&] { return file.create(context, part); })));
  STRATALOG_RETURN_IF_ERROR(file.share(context, part));
  return agree(context.comm, file.open(context, part));
}

Status write_part(const SaveContext& context, const RowFilePart& part, LocalOutput& out) {
  DirectFile file(context.sync_files());
  STRATALOG_RETURN_IF_ERROR(open_part(context, part, file, out));
  std::vector<WrittenShard> shards(part.datasets.size());
  Status status;
  for (std::size_t d = part.batch.begin; d < part.batch.end; ++d)
    status = write_dataset(context, part, d, status, file, shards, out);
  const Stopwatch watch(out.times.sync_ns);
  status = agree(context.comm, status);
  const Status finished = file.finish(status.is_ok() ? context.sync_files() : SyncFiles::kNo);
  if (status.is_ok()) status = finished;
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));
  if (part.datasets.empty()) return Status::ok();
  return describe_row_file(context, part, shards, file.placements(), out);
}

// A part and its file between the two steps of a save.
struct BegunPart {
  RowFilePart part;
  DirectFile file;
};

// Local, or collective where blocks must not be shared, also for ranks that failed before
// (`so_far`).
Status write_begun(const SaveContext& context, const Status& so_far, BegunPart& begun,
                   LocalOutput& out) {
  auto& [part, file] = begun;
  std::vector<WrittenShard> shards(part.datasets.size());
  Status status = so_far.is_ok() ? file.write_layout() : so_far;
  for (std::size_t d = part.batch.begin; d < part.batch.end; ++d)
    status = write_dataset(context, part, d, status, file, shards, out);
  {
    const Stopwatch watch(out.times.sync_ns);
    const Status finished = file.finish(status.is_ok() ? context.sync_files() : SyncFiles::kNo);
    STRATALOG_RETURN_IF_ERROR(status);
    STRATALOG_RETURN_IF_ERROR(finished);
  }
  return part.datasets.empty() ? Status::ok()
                               : describe_row_file(context, part, shards, file.placements(), out);
}

}  // namespace

Result<std::function<Status()>> begin_rows_directly(const SaveContext& context, LocalOutput& out) {
  const auto begun = std::make_shared<std::vector<BegunPart>>();
  const auto open_all = [&]() -> Status {
    for (RowFilePart& part : row_file_parts(context)) {
      begun->push_back({.part = std::move(part), .file = DirectFile(context.sync_files())});
      STRATALOG_RETURN_IF_ERROR(open_part(context, begun->back().part, begun->back().file, out));
    }
    return Status::ok();
  };
  STRATALOG_RETURN_IF_ERROR(write_striped(context.comm, context.store, striped_folder(context),
                                          out.lasting_notes, open_all));
  return std::function<Status()>([&context, &out, begun]() -> Status {
    RowViewFile view;
    Status status = view.begin(context, out);
    for (BegunPart& part : *begun) status = write_begun(context, status, part, out);
    return status.is_ok() ? view.finish(context, out) : status;
  });
}

Status write_rows_directly(const SaveContext& context, LocalOutput& out) {
  if (context.overlap != OverlapWay::kNone) {
    STRATALOG_ASSIGN_OR_RETURN(const std::function<Status()> rest,
                               begin_rows_directly(context, out));
    return rest();
  }
  RowViewFile view;
  if (RowViewFile::is_due(context)) {
    STRATALOG_RETURN_IF_ERROR(agree(context.comm, view.begin(context, out)));
  }
  const auto write_parts = [&]() -> Status {
    for (const RowFilePart& part : row_file_parts(context))
      STRATALOG_RETURN_IF_ERROR(agree(context.comm, write_part(context, part, out)));
    return Status::ok();
  };
  STRATALOG_RETURN_IF_ERROR(write_striped(context.comm, context.store, striped_folder(context),
                                          out.lasting_notes, write_parts));
  return view.finish(context, out);
}

}  // namespace stratalog
