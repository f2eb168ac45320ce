// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/index_sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "relation/int_set.h"

namespace stratalog::datalog {
namespace {

// Of larger parts of relations so many rows are looked at, and of a set so many cells: fewer where
// there are many sets.
constexpr RowId kMostRows = 1U << 15;
constexpr std::uint64_t kLeastCells = 64;
constexpr std::uint64_t kCellsOfSets = 1U << 16;
// A row that holds so large a part of the tuples is always looked at.
constexpr std::uint64_t kLargeParts = 256;
// A sample of whole tuples takes at most so many of a row.
constexpr std::size_t kCellsOfRow = 4;

// `visit(cell, weight)` the cells of a set, of large ones a part that does not begin with the
// least: `most` of them, or of a bitmap those of so many words. Each stands for `weight` cells.
template <typename Visit>
void visit_some(const SetView& set, std::size_t most, const Visit& visit) {
  const auto step = [&](std::size_t size) { return std::max<std::size_t>(1, size / most); };
  switch (set.kind) {
    case SetKind::kArray: {
      const std::size_t one_in = step(set.values.size());
      for (std::size_t i = 0; i < set.values.size(); i += one_in) visit(set.values[i], one_in);
      return;
    }
    case SetKind::kOffsets: {
      const std::size_t one_in = step(set.offsets.size());
      for (std::size_t i = 0; i < set.offsets.size(); i += one_in)
        visit(set.base + set.offsets[i], one_in);
      return;
    }
    case SetKind::kBitmap: {
      const std::size_t one_in = step(set.words.size());
      for (std::size_t i = 0; i < set.words.size(); i += one_in)
        for (std::uint64_t left = set.words[i]; left != 0; left &= left - 1)
          visit(set.base + static_cast<Cell>(i * 64) + static_cast<Cell>(std::countr_zero(left)),
                one_in);
      return;
    }
    case SetKind::kRuns:
      for (std::size_t i = 0; i + 1 < set.offsets.size(); i += 2) {
        const std::uint32_t length = std::uint32_t{set.offsets[i + 1]} + 1;
        const auto one_in = static_cast<std::uint32_t>(step(length));
        for (std::uint32_t c = 0; c < length; c += one_in)
          visit(set.base + set.offsets[i] + c, one_in);
      }
      return;
  }
}

// Tuples of some rows, and of each a few.
void sample_index(const Index& home, std::uint64_t all_rows, TupleSample& sample) {
  const auto order = home.order();
  std::array<std::uint32_t, kMaxArity> places = {};  // by declared column
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<std::uint32_t>(i);
  const bool takes_all = all_rows <= kSampledTuples;
  const RowId one_in =
      takes_all ? 1 : static_cast<RowId>(sampling_step(home.row_count() * kCellsOfRow));
  for (RowId row = 0; row < home.row_count(); row += one_in) {
    const auto prefix = home.prefix(row);
    const IntSet& total = home.total(row);
    if (total.empty()) continue;
    std::size_t left = takes_all ? total.size() : kCellsOfRow;
    visit_some(total.view(), takes_all ? total.size() : kCellsOfRow,
               [&](Cell cell, std::size_t /*weight*/) {
                 if (left == 0) return;
                 --left;
                 sample.add([&](std::uint32_t column) {
                   const std::uint32_t place = places[column];
                   return place < prefix.size() ? prefix[place] : cell;
                 });
               });
  }
}

}  // namespace

void sketch_index(const Index& home, std::uint64_t all_rows, std::size_t first,
                  ColumnSketches& sketches, TupleSample& sample) {
  if (sample.is_wanted()) sample_index(home, all_rows, sample);
  const auto order = home.order();
  const RowId one_in = std::max<RowId>(1, home.row_count() / kMostRows);
  const std::uint64_t most =
      std::max(kLeastCells, kCellsOfSets / std::max<std::uint64_t>(home.row_count(), 1));
  const std::uint64_t large = std::max<std::uint64_t>(1, all_rows / kLargeParts);
  for (RowId row = 0; row < home.row_count(); ++row) {
    const IntSet& total = home.total(row);
    const bool is_large = one_in > 1 && total.size() >= large;
    if ((!is_large && row % one_in != 0) || total.empty()) continue;
    const std::uint64_t weight = is_large ? 1 : one_in;
    const auto prefix = home.prefix(row);
    for (std::size_t i = 0; i < prefix.size(); ++i)
      sketches.add(first + order[i], prefix[i], weight * total.size());
    visit_some(total.view(), most, [&](Cell cell, std::size_t of_set) {
      sketches.add(first + order[prefix.size()], cell, of_set * weight);
    });
  }
}

}  // namespace stratalog::datalog
