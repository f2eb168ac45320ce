// SPDX-License-Identifier: Apache-2.0
#include "model/multiset_hash.h"

#include <algorithm>
#include <bit>

#include "model/bit_row.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

constexpr std::uint32_t kPageCells = 512;
constexpr std::size_t kPages = 1024;  // that are kept at once
constexpr std::size_t kRowBytes = kPageCells / 8;
constexpr std::size_t kRowNibbles = kPageCells / 4;
// Rows with one base after which prefix sums and tables of half bytes are worth their making; they
// cost about as much as hashing that many rows without them.
constexpr std::uint32_t kRowsBeforeSums = 8;
constexpr std::uint32_t kRowsBeforeNibbles = 16;
constexpr unsigned kKnownBits = 11;
constexpr std::size_t kFactorsAtOnce = 256;

// The factors of many cells of one column. Inlined into functions for different processors, which
// is what makes it quick: it is all multiplications of 64 bits.
[[gnu::always_inline]] inline void factors_of(const Cell* cells, std::size_t count,
                                              std::uint32_t column, std::uint64_t* lows,
                                              std::uint64_t* highs) {
  for (std::size_t i = 0; i < count; ++i) {
    const ColumnFactors f = column_factors(cells[i], column);
    lows[i] = f.low;
    highs[i] = f.high;
  }
}

// Their sums alone.
[[gnu::always_inline]] inline ColumnFactors sum_of_factors(const Cell* cells, std::size_t count,
                                                           std::uint32_t column) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ColumnFactors f = column_factors(cells[i], column);
    low += f.low;
    high += f.high;
  }
  return {.low = low, .high = high};
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512dq,avx512vl")]] ColumnFactors sum_factors_avx512(
    const Cell* cells, std::size_t count, std::uint32_t column) {
  return sum_of_factors(cells, count, column);
}

[[gnu::target("avx512f,avx512dq,avx512vl")]] void find_factors_avx512(const Cell* cells,
                                                                      std::size_t count,
                                                                      std::uint32_t column,
                                                                      std::uint64_t* lows,
                                                                      std::uint64_t* highs) {
  factors_of(cells, count, column, lows, highs);
}
#endif

#if defined(__x86_64__)
bool has_avx512() {
  static const bool kHas =
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return kHas;
}
#endif

void find_factors(const Cell* cells, std::size_t count, std::uint32_t column, std::uint64_t* lows,
                  std::uint64_t* highs) {
#if defined(__x86_64__)
  if (has_avx512()) return find_factors_avx512(cells, count, column, lows, highs);
#endif
  factors_of(cells, count, column, lows, highs);
}

ColumnFactors sum_factors(const Cell* cells, std::size_t count, std::uint32_t column) {
#if defined(__x86_64__)
  if (has_avx512()) return sum_factors_avx512(cells, count, column);
#endif
  return sum_of_factors(cells, count, column);
}

}  // namespace

// Prefix sums of g over 512 cells.
struct GroupHasher::Page {
  std::uint32_t number = 0;  // of pages: the first cell, divided by 512
  std::array<Sum, kPageCells + 1> sums{};
};

// What each value of each half byte of a row adds: 32 KiB, which stay near the processor.
struct GroupHasher::NibbleTables {
  std::array<std::array<Sum, 16>, kRowNibbles> nibbles;
};

// Of a set that may come again.
struct GroupHasher::KnownSum {
  std::uint64_t content = ~std::uint64_t{0};
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// The last row of bits, and what each of its cells adds.
struct GroupHasher::LastRow {
  std::uint64_t table = 0;
  BitRowWords words{};
  Sum sum{};
  std::array<Sum, kMaxBitRowCells> cells;
};

GroupHasher::GroupHasher(std::span<const std::uint32_t> column_order)
    : column_order_(column_order) {}
GroupHasher::~GroupHasher() = default;
GroupHasher::GroupHasher(GroupHasher&&) noexcept = default;
GroupHasher& GroupHasher::operator=(GroupHasher&&) noexcept = default;

GroupHasher::Sum GroupHasher::factors(Cell cell) const {
  const ColumnFactors f = column_factors(cell, column_order_.back());
  return Sum{f.low, f.high};
}

void GroupHasher::fill(Page& page, Cell first) const {
  Sum sum = {};
  for (std::uint32_t i = 0; i < kPageCells; ++i) {
    sum += factors(first + i);
    page.sums[i + 1] = sum;
  }
}

// The page, or nullptr while so few of its elements have come by that it is not worth making.
const GroupHasher::Page* GroupHasher::page_at(std::uint32_t number, std::uint64_t about_to_hash) {
  if (pages_.empty()) {
    pages_.resize(kPages);
    heat_.resize(kPages);
  }
  const std::size_t slot = number % kPages;
  Page* page = pages_[slot].get();
  if (page != nullptr && page->number == number) return page;
  heat_[slot] += static_cast<std::uint32_t>(about_to_hash);
  if (heat_[slot] < kPageCells) return nullptr;
  heat_[slot] = 0;
  if (page == nullptr) {
    pages_[slot] = std::make_unique<Page>();
    page = pages_[slot].get();
  }
  page->number = number;
  fill(*page, number * kPageCells);
  return page;
}

// The page if it was made, else nullptr.
const GroupHasher::Page* GroupHasher::known_page(std::uint32_t number) const {
  if (pages_.empty()) return nullptr;
  const Page* page = pages_[number % kPages].get();
  return page != nullptr && page->number == number ? page : nullptr;
}

// Of the cells first .. end - 1.
GroupHasher::Sum GroupHasher::sum_range(std::uint64_t first, std::uint64_t end) {
  Sum sum = {};
  while (first < end) {
    const auto number = static_cast<std::uint32_t>(first / kPageCells);
    const std::uint64_t page_end = (std::uint64_t{number} + 1) * kPageCells;
    const std::uint64_t stop = std::min(end, page_end);
    const Page* page = page_at(number, stop - first);
    if (page != nullptr) {
      const std::uint64_t start = page_end - kPageCells;
      sum += page->sums[stop - start] - page->sums[first - start];
    } else {
      for (std::uint64_t cell = first; cell < stop; ++cell) sum += factors(static_cast<Cell>(cell));
    }
    first = stop;
  }
  return sum;
}

GroupHasher::Sum GroupHasher::sum_array(std::span<const Cell> cells) const {
  const ColumnFactors sum = sum_factors(cells.data(), cells.size(), column_order_.back());
  return Sum{sum.low, sum.high};
}

GroupHasher::Sum GroupHasher::sum_offsets(Cell base, std::span<const std::uint16_t> offsets) {
  Sum sum = {};
  const Page* page = nullptr;
  for (const std::uint16_t offset : offsets) {
    const Cell cell = base + offset;
    const std::uint32_t number = cell / kPageCells;
    if (page == nullptr || page->number != number) page = page_at(number, 1);
    if (page != nullptr)
      sum += page->sums[(cell % kPageCells) + 1] - page->sums[cell % kPageCells];
    else
      sum += factors(cell);
  }
  return sum;
}

GroupHasher::Sum GroupHasher::sum_runs(Cell base, std::span<const std::uint16_t> runs) {
  Sum sum = {};
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    const std::uint64_t first = std::uint64_t{base} + runs[i];
    sum += sum_range(first, first + runs[i + 1] + 1);
  }
  return sum;
}

// Run by run; the page of the run before is at hand, because most runs are short.
GroupHasher::Sum GroupHasher::sum_bits(Cell base, std::span<const std::uint64_t> words) {
  Sum sum = {};
  std::uint64_t carry = 0;
  std::uint64_t start = 0;
  bool inside = false;
  const Sum* sums = nullptr;
  std::uint64_t page_begin = 0;
  std::uint64_t page_end = 0;
  const auto add_run = [&](std::uint64_t end) {
    if (start >= page_begin && end <= page_end) {
      sum += sums[end - page_begin] - sums[start - page_begin];
      return;
    }
    sum += sum_range(start, end);
    // Sums are made, and give way to others, in sum_range() only.
    const Page* page = known_page(static_cast<std::uint32_t>(end / kPageCells));
    sums = page == nullptr ? nullptr : page->sums.data();
    page_begin = end / kPageCells * kPageCells;
    page_end = page == nullptr ? page_begin : page_begin + kPageCells;
  };
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint64_t word = words[w];
    for (std::uint64_t changes = word ^ ((word << 1) | carry); changes != 0;
         changes &= changes - 1) {
      const std::uint64_t at =
          base + (w * 64) + static_cast<std::uint64_t>(std::countr_zero(changes));
      if (inside) add_run(at);
      start = at;
      inside = !inside;
    }
    carry = word >> 63;
  }
  if (inside) add_run(base + (words.size() * 64));
  return sum;
}

// Whether `set` is one of many rows with its base, for which the prefix sums are then made.
bool GroupHasher::enter_row(const SetView& set) {
  bool fits = false;
  switch (set.kind) {
    case SetKind::kArray:
      return false;
    case SetKind::kOffsets:
      fits = !set.offsets.empty() && set.offsets.back() < kPageCells;
      break;
    case SetKind::kRuns:
      fits = set.offsets.size() >= 2 && set.offsets.back() + set.offsets[set.offsets.size() - 2] <
                                            static_cast<int>(kPageCells);
      break;
    case SetKind::kBitmap:
      fits = set.words.size() * 8 <= kRowBytes;
      break;
  }
  if (!fits) return false;
  if (rows_ == 0 || set.base != row_base_) {
    row_base_ = set.base;
    rows_ = 0;
    bitmap_rows_ = 0;
  }
  if (rows_ > kRowsBeforeSums) return true;
  if (++rows_ <= kRowsBeforeSums) return false;
  if (row_ == nullptr) row_ = std::make_unique<Page>();
  fill(*row_, row_base_);
  return true;
}

void GroupHasher::make_nibble_tables() {
  if (row_nibbles_ == nullptr) row_nibbles_ = std::make_unique<NibbleTables>();
  for (std::uint32_t n = 0; n < kRowNibbles; ++n) {
    auto& sums = row_nibbles_->nibbles[n];
    sums[0] = Sum{};
    for (std::uint32_t bit = 0; bit < 4; ++bit) {
      const Sum added = row_->sums[(n * 4) + bit + 1] - row_->sums[(n * 4) + bit];
      for (std::uint32_t below = 0; below < 1U << bit; ++below)
        sums[(1U << bit) + below] = sums[below] + added;
    }
  }
}

GroupHasher::Sum GroupHasher::sum_row(const SetView& row) {
  const auto& sums = row_->sums;
  Sum sum = {};
  if (row.kind == SetKind::kOffsets) {
    for (const std::uint16_t offset : row.offsets) sum += sums[offset + 1] - sums[offset];
    return sum;
  }
  if (row.kind == SetKind::kRuns) {
    for (std::size_t i = 0; i < row.offsets.size(); i += 2) {
      const std::uint32_t first = row.offsets[i];
      sum += sums[first + row.offsets[i + 1] + 1] - sums[first];
    }
    return sum;
  }
  if (bitmap_rows_ <= kRowsBeforeNibbles) {
    ++bitmap_rows_;
    if (bitmap_rows_ > kRowsBeforeNibbles) make_nibble_tables();
  }
  if (bitmap_rows_ <= kRowsBeforeNibbles) return sum_bits(row.base, row.words);
  const auto* nibbles = row_nibbles_->nibbles.data();
  Sum odd = {};
  for (std::size_t w = 0; w < row.words.size(); ++w, nibbles += 16) {
    std::uint64_t word = row.words[w];
    if (word == 0) continue;
    for (std::size_t n = 0; n < 16; n += 2, word >>= 8) {
      sum += nibbles[n][word & 0xF];
      odd += nibbles[n + 1][(word >> 4) & 0xF];
    }
  }
  return sum + odd;
}

GroupHasher::Sum GroupHasher::sum_set(const SetView& set) {
  if (enter_row(set)) return sum_row(set);
  switch (set.kind) {
    case SetKind::kArray:
      return sum_array(set.values);
    case SetKind::kOffsets:
      return sum_offsets(set.base, set.offsets);
    case SetKind::kRuns:
      return sum_runs(set.base, set.offsets);
    case SetKind::kBitmap:
      break;
  }
  return sum_bits(set.base, set.words);
}

MultisetHash GroupHasher::prefix_product(std::span<const Cell> prefix) const {
  MultisetHash product{.low = 1, .high = 1};
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    const ColumnFactors f = column_factors(prefix[i], column_order_[i]);
    product.low *= f.low;
    product.high *= f.high;
  }
  return product;
}

MultisetHash GroupHasher::hash(const TupleGroup& group) {
  const MultisetHash product = prefix_product(group.prefix);
  const Sum sum = sum_set(group.set);
  return {.low = product.low * sum[0], .high = product.high * sum[1]};
}

void GroupHasher::enter_table(const BitRow& row) {
  if (last_row_ == nullptr) last_row_ = std::make_unique<LastRow>();
  if (last_row_->table == row.table) return;
  last_row_->table = row.table;
  last_row_->words = {};
  last_row_->sum = Sum{};
  std::array<std::uint64_t, kFactorsAtOnce> lows;  // NOLINT: filled as far as it is read
  std::array<std::uint64_t, kFactorsAtOnce> highs;  // NOLINT
  for (std::size_t begin = 0; begin < row.cells.size(); begin += kFactorsAtOnce) {
    const std::size_t count = std::min(row.cells.size() - begin, kFactorsAtOnce);
    find_factors(row.cells.data() + begin, count, column_order_.back(), lows.data(), highs.data());
    for (std::size_t i = 0; i < count; ++i) last_row_->cells[begin + i] = Sum{lows[i], highs[i]};
  }
}

// From the sum of the row before, where the two have more in common than not.
GroupHasher::Sum GroupHasher::sum_bit_row(const BitRow& row) {
  enter_table(row);
  LastRow& last = *last_row_;
  BitRowChanges changes = changes_between(row, last.words);
  Sum sum = last.sum;
  if (changes.changed > changes.count) {
    sum = Sum{};
    std::copy(row.words.begin(), row.words.end(), changes.words.begin());
  }
  const BitPositions bits(std::span(changes.words).first(row.words.size()));
  for (const std::uint16_t bit : bits.all()) {
    const std::uint64_t sign = ((row.words[bit / 64] >> (bit % 64)) & 1) - 1;  // all ones: taken
    sum += (last.cells[bit] ^ sign) - sign;
  }
  std::copy(row.words.begin(), row.words.end(), last.words.begin());
  last.sum = sum;
  return sum;
}

// Of a run whose set is looked at only where its content is not known.
GroupHasher::KnownSum GroupHasher::sum_of_run(const GroupBatch& batch, std::size_t run) {
  const std::uint64_t content = batch.contents[run];
  KnownSum& known = known_[place_of_content(content, kKnownBits)];
  if (content != 0 && known.content == content) return known;
  const BitRow row = batch.sets.row(run);
  const Sum sum = row.words.empty() ? sum_set(batch.sets.set(run)) : sum_bit_row(row);
  const KnownSum found{.content = content, .low = sum[0], .high = sum[1]};
  if (content != 0) known = found;
  return found;
}

// Prefixes of one cell: by far the most common. Their factors come first, many at once; those of
// the groups of a run are added before they meet the sum of its set.
MultisetHash GroupHasher::hash_single_cells(const GroupBatch& batch) {
  std::array<std::uint64_t, kFactorsAtOnce> lows;  // NOLINT: filled as far as it is read
  std::array<std::uint64_t, kFactorsAtOnce> highs;  // NOLINT
  MultisetHash all;
  std::size_t run = 0;
  std::size_t left = 0;  // groups of the run before `run`
  KnownSum sum;
  for (std::size_t begin = 0; begin < batch.prefixes.size(); begin += kFactorsAtOnce) {
    const std::size_t count = std::min(batch.prefixes.size() - begin, kFactorsAtOnce);
    find_factors(batch.prefixes.data() + begin, count, column_order_[0], lows.data(), highs.data());
    for (std::size_t i = 0; i < count;) {
      if (left == 0) {
        left = batch.lengths[run];
        sum = sum_of_run(batch, run++);
      }
      const std::size_t end = std::min(count, i + left);
      left -= end - i;
      std::uint64_t low = 0;
      std::uint64_t high = 0;
      for (; i < end; ++i) {
        low += lows[i];
        high += highs[i];
      }
      all += {.low = low * sum.low, .high = high * sum.high};
    }
  }
  return all;
}

MultisetHash GroupHasher::hash(const GroupBatch& batch) {
  if (known_.empty()) known_.resize(std::size_t{1} << kKnownBits);
  if (batch.prefix_cells == 1) return hash_single_cells(batch);
  MultisetHash all;
  std::size_t group = 0;
  for (std::size_t run = 0; run < batch.runs(); ++run) {
    MultisetHash factors;
    for (std::uint32_t i = 0; i < batch.lengths[run]; ++i)
      factors += prefix_product(batch.prefix(group++));
    const KnownSum sum = sum_of_run(batch, run);
    all += {.low = factors.low * sum.low, .high = factors.high * sum.high};
  }
  return all;
}

MultisetHash hash_group(const TupleGroup& group, std::span<const std::uint32_t> column_order) {
  MultisetHash product{.low = 1, .high = 1};
  for (std::size_t i = 0; i < group.prefix.size(); ++i) {
    const ColumnFactors f = column_factors(group.prefix[i], column_order[i]);
    product.low *= f.low;
    product.high *= f.high;
  }
  const std::uint32_t last = column_order[column_order.size() - 1];
  MultisetHash sum;
  walk_set(group.set, [&](Cell cell) {
    const ColumnFactors f = column_factors(cell, last);
    sum.low += f.low;
    sum.high += f.high;
  });
  return {.low = product.low * sum.low, .high = product.high * sum.high};
}

MultisetHash hash_tuple(std::span<const Cell> tuple) {
  MultisetHash product{.low = 1, .high = 1};
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    const ColumnFactors f = column_factors(tuple[i], static_cast<std::uint32_t>(i));
    product.low *= f.low;
    product.high *= f.high;
  }
  return product;
}

}  // namespace stratalog
