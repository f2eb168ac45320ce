// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/tuple_source.h"

#include <algorithm>
#include <compare>

#include "model/set_walk.h"

namespace stratalog::datalog {
namespace {

bool is_less(std::span<const OrderCode> a, std::span<const OrderCode> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

bool is_inside(std::span<const OrderCode> row, const RowRange& range) {
  return (range.from.empty() || !is_less(row, range.from)) &&
         (range.to.empty() || is_less(row, range.to));
}

// What the first columns of a row alone say about a range.
enum class Verdict : std::uint8_t { kInside, kOutside, kUndecided };

Verdict judge(std::span<const OrderCode> first_columns, const RowRange& range) {
  const auto order = [&](std::span<const OrderCode> bound) {
    return std::lexicographical_compare_three_way(
        first_columns.begin(), first_columns.end(), bound.begin(),
        bound.begin() + static_cast<std::ptrdiff_t>(first_columns.size()));
  };
  const auto from = range.from.empty() ? std::strong_ordering::greater : order(range.from);
  const auto to = range.to.empty() ? std::strong_ordering::less : order(range.to);
  if (from < 0 || to > 0) return Verdict::kOutside;
  return from > 0 && to < 0 ? Verdict::kInside : Verdict::kUndecided;
}

class ImageWalk {
 public:
  ImageWalk(const RelationImage& image, std::span<const ColumnOrder> orders)
      : image_(image),
        orders_(orders),
        last_(image.column_order[image.arity - 1]),
        row_(image.arity) {}

  Status sample(std::uint64_t stride, CodeRows& out) {
    std::uint64_t until_next = 0;  // tuples to pass before the next sample
    return image_.for_each_group([&](const TupleGroup& group) -> Status {
      if (group.set.count <= until_next) {
        until_next -= group.set.count;
        return Status::ok();
      }
      set_prefix(group);
      walk_set(group.set, [&](Cell cell) {
        if (until_next-- != 0) return;
        until_next = stride - 1;
        append(cell, out);
      });
      return Status::ok();
    });
  }

  Status collect(const RowRange& range, CodeRows& out) {
    return image_.for_each_group([&](const TupleGroup& group) -> Status {
      set_prefix(group);
      // Columns in front of the set's one are fixed for the group.
      const Verdict verdict = judge(std::span<const OrderCode>(row_).first(last_), range);
      if (verdict == Verdict::kInside) walk_set(group.set, [&](Cell cell) { append(cell, out); });
      if (verdict != Verdict::kUndecided) return Status::ok();
      walk_set(group.set, [&](Cell cell) {
        row_[last_] = orders_[last_].code(cell);
        if (is_inside(row_, range)) out.insert(out.end(), row_.begin(), row_.end());
      });
      return Status::ok();
    });
  }

 private:
  void set_prefix(const TupleGroup& group) {
    for (std::size_t i = 0; i < group.prefix.size(); ++i) {
      const std::uint32_t column = image_.column_order[i];
      row_[column] = orders_[column].code(group.prefix[i]);
    }
  }

  void append(Cell cell, CodeRows& out) {
    row_[last_] = orders_[last_].code(cell);
    out.insert(out.end(), row_.begin(), row_.end());
  }

  const RelationImage& image_;
  std::span<const ColumnOrder> orders_;
  std::uint32_t last_;  // the declared column that groups hold as sets
  std::vector<OrderCode> row_;
};

void read_row(const TupleColumns& tuples, std::span<const ColumnOrder> orders, std::uint64_t i,
              std::span<OrderCode> row) {
  for (std::size_t c = 0; c < row.size(); ++c) row[c] = orders[c].code(tuples.columns[c][i]);
}

void read_all(const TupleColumns& tuples, std::span<const ColumnOrder> orders, CodeRows& out) {
  const std::size_t width = orders.size();
  const std::size_t before = out.size();
  out.resize(before + (tuples.rows * width));
  for (std::size_t c = 0; c < width; ++c)
    for (std::uint64_t i = 0; i < tuples.rows; ++i)
      out[before + (i * width) + c] = orders[c].code(tuples.columns[c][i]);
}

}  // namespace

TupleSource source_of_columns(const TupleColumns& tuples, std::span<const ColumnOrder> orders) {
  TupleSource source;
  source.rows = tuples.rows;
  source.width = static_cast<std::uint32_t>(orders.size());
  source.sample = [&tuples, orders](std::uint64_t stride, CodeRows& out) {
    std::vector<OrderCode> row(orders.size());
    for (std::uint64_t i = 0; i < tuples.rows; i += stride) {
      read_row(tuples, orders, i, row);
      out.insert(out.end(), row.begin(), row.end());
    }
    return Status::ok();
  };
  source.collect = [&tuples, orders](const RowRange& range, CodeRows& out) {
    if (range.from.empty() && range.to.empty()) {
      read_all(tuples, orders, out);
      return Status::ok();
    }
    std::vector<OrderCode> row(orders.size());
    for (std::uint64_t i = 0; i < tuples.rows; ++i) {
      read_row(tuples, orders, i, row);
      if (is_inside(row, range)) out.insert(out.end(), row.begin(), row.end());
    }
    return Status::ok();
  };
  return source;
}

Result<std::uint64_t> count_rows(const RelationImage& image) {
  if (image.arity == 0) return image.rows;
  std::uint64_t rows = 0;
  STRATALOG_RETURN_IF_ERROR(image.for_each_group([&](const TupleGroup& group) {
    rows += group.set.count;
    return Status::ok();
  }));
  return rows;
}

TupleSource source_of_image(const RelationImage& image, std::span<const ColumnOrder> orders,
                            std::uint64_t rows) {
  TupleSource source;
  source.rows = rows;
  source.width = image.arity;
  source.skips_by_range = image.column_order[image.arity - 1] != 0;
  source.sample = [&image, orders](std::uint64_t stride, CodeRows& out) {
    return ImageWalk(image, orders).sample(stride, out);
  };
  source.collect = [&image, orders](const RowRange& range, CodeRows& out) {
    return ImageWalk(image, orders).collect(range, out);
  };
  return source;
}

}  // namespace stratalog::datalog
