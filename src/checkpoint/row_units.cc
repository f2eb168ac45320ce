// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/row_units.h"

#include <algorithm>
#include <array>

#include "checkpoint/save_plan.h"
#include "encode/piece_checksum.h"
#include "model/set_walk.h"
#include "pack/fragment.h"
#include "pack/row_packer.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kUnitBytes = std::uint64_t{1} << 20;
constexpr std::size_t kFragment = 4096;  // elements

}  // namespace

std::uint64_t RowUnitShape::units(std::uint64_t rows) const {
  if (rows == 0) return 0;
  if (rows <= first_unit_rows) return 1;
  const std::uint64_t rest = rows - first_unit_rows;
  return 1 + (rest / unit_rows) + (rest % unit_rows != 0 ? 1 : 0);
}

std::uint64_t RowUnitShape::stages(std::uint64_t rows) const {
  const std::uint64_t count = units(rows);
  return (count / units_per_stage) + (count % units_per_stage != 0 ? 1 : 0);
}

RowUnitShape plan_row_units(std::uint32_t columns, std::uint64_t stage_bytes,
                            std::uint64_t chunk_rows, std::uint64_t first_row) {
  const std::uint64_t row_bytes = 8ULL * columns;
  RowUnitShape shape;
  shape.unit_rows = chunk_rows != 0
                        ? chunk_rows
                        : std::max<std::uint64_t>(1, std::min(kUnitBytes, stage_bytes) / row_bytes);
  shape.first_unit_rows = chunk_rows != 0 ? chunk_rows - (first_row % chunk_rows) : shape.unit_rows;
  shape.units_per_stage = std::max<std::uint64_t>(1, stage_bytes / (shape.unit_rows * row_bytes));
  return shape;
}

RowUnits::RowUnits(const RelationImage& image, const RowUnitShape& shape, const Nonce& nonce,
                   std::uint64_t file_id, Sink sink, std::uint32_t buffers)
    : image_(image),
      shape_(shape),
      nonce_(nonce),
      file_id_(file_id),
      sink_(std::move(sink)),
      zones_(image.column_order),
      unit_end_(shape.first_unit_rows) {
  const std::uint64_t rows =
      std::min(shape.units_per_stage * shape.unit_rows, std::max<std::uint64_t>(1, image.rows));
  // The padding that checksums need fits behind the last row.
  stages_.resize(buffers);
  for (std::vector<std::uint64_t>& stage : stages_)
    stage.resize((rows * image.arity) + (kPiecePadding / 8));
}

Status RowUnits::run(PhaseTimes& times) {
  times_ = &times;
  const std::uint64_t other_before = times.write_ns + times.route_ns;
  const auto other = [&] { return times.write_ns + times.route_ns; };
  const std::uint64_t start = working_ns();
  Status status;
  if (image_.for_each_group)
    status = image_.for_each_group([&](const TupleGroup& group) {
      ++groups_;
      return add(group);
    });
  if (status.is_ok()) status = check_rows(image_, walked_);
  if (status.is_ok() && staged_ > unit_begin_) status = end_unit();
  if (status.is_ok() && staged_ > 0) status = flush();
  times.walk_ns += working_ns() - start - (other() - other_before);
  return status;
}

Status RowUnits::add(const TupleGroup& group) {
  return for_each_fragment(group.set, {.elements = kFragment, .words = kFragment / 64},
                           [&](const SetView& set) {
                             walked_ += set.count;
                             if (walked_ > image_.rows) return check_rows(image_, walked_);
                             if (staged_ + set.count <= unit_end_) {
                               put(group.prefix, set);
                               return staged_ == unit_end_ ? end_unit() : Status::ok();
                             }
                             return add_split(group.prefix, set);
                           });
}

// Rows of the unit at hand, which has room for them.
void RowUnits::put(std::span<const Cell> prefix, const SetView& set) {
  if (staged_ == unit_begin_) zones_.begin_block();
  put_rows(prefix, set, image_.column_order, stage().data() + (staged_ * image_.arity));
  // Afterwards: the last element of the set is in cache by now.
  zones_.add(prefix, set);
  staged_ += set.count;
}

// A fragment across the end of a unit, or of several: as arrays, which can be cut anywhere.
Status RowUnits::add_split(std::span<const Cell> prefix, const SetView& set) {
  std::array<Cell, kFragment> cells;
  std::size_t count = 0;
  std::span<const Cell> left = set.values;
  if (set.kind != SetKind::kArray) {
    walk_set(set, [&](Cell cell) { cells[count++] = cell; });
    left = std::span(cells).first(count);
  }
  while (!left.empty()) {
    SetView piece;
    piece.values = left.first(std::min<std::uint64_t>(left.size(), unit_end_ - staged_));
    piece.count = piece.values.size();
    put(prefix, piece);
    left = left.subspan(piece.values.size());
    if (staged_ == unit_end_) STRATALOG_RETURN_IF_ERROR(end_unit());
  }
  return Status::ok();
}

Status RowUnits::end_unit() {
  // The checksum covers zeros behind the rows, which the next unit then overwrites.
  const auto unit = std::span(stage()).subspan(unit_begin_ * image_.arity);
  const std::size_t used = (staged_ - unit_begin_) * image_.arity * 8;
  {
    const Stopwatch watch(times_->encode_ns);
    checksums_.push_back(
        piece_checksum(std::as_writable_bytes(unit), used, nonce_, file_id_, checksums_.size()));
  }
  unit_begin_ = staged_;
  unit_end_ = staged_ + shape_.unit_rows;
  return checksums_.size() % shape_.units_per_stage == 0 ? flush() : Status::ok();
}

Status RowUnits::flush() {
  const std::uint64_t first = handed_out_;
  const std::uint64_t rows = staged_;
  handed_out_ += rows;
  staged_ = 0;
  unit_begin_ = 0;
  unit_end_ = shape_.unit_rows;
  const std::span<const std::uint64_t> full = std::span(stage()).first(rows * image_.arity);
  filling_ = (filling_ + 1) % stages_.size();
  return sink_(first, full);
}

}  // namespace stratalog
