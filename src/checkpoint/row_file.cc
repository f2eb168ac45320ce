// SPDX-License-Identifier: Apache-2.0
// The papers' baseline: one HDF5 file, one dataset (rows, columns) of uint64 per relation and
// version, written with collective hyperslabs in rounds through a bounded stage. Each rank's rows
// are contiguous; every piece of them has its checksum in the manifest, and so has the frame around
// the datasets, so that a reader needs no HDF5 to verify or load. Collective; the Status is this
// rank's own.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/save_plan.h"
#include "encode/piece_checksum.h"
#include "pack/row_packer.h"
#include "place/shared_layout.h"
#include "read/file_frame.h"

namespace stratalog {
namespace {

// What rank `rank` owns of a dataset.
struct RowShare {
  std::uint64_t first = 0;
  std::uint64_t rounds = 0;  // of the rank with the most rows
};

// One rank's rows of one dataset on their way into the file.
class RowStream {
 public:
  RowStream(const SaveContext& context, RowFile& file, std::size_t image, std::size_t dataset,
            const RowShare& share, LocalOutput& out)
      : context_(context),
        image_(context.request.images[image]),
        file_(file),
        dataset_(dataset),
        share_(share),
        out_(out),
        file_id_(shard_file_id(image, context.comm.rank())),
        piece_rows_(rows_per_piece(context, image_.arity)) {
    const std::uint64_t rows = std::min(piece_rows_, image_.rows);
    stage_.resize((padded_piece_bytes(rows * image_.arity * 8)) / 8);
  }

  static std::uint64_t rows_per_piece(const SaveContext& context, std::uint32_t arity) {
    const std::uint64_t bytes = std::min<std::uint64_t>(context.options.stage_bytes, 64 << 20);
    return std::max<std::uint64_t>(1, bytes / (8ULL * arity));
  }

  Status add(const TupleGroup& group) {
    return for_each_fragment(group.set, {.elements = 4096, .words = 64}, [&](const SetView& set) {
      walked_ += set.count;
      if (walked_ > image_.rows) return check_rows(image_, walked_);
      if (staged_ + set.count <= piece_rows_) {
        put_rows(group.prefix, set, image_.column_order, stage_.data() + (staged_ * image_.arity));
        staged_ += set.count;
        return staged_ == piece_rows_ ? write_piece() : Status::ok();
      }
      return add_split(group.prefix, set);
    });
  }

  // Writes what is left and takes part in the rounds of ranks with more rows. Returns this rank's
  // own verdict.
  Status drain(Status status) {
    if (status.is_ok()) status = check_rows(image_, walked_);
    if (status.is_ok() && staged_ != 0) status = write_piece();
    while (round_ < share_.rounds) {
      const Status written = write_round({});
      if (status.is_ok()) status = written;
    }
    return status;
  }

  std::uint64_t piece_rows() const { return piece_rows_; }
  std::uint64_t groups() const { return groups_; }
  void count_group() { ++groups_; }
  std::vector<std::uint64_t> take_pieces() { return std::move(pieces_); }

 private:
  // A fragment across the end of a piece: row by row.
  Status add_split(std::span<const Cell> prefix, const SetView& set) {
    Status status;
    walk_set(set, [&](Cell cell) {
      if (!status.is_ok()) return;
      SetView one;
      const Cell value = cell;
      one.values = std::span(&value, 1);
      one.count = 1;
      put_rows(prefix, one, image_.column_order, stage_.data() + (staged_ * image_.arity));
      if (++staged_ == piece_rows_) status = write_piece();
    });
    return status;
  }

  Status write_piece() {
    const std::size_t numbers = staged_ * image_.arity;
    pieces_.push_back(piece_checksum(std::as_writable_bytes(std::span(stage_)), numbers * 8,
                                     context_.nonce, file_id_, pieces_.size()));
    staged_ = 0;
    return write_round(std::span(stage_).first(numbers));
  }

  Status write_round(std::span<const std::uint64_t> rows) {
    const Stopwatch watch(out_.times.write_ns);
    ++round_;
    const Status written = file_.write_all(dataset_, share_.first + rows_written_, rows);
    rows_written_ += rows.size() / image_.arity;
    return written;
  }

  const SaveContext& context_;
  const RelationImage& image_;
  RowFile& file_;
  std::size_t dataset_;
  RowShare share_;
  LocalOutput& out_;
  std::uint64_t file_id_;
  std::uint64_t piece_rows_;
  std::vector<std::uint64_t> stage_;
  std::vector<std::uint64_t> pieces_;
  std::uint64_t staged_ = 0;
  std::uint64_t walked_ = 0;
  std::uint64_t groups_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t rows_written_ = 0;
};

struct DatasetPlan {
  std::vector<RowDataset> datasets;
  std::vector<std::size_t> images;  // per dataset
  std::vector<RowShare> shares;  // per dataset, this rank's
};

std::vector<std::string> column_names(const SaveRequest& request, std::size_t image) {
  if (image < request.column_names.size() &&
      request.column_names[image].size() == request.images[image].arity)
    return request.column_names[image];
  std::vector<std::string> names;
  for (std::uint32_t c = 0; c < request.images[image].arity; ++c)
    names.push_back(fmt::format("column{}", c));
  return names;
}

// Collective: everyone learns everyone's rows.
Result<DatasetPlan> plan_datasets(const SaveContext& context) {
  const auto& images = context.request.images;
  std::vector<std::uint64_t> mine;
  for (const RelationImage& image : images) mine.push_back(image.rows);
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             context.comm.allgather(std::as_bytes(std::span(mine))));
  const auto ranks = static_cast<std::size_t>(context.comm.size());
  std::vector<std::uint64_t> table(images.size() * ranks);
  if (all.data.size() != table.size() * 8) return Status::internal("row counts of odd length");
  if (!table.empty())
    std::copy_n(all.data.data(), all.data.size(), std::as_writable_bytes(std::span(table)).data());
  DatasetPlan plan;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].arity == 0 || context.total_rows[i] == 0) continue;
    std::vector<std::uint64_t> rows;
    std::uint64_t most = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      rows.push_back(table[(r * images.size()) + i]);
      most = std::max(most, rows.back());
    }
    STRATALOG_ASSIGN_OR_RETURN(const auto first, plan_rows(rows));
    const std::uint64_t piece = RowStream::rows_per_piece(context, images[i].arity);
    plan.images.push_back(i);
    plan.shares.push_back({.first = first[static_cast<std::size_t>(context.comm.rank())],
                           .rounds = (most / piece) + (most % piece != 0 ? 1 : 0)});
    plan.datasets.push_back(
        {.name = fmt::format("{}.{}", images[i].name, version_name(images[i].version)),
         .relation = images[i].name,
         .version = std::string(version_name(images[i].version)),
         .rows = first.back(),
         .column_names = column_names(context.request, i),
         .columns = images[i].arity});
  }
  return plan;
}

// Fills the dataset with this rank's rows; the placement is not known yet.
Status write_dataset(const SaveContext& context, RowFile& file, const DatasetPlan& plan,
                     std::size_t dataset, ManifestShard& shard, LocalOutput& out) {
  const std::size_t index = plan.images[dataset];
  const RelationImage& image = context.request.images[index];
  RowStream stream(context, file, index, dataset, plan.shares[dataset], out);
  SampledTime sample;
  const std::uint64_t write_before = out.times.write_ns;
  const std::uint64_t start = now_ns();
  Status status;
  if (image.for_each_group)
    status = image.for_each_group([&](const TupleGroup& group) {
      stream.count_group();
      return sample.run(group.set.count, out.times.write_ns, [&] { return stream.add(group); });
    });
  const std::uint64_t spent = now_ns() - start - (out.times.write_ns - write_before);
  out.times.walk_ns += spent;
  out.times.encode_ns += std::min(sample.total_ns(), spent);
  status = stream.drain(status);
  shard.relation = static_cast<std::uint32_t>(index);
  shard.rank = static_cast<std::uint32_t>(context.comm.rank());
  shard.file = kRowFileName;
  shard.rows = image.rows;
  shard.groups = stream.groups();
  shard.piece_rows = stream.piece_rows();
  shard.pieces = stream.take_pieces();
  shard.blocks = shard.pieces.size();
  out.groups += stream.groups();
  out.staging_bytes =
      std::max(out.staging_bytes, std::min(stream.piece_rows(), image.rows) * image.arity * 8);
  return status;
}

Status describe_file(const SaveContext& context, const std::vector<RowPlacement>& placements,
                     LocalOutput& out) {
  const std::string path = context.path(kRowFileName);
  std::vector<Extent> data;
  for (const RowPlacement& p : placements)
    data.push_back({.offset = p.file_offset, .bytes = p.bytes});
  STRATALOG_ASSIGN_OR_RETURN(const FileInfo info, context.store.info(path));
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 frame, hash_frame(context.store, path, data));
  out.file_lines += file_line({.name = kRowFileName, .bytes = info.size_bytes, .frame = frame});
  out.bytes += info.size_bytes;
  ++out.files;
  return Status::ok();
}

}  // namespace

Status write_row_file(const SaveContext& context, LocalOutput& out) {
  STRATALOG_ASSIGN_OR_RETURN(const DatasetPlan plan, plan_datasets(context));
  if (plan.datasets.empty()) return Status::ok();
  std::uint64_t expected = 0;
  for (const RowDataset& d : plan.datasets) expected += d.rows * d.columns * 8;
  const Striping striping = plan_striping(expected);
  Result<RowFile> file = context.options.backends.rows.create(
      context.comm, context.store, context.path(kRowFileName), plan.datasets,
      {.stripe_count = striping.stripe_count, .stripe_bytes = striping.stripe_bytes});
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, file.status()));

  std::vector<ManifestShard> shards(plan.datasets.size());
  Status status;
  for (std::size_t d = 0; d < plan.datasets.size() && status.is_ok(); ++d)
    status = agree(context.comm, write_dataset(context, file.value(), plan, d, shards[d], out));
  const Stopwatch watch(out.times.sync_ns);
  Result<std::vector<RowPlacement>> placements = file.value().finish(
      status.is_ok() && context.syncs_shards() ? SyncFiles::kYes : SyncFiles::kNo);
  if (status.is_ok()) status = placements.status();
  STRATALOG_RETURN_IF_ERROR(agree(context.comm, status));

  for (std::size_t d = 0; d < shards.size(); ++d) {
    if (shards[d].rows == 0) continue;
    const std::uint64_t row_bytes = 8ULL * plan.datasets[d].columns;
    shards[d].extents = {
        {.offset = placements.value()[d].file_offset + (plan.shares[d].first * row_bytes),
         .bytes = shards[d].rows * row_bytes}};
    out.shard_lines += shard_line(shards[d]);
  }
  return context.comm.rank() == 0 ? describe_file(context, placements.value(), out) : Status::ok();
}

}  // namespace stratalog
