// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/sorted_ranges.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "model/radix_sort.h"

namespace stratalog::datalog {
namespace {

// Per range; more make ranges more even (the relative deviation is about 1 / sqrt of this).
constexpr std::uint64_t kSamplesPerRange = 64;
constexpr std::uint64_t kMaxSlowFactor = 4;

bool is_row_less(const OrderCode* a, const OrderCode* b, std::uint32_t width) {
  return std::lexicographical_compare(a, a + width, b, b + width);
}

bool are_sorted(const CodeRows& rows, std::uint32_t width) {
  for (std::size_t at = width; at < rows.size(); at += width)
    if (is_row_less(&rows[at], &rows[at - width], width)) return false;
  return true;
}

// What a row is sorted by first, and the row itself where that is not all of it.
struct KeyedRow {
  std::uint64_t key;
  std::uint64_t row;
};

std::uint64_t first_two(const OrderCode* row) {
  return (static_cast<std::uint64_t>(row[0]) << 32) | row[1];
}

void sort_singles(CodeRows& rows) {
  std::vector<std::uint64_t> keys(rows.begin(), rows.end());
  radix_sort(keys, std::identity());
  for (std::size_t i = 0; i < keys.size(); ++i) rows[i] = static_cast<OrderCode>(keys[i]);
}

void sort_pairs(CodeRows& rows) {
  std::vector<std::uint64_t> keys(rows.size() / 2);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = first_two(&rows[2 * i]);
  radix_sort(keys, std::identity());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    rows[2 * i] = static_cast<OrderCode>(keys[i] >> 32);
    rows[(2 * i) + 1] = static_cast<OrderCode>(keys[i]);
  }
}

// By the first two columns, then runs of equal ones by the rest.
void sort_wide_rows(CodeRows& rows, std::uint32_t width) {
  std::vector<KeyedRow> keyed(rows.size() / width);
  for (std::size_t i = 0; i < keyed.size(); ++i)
    keyed[i] = {.key = first_two(&rows[i * width]), .row = i};
  radix_sort(keyed, [](const KeyedRow& k) { return k.key; });
  for (auto run = keyed.begin(); run != keyed.end();) {
    const auto end = std::find_if(run + 1, keyed.end(),
                                  [&](const KeyedRow& other) { return other.key != run->key; });
    if (end - run > 1)
      std::sort(run, end, [&](const KeyedRow& a, const KeyedRow& b) {
        return is_row_less(&rows[(a.row * width) + 2], &rows[(b.row * width) + 2], width - 2);
      });
    run = end;
  }
  CodeRows sorted;
  sorted.reserve(rows.size());
  for (const KeyedRow& k : keyed) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(k.row * width);
    sorted.insert(sorted.end(), first, first + width);
  }
  rows.swap(sorted);
}

CodeRows to_rows(std::span<const std::byte> bytes) {
  CodeRows rows(bytes.size() / sizeof(OrderCode));
  if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(OrderCode));
  return rows;
}

// Collective. `ranges` - 1 ascending rows, equal on all ranks, or fewer if there are not so many
// samples.
Result<CodeRows> choose_splitters(Comm& comm, const TupleSource& source, std::uint64_t total_rows,
                                  std::uint64_t ranges) {
  CodeRows mine;
  const std::uint64_t stride = std::max<std::uint64_t>(1, total_rows / (ranges * kSamplesPerRange));
  const Status sampled = ranges > 1 ? source.sample(stride, mine) : Status::ok();
  STRATALOG_RETURN_IF_ERROR(agree(comm, sampled));
  if (ranges == 1) return CodeRows();
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(std::span(mine))));
  CodeRows samples = to_rows(all.data);
  sort_rows(samples, source.width);
  const std::uint64_t count = samples.size() / source.width;
  CodeRows splitters;
  for (std::uint64_t r = 1; r < ranges && count != 0; ++r) {
    const auto first =
        samples.begin() + static_cast<std::ptrdiff_t>(r * count / ranges * source.width);
    splitters.insert(splitters.end(), first, first + source.width);
  }
  return splitters;
}

std::span<const OrderCode> splitter(const CodeRows& splitters, std::uint32_t width,
                                    std::uint64_t i) {
  if ((i + 1) * width > splitters.size()) return {};
  return std::span<const OrderCode>(splitters).subspan(i * width, width);
}

// Deals the rows of a pass to its ranges and exchanges them. `first` .. `first` + ranks - 2 are the
// pass's inner splitters.
Result<CodeRows> exchange_rows(Comm& comm, const CodeRows& rows, std::uint32_t width,
                               const CodeRows& splitters, std::uint64_t first) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const auto range_of = [&](const OrderCode* row) {
    std::uint64_t low = 0;
    std::uint64_t high = ranks - 1;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      const auto bound = splitter(splitters, width, first + middle);
      if (bound.empty() || is_row_less(row, bound.data(), width))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  std::vector<std::uint32_t> ranges(rows.size() / width);
  std::vector<std::uint64_t> counts(ranks, 0);  // rows
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i] = static_cast<std::uint32_t>(range_of(&rows[i * width]));
    ++counts[ranges[i]];
  }
  std::vector<std::uint64_t> starts(ranks);
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), std::uint64_t{0});
  CodeRows dealt(rows.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    std::copy_n(&rows[i * width], width, &dealt[starts[ranges[i]]++ * width]);
  for (std::uint64_t& count : counts) count *= width * sizeof(OrderCode);
  STRATALOG_ASSIGN_OR_RETURN(const Received received,
                             comm.exchange(std::as_bytes(std::span(dealt)), counts));
  return to_rows(received.data);
}

}  // namespace

void sort_rows(CodeRows& rows, std::uint32_t width) {
  if (are_sorted(rows, width)) return;
  if (width == 1)
    sort_singles(rows);
  else if (width == 2)
    sort_pairs(rows);
  else
    sort_wide_rows(rows, width);
}

Status for_each_sorted_range(Comm& comm, const TupleSource& source, const SortLimits& limits,
                             const RangeConsumer& consume) {
  std::array<std::uint64_t, 2> totals = {source.rows, source.skips_by_range ? 0U : 1U};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(totals, ReduceOp::kSum));
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const std::uint64_t factor = totals[1] == 0 ? 1 : kMaxSlowFactor;
  const std::uint64_t per_pass = std::max<std::uint64_t>(1, limits.rows_per_pass * factor) * ranks;
  std::uint64_t passes = std::max<std::uint64_t>(1, (totals[0] + per_pass - 1) / per_pass);
  STRATALOG_ASSIGN_OR_RETURN(const CodeRows splitters,
                             choose_splitters(comm, source, totals[0], passes * ranks));
  if (splitters.empty()) passes = 1;  // a source that promised rows and has none
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const std::uint64_t first = pass * ranks;
    RowRange range;
    if (pass != 0) range.from = splitter(splitters, source.width, first - 1);
    if (pass + 1 != passes) range.to = splitter(splitters, source.width, first + ranks - 1);
    CodeRows rows;
    STRATALOG_RETURN_IF_ERROR(agree(comm, source.collect(range, rows)));
    if (ranks > 1) {
      STRATALOG_ASSIGN_OR_RETURN(rows, exchange_rows(comm, rows, source.width, splitters, first));
    }
    sort_rows(rows, source.width);
    STRATALOG_RETURN_IF_ERROR(consume(rows));
  }
  return Status::ok();
}

}  // namespace stratalog::datalog
