// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/value_order.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "datalog/facts/value_key.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint32_t kNarrowNegatives = kWideBase - kNegativeBase;

struct KeyedSymbol {
  std::uint64_t key;  // the first eight bytes, most significant first: decides most comparisons
  Cell id;
};

std::uint64_t first_bytes(std::string_view text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), std::min(text.size(), sizeof(bytes)));
  return __builtin_bswap64(bytes);
}

// Merge sort that takes the ascending runs it finds. Dictionaries grow by sorted batches, so runs
// are few and long.
template <typename T, typename Less>
void sort_by_runs(std::vector<T>& values, const Less& less) {
  std::vector<std::size_t> bounds = {0};
  for (std::size_t i = 1; i < values.size(); ++i)
    if (less(values[i], values[i - 1])) bounds.push_back(i);
  bounds.push_back(values.size());
  std::vector<T> merged;
  while (bounds.size() > 2) {
    merged.clear();
    merged.reserve(values.size());
    std::vector<std::size_t> merged_bounds = {0};
    for (std::size_t r = 0; r + 1 < bounds.size(); r += 2) {
      const auto at = [&](std::size_t b) {
        return values.begin() + static_cast<std::ptrdiff_t>(bounds[std::min(b, bounds.size() - 1)]);
      };
      std::merge(at(r), at(r + 1), at(r + 1), at(r + 2), std::back_inserter(merged), less);
      merged_bounds.push_back(merged.size());
    }
    values.swap(merged);
    bounds.swap(merged_bounds);
  }
}

}  // namespace

Cell ColumnOrder::cell(OrderCode code) const {
  if (is_table_) return sorted_[code];
  if (code - first_nonnegative_ < kNegativeBase) return code - first_nonnegative_;
  if (code - first_negative_ < kNarrowNegatives) {
    const std::uint32_t step = code - first_negative_;
    return is_reversed_ ? kWideBase - 1 - step : kNegativeBase + step;
  }
  const std::uint32_t rank = code - first_wide_[0] < wides_in_first_run_
                                 ? code - first_wide_[0]
                                 : wides_in_first_run_ + (code - first_wide_[1]);
  return kWideBase + sorted_[rank];
}

std::uint64_t ValueOrder::values_of(ValueKind kind) const {
  if (kind == ValueKind::kRecord) return dictionary_->records().size();
  return kind == ValueKind::kSymbol ? dictionary_->size().symbols : dictionary_->size().wides;
}

const ColumnOrder& ValueOrder::for_kind(ValueKind kind) {
  Sorted& sorted = by_kind_[static_cast<std::size_t>(kind)];
  const std::uint64_t now = values_of(kind);
  if (sorted.size != now) {
    if (kind == ValueKind::kSymbol)
      sort_symbols(sorted);
    else if (kind == ValueKind::kRecord)
      sort_records(sorted);
    else
      sort_wides(kind, sorted);
    sorted.size = now;
  }
  return sorted.order;
}

std::vector<ColumnOrder> ValueOrder::for_relation(const Relation& relation) {
  std::vector<ColumnOrder> orders;
  orders.reserve(relation.attributes.size());
  for (const Attribute& attribute : relation.attributes) orders.push_back(for_kind(attribute.kind));
  return orders;
}

std::vector<OrderCode> ValueOrder::codes_of(const Relation& relation,
                                            std::span<const Cell> tuples) {
  const std::size_t arity = relation.attributes.size();
  std::vector<OrderCode> codes(tuples.size());
  for (std::size_t c = 0; c < arity; ++c) {
    const ValueKind kind = relation.attributes[c].kind;
    // What a record holds is not known here.
    if (kind == ValueKind::kRecord || tuples.size() / arity >= values_of(kind)) {
      const ColumnOrder& order = for_kind(kind);
      for (std::size_t at = c; at < tuples.size(); at += arity) codes[at] = order.code(tuples[at]);
      continue;
    }
    std::vector<Cell> cells;
    cells.reserve(tuples.size() / arity);
    for (std::size_t at = c; at < tuples.size(); at += arity) cells.push_back(tuples[at]);
    std::ranges::sort(cells);
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    const std::vector<std::pair<Cell, OrderCode>> code_of = ranks_of(kind, cells);
    for (std::size_t at = c; at < tuples.size(); at += arity)
      codes[at] =
          std::ranges::lower_bound(code_of, tuples[at], {}, &std::pair<Cell, OrderCode>::first)
              ->second;
  }
  return codes;
}

// The places of ascending cells when their values are sorted.
std::vector<std::pair<Cell, OrderCode>> ValueOrder::ranks_of(ValueKind kind,
                                                             const std::vector<Cell>& cells) const {
  std::vector<std::uint32_t> by_value(cells.size());
  std::iota(by_value.begin(), by_value.end(), 0U);
  std::ranges::sort(by_value, [&](std::uint32_t a, std::uint32_t b) {
    if (kind == ValueKind::kSymbol)
      return dictionary_->text(cells[a]) < dictionary_->text(cells[b]);
    return value_key(kind, dictionary_->decode(cells[a])) <
           value_key(kind, dictionary_->decode(cells[b]));
  });
  std::vector<std::pair<Cell, OrderCode>> ranks(cells.size());
  for (std::uint32_t rank = 0; rank < cells.size(); ++rank)
    ranks[by_value[rank]] = {cells[by_value[rank]], rank};
  return ranks;
}

void ValueOrder::sort_symbols(Sorted& sorted) const {
  std::vector<KeyedSymbol> keyed(dictionary_->symbols().size());
  for (Cell id = 0; id < keyed.size(); ++id)
    keyed[id] = {.key = first_bytes(dictionary_->text(id)), .id = id};
  sort_by_runs(keyed, [&](const KeyedSymbol& a, const KeyedSymbol& b) {
    if (a.key != b.key) return a.key < b.key;
    return dictionary_->text(a.id) < dictionary_->text(b.id);
  });
  sorted.sorted.resize(keyed.size());
  sorted.code_of.resize(keyed.size());
  for (std::uint32_t rank = 0; rank < keyed.size(); ++rank) {
    sorted.sorted[rank] = keyed[rank].id;
    sorted.code_of[keyed[rank].id] = rank;
  }
  sorted.order = ColumnOrder();
  sorted.order.is_table_ = true;
  sorted.order.code_of_ = sorted.code_of;
  sorted.order.sorted_ = sorted.sorted;
}

// A record comes after all that it can hold, so that its fields have codes when it gets one.
// Numbers inside are compared as signed ones whatever they are: any order would do that is the same
// everywhere.
void ValueOrder::sort_records(Sorted& sorted) {
  const RecordTable& records = dictionary_->records();
  const ColumnOrder& symbols = for_kind(ValueKind::kSymbol);
  struct Placed {
    std::uint32_t depth = 0;
    Cell cell = 0;
  };
  std::vector<Placed> placed(records.size() + 1);  // by cell; nil has depth 0
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    Placed& place = placed[id + 1];
    place = {.depth = 1, .cell = id + 1};
    const Shape& shape = records.fields_of(records.shape_of(id));
    for (std::size_t f = 0; f < shape.size(); ++f)
      if (shape[f] == CellClass::kRecord)
        place.depth = std::max(place.depth, placed[records.cells(id)[f]].depth + 1);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) { return a.depth < b.depth; });
  sorted.sorted.resize(placed.size());
  sorted.code_of.resize(placed.size());
  const auto key = [&](CellClass field, Cell cell) -> std::int64_t {
    if (field == CellClass::kSymbol) return symbols.code(cell);
    if (field == CellClass::kRecord) return sorted.code_of[cell];
    return static_cast<std::int64_t>(dictionary_->decode(cell));
  };
  const auto is_less = [&](const Placed& a, const Placed& b) {
    const ShapeId shape = records.shape_of(a.cell - 1);
    if (shape != records.shape_of(b.cell - 1)) return shape < records.shape_of(b.cell - 1);
    const Shape& fields = records.fields_of(shape);
    const std::span<const Cell> left = records.cells(a.cell - 1);
    const std::span<const Cell> right = records.cells(b.cell - 1);
    for (std::size_t f = 0; f < fields.size(); ++f)
      if (left[f] != right[f]) return key(fields[f], left[f]) < key(fields[f], right[f]);
    return false;
  };
  for (std::size_t from = 0; from < placed.size();) {
    std::size_t to = from;
    while (to < placed.size() && placed[to].depth == placed[from].depth) ++to;
    const auto at = [&](std::size_t i) { return placed.begin() + static_cast<std::ptrdiff_t>(i); };
    if (placed[from].depth > 0) std::sort(at(from), at(to), is_less);
    for (; from < to; ++from) {
      sorted.sorted[from] = placed[from].cell;
      sorted.code_of[placed[from].cell] = static_cast<OrderCode>(from);
    }
  }
  sorted.order = ColumnOrder();
  sorted.order.is_table_ = true;
  sorted.order.code_of_ = sorted.code_of;
  sorted.order.sorted_ = sorted.sorted;
}

// Narrow cells stay together; wide values lie in front of them, behind them, or between negative
// and other ones.
void ValueOrder::sort_wides(ValueKind kind, Sorted& sorted) const {
  const std::span<const std::uint64_t> values = dictionary_->wides().values();
  sorted.sorted.resize(values.size());
  for (std::uint32_t id = 0; id < values.size(); ++id) sorted.sorted[id] = id;
  sort_by_runs(sorted.sorted, [&](Cell a, Cell b) {
    return value_key(kind, values[a]) < value_key(kind, values[b]);
  });
  const auto negatives = static_cast<std::uint32_t>(std::count_if(
      values.begin(), values.end(), [](auto bits) { return (bits & kSignBit) != 0; }));
  const auto all = static_cast<std::uint32_t>(values.size());
  ColumnOrder order;
  order.wides_in_first_run_ = negatives;
  switch (kind) {
    case ValueKind::kNumber:  // wide negative, narrow negative, narrow, wide
      order.first_wide_ = {0, negatives + kNarrowNegatives + kNegativeBase};
      order.first_negative_ = negatives;
      order.first_nonnegative_ = negatives + kNarrowNegatives;
      break;
    case ValueKind::kFloat:  // narrow negative (NaNs), wide negative, narrow (tiny), wide
      order.is_reversed_ = true;
      order.first_wide_ = {kNarrowNegatives, kNarrowNegatives + negatives + kNegativeBase};
      order.first_nonnegative_ = kNarrowNegatives + negatives;
      break;
    case ValueKind::kUnsigned:  // narrow, wide, narrow "negative"
    case ValueKind::kSymbol:
    case ValueKind::kRecord:
      order.wides_in_first_run_ = all;
      order.first_wide_ = {kNegativeBase, 0};
      order.first_negative_ = kNegativeBase + all;
      break;
  }
  sorted.code_of.resize(values.size());
  for (std::uint32_t rank = 0; rank < all; ++rank)
    sorted.code_of[sorted.sorted[rank]] =
        rank < order.wides_in_first_run_
            ? order.first_wide_[0] + rank
            : order.first_wide_[1] + (rank - order.wides_in_first_run_);
  order.code_of_ = sorted.code_of;
  order.sorted_ = sorted.sorted;
  sorted.order = order;
}

std::uint64_t ValueOrder::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const Sorted& sorted : by_kind_)
    bytes +=
        (sorted.code_of.capacity() * sizeof(OrderCode)) + (sorted.sorted.capacity() * sizeof(Cell));
  return bytes;
}

}  // namespace stratalog::datalog
