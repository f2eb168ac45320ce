// SPDX-License-Identifier: Apache-2.0
#include "relation/row_directory.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <ranges>

#include "base/memory_end.h"

namespace stratalog {
namespace {

// A slot says a row with one bit to spare, and so does the first row of a rank.
constexpr RowId kMostRows = std::uint32_t{1} << 31;
constexpr RowId kHasList = kMostRows;

}  // namespace

void RowDirectory::assign_ascending(const PrefixMap& rows) {
  assert(ascending_ == 0 && slots_.size() == 0);
  if (rows.size() >= kMostRows) report_full_table();
  ascending_ = rows.size();
  if (!rows.buckets().empty()) return;
  const auto is_first = [&](RowId row) {
    return row == 0 || !begins_with(row, rows.key(row - 1).data(), rows);
  };
  std::uint32_t prefixes = 0;
  for (RowId row = 0; row < ascending_; ++row) prefixes += is_first(row) ? 1 : 0;
  RowId from = 0;
  if (length_ == 1) {
    firsts_.reserve(prefixes + std::size_t{1});
    for (RowId row = 0; row < ascending_; ++row)
      if (is_first(row)) firsts_.push_back(row);
    firsts_.push_back(ascending_);
    ranked_.assign(prefixes, [&](std::uint32_t rank) { return rows.key(firsts_[rank])[0]; });
    from = firsts_[ranked_.size()];
    prefixes -= ranked_.size();
    firsts_.resize(ranked_.size() + std::size_t{1});
    firsts_.shrink_to_fit();
  }
  if (prefixes == 0) return;
  const Keys keys{.directory = this, .rows = &rows};
  slots_.make_room(prefixes, 2 * (ascending_ - 1), keys);
  std::array<std::uint32_t, HashSlots::kAtOnce> numbers;  // NOLINT: filled as far as it is read
  for (RowId row = from; row < ascending_;) {
    std::size_t count = 0;
    for (; row < ascending_ && count < numbers.size(); ++row) {
      numbers[count] = 2 * row;
      count += is_first(row) ? 1 : 0;
    }
    slots_.put_many(std::span(numbers).first(count), keys);
  }
}

void RowDirectory::add(const PrefixMap& rows) {
  const RowId row = rows.size() - 1;
  if (row >= kMostRows) report_full_table();
  const Keys keys{.directory = this, .rows = &rows};
  slots_.make_room(1, (2 * row) + 1, keys);
  const Cell* const prefix = rows.key(row).data();
  const std::uint64_t hash = hash_of_key(prefix, length_);
  const std::size_t place = slots_.place_of(
      hash, [&](std::uint32_t number) { return begins_with(first_row(number), prefix, rows); });
  const std::uint32_t number = slots_.number_at(place);
  if (number != HashSlots::kAbsent && is_list(number)) {
    lists_[number / 2].rows.push_back(row);
    ++listed_rows_;
    return;
  }
  FoundRows before;
  if (number != HashSlots::kAbsent)
    before = rows_from(number / 2, rows);
  else
    before = rows.buckets().empty() ? rows_of_rank(prefix) : rows_of_bucket(prefix, rows);
  if (before.empty()) {
    slots_.put(place, 2 * row, hash);
    return;
  }
  List& list = lists_.emplace_back();
  list.first = before[0];
  list.rows.reserve(before.size() + 1);
  for (const RowId one : before) list.rows.push_back(one);
  list.rows.push_back(row);
  listed_rows_ += list.rows.size();
  const auto listed = static_cast<std::uint32_t>((2 * (lists_.size() - 1)) + 1);
  if (number != HashSlots::kAbsent) {
    slots_.replace(place, listed);
    return;
  }
  slots_.put(place, listed, hash);
  if (rows.buckets().empty()) firsts_[ranked_.find(*prefix)] |= kHasList;
}

void RowDirectory::prefetch_found(const Cell* prefix, const PrefixMap& rows) const {
  if (const std::uint32_t rank = ranked_.find(*prefix); rank != RankedCells::kAbsent)
    return prefetch_for_reading(firsts_.data() + rank);
  const auto [first, last] = rows.buckets().ends_of(prefix, length_);
  if (first.from < first.to) prefetch_for_reading(rows.key(first.middle()).data());
  if (last.from != first.from && last.from < last.to)
    prefetch_for_reading(rows.key(last.middle()).data());
  if (slots_.size() == 0) return;
  const std::uint32_t number = slots_.first_number(hash_of_key(prefix, length_));
  if (number != HashSlots::kAbsent) prefetch_for_reading(rows.key(first_row(number)).data());
}

FoundRows RowDirectory::rows_of_rank(const Cell* prefix) const {
  const std::uint32_t rank = ranked_.find(*prefix);
  if (rank == RankedCells::kAbsent || (firsts_[rank] & kHasList) != 0) return {};
  return {firsts_[rank], (firsts_[rank + 1] & ~kHasList) - firsts_[rank]};
}

FoundRows RowDirectory::rows_of_bucket(const Cell* prefix, const PrefixMap& rows) const {
  auto [first, last] = rows.buckets().ends_of(prefix, length_);
  const RowId from = rows.first_behind(first, prefix, length_, false);
  last.from = std::max(last.from, from);
  return {from, rows.first_behind(last, prefix, length_, true) - from};
}

FoundRows RowDirectory::find(const Cell* prefix, const PrefixMap& rows) const {
  if (const FoundRows ranked = rows_of_rank(prefix); !ranked.empty()) return ranked;
  if (slots_.size() == 0) return rows_of_bucket(prefix, rows);
  const std::uint32_t number = slots_.find(
      hash_of_key(prefix, length_),
      [&](std::uint32_t candidate) { return begins_with(first_row(candidate), prefix, rows); });
  if (number == HashSlots::kAbsent) return rows_of_bucket(prefix, rows);
  return is_list(number) ? FoundRows(lists_[number / 2].rows) : rows_from(number / 2, rows);
}

// Those with the prefix of `first`, which has no list: the last of them is found by doubling the
// distance, as most prefixes have few rows, and then by halving it.
FoundRows RowDirectory::rows_from(RowId first, const PrefixMap& rows) const {
  const Cell* const prefix = rows.key(first).data();
  const auto is_one = [&](RowId row) { return begins_with(row, prefix, rows); };
  std::uint64_t distance = 1;
  while (first + distance < ascending_ && is_one(static_cast<RowId>(first + distance)))
    distance *= 2;
  if (distance == 1) return {first, 1};
  const auto from = static_cast<RowId>(first + (distance / 2));
  const auto to = static_cast<RowId>(std::min<std::uint64_t>(first + distance, ascending_));
  const auto others = std::views::iota(from, to);
  const auto end = std::ranges::partition_point(others, is_one);
  return {first, static_cast<std::size_t>((from - first) + (end - others.begin()))};
}

std::uint64_t RowDirectory::heap_bytes() const {
  return ranked_.heap_bytes() + (firsts_.capacity() * sizeof(RowId)) + slots_.heap_bytes() +
         (lists_.capacity() * sizeof(List)) + (listed_rows_ * sizeof(RowId));
}

}  // namespace stratalog
