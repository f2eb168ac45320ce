// SPDX-License-Identifier: Apache-2.0
// The reading half of the pool encoding, of both its forms. It trusts nothing: the streams must fit
// the payload, every run must have a set that is there, and all must add up.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "encode/pool_codec.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

Status corrupt_pool(const std::string& what) {
  return Status::corruption(fmt::format("a pool of sets: {}", what));
}

}  // namespace

PoolDecoder::PoolDecoder(std::size_t prefix_cells)
    : prefix_(prefix_cells, 0), columns_(prefix_cells) {}

// Reads the head; in_ is at the first set then.
Status PoolDecoder::open_streams(std::span<const std::byte> payload, PoolForm form,
                                 std::uint64_t groups) {
  const std::byte* head = payload.data() + 4;
  const auto next_number = [&head] {
    const auto number = load_le<std::uint32_t>(head);
    head += 4;
    return number;
  };
  const std::size_t set_bytes = next_number();
  runs_ = form == PoolForm::kRuns ? next_number() : groups;
  const std::uint64_t rows = form == PoolForm::kRuns ? next_number() : 0;
  const std::uint64_t bits = form == PoolForm::kRuns ? next_number() : 0;
  if (runs_ > groups || rows > runs_)
    return corrupt_pool(fmt::format("{} rows and {} runs of {} groups", rows, runs_, groups));
  std::span<const std::byte> rest = payload.subspan(pool_head_bytes(prefix_.size(), form));
  if (set_bytes > rest.size()) return corrupt_pool("its sets reach beyond the payload");
  spelled_ = rest.first(set_bytes);
  in_ = ByteReader(spelled_);
  rest = rest.subspan(set_bytes);
  const auto open = [&](StreamUnpacker& stream, std::uint64_t values) {
    const std::size_t bytes = next_number();
    if (bytes > rest.size() || !stream.open(rest.first(bytes), values)) return false;
    rest = rest.subspan(bytes);
    return true;
  };
  bool good = true;
  for (StreamUnpacker& column : columns_) good = good && open(column, groups);
  good = good && open(run_sets_, runs_);
  if (form == PoolForm::kRuns)
    good = good && open(lengths_, runs_) && open(row_sizes_, rows) && open(row_bits_, bits);
  if (!good) return corrupt_pool("a stream does not fit");
  if (!rest.empty()) return corrupt_pool("bytes after the last stream");
  return Status::ok();
}

bool PoolDecoder::read_spelled(SpelledSet& what, SetView& set) {
  const unsigned tag = in_.byte();
  ++read_sets_;
  return in_.is_ok() && (tag & 0x30) == 0 && reader_.read_head(in_, tag, what) &&
         reader_.read_data(in_, what, set);
}

bool PoolDecoder::read_table() {
  SpelledSet what;
  SetView set;
  if (!read_spelled(what, set) || set.count > kMaxBitRowCells) return false;
  ++table_;
  table_cells_.clear();
  walk_set(set, [&](Cell cell) { table_cells_.push_back(cell); });
  return true;
}

// The next row, which differs from `before` by its bits.
bool PoolDecoder::read_row(const BitRowWords& before, Pooled& next) {
  if (table_ == 0 || row_sizes_.remaining() == 0) return false;
  const std::uint64_t size = std::uint64_t{row_sizes_.next()} + 1;
  if (size > table_cells_.size() || size > row_bits_.remaining()) return false;
  BitRowWords row = before;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < size; ++i, ++at) {
    at += row_bits_.next();
    if (at >= table_cells_.size()) return false;
    row[at / 64] ^= std::uint64_t{1} << (at % 64);
  }
  next.table = table_;
  next.row = last_row_ = row;
  return true;
}

// A set that has come: of the block's last table, or spelled out.
bool PoolDecoder::give(const Pooled& pooled, SetView& set) {
  if (pooled.table == 0) {
    // It was good when it was read for the first time.
    ByteReader again(spelled_.subspan(pooled.spelled.position));
    return reader_.read_data(again, pooled.spelled, set);
  }
  if (pooled.table != table_) return false;
  std::size_t count = 0;
  const BitPositions bits(pooled.row);
  for (const std::uint16_t bit : bits.all()) cells_[count++] = table_cells_[bit];
  set.values = std::span(cells_).first(count);
  set.count = count;
  return count != 0;
}

// The next set of the pool.
bool PoolDecoder::read_next(RunSet what, SetView& set) {
  Pooled& next = pool_.add();
  if (what == RunSet::kSpelled) {
    next.table = 0;
    return read_spelled(next.spelled, set);
  }
  if (what == RunSet::kTable) {
    if (!read_table()) return false;
    last_row_ = {};
  }
  return read_row(what == RunSet::kChanges ? last_row_ : BitRowWords{}, next) && give(next, set);
}

bool PoolDecoder::read_known(std::uint64_t back, SetView& set) {
  const Pooled* known = pool_.find(back);
  return known != nullptr && give(*known, set);
}

Status PoolDecoder::decode(std::span<const std::byte> payload, PoolForm form, std::uint64_t groups,
                           std::uint64_t rows, const GroupVisitor& visit) {
  if (prefix_.empty() || payload.size() < pool_head_bytes(prefix_.size(), form))
    return corrupt_pool("no prefixes, or the payload ends within its head");
  if (groups >= kPoolGroupLimit || rows >= kPoolRowLimit)
    return corrupt_pool(
        fmt::format("{} groups and {} tuples are more than a block has", groups, rows));
  const auto sets = load_le<std::uint32_t>(payload.data());
  STRATALOG_RETURN_IF_ERROR(open_streams(payload, form, groups));
  reader_.begin_block();
  pool_.clear();
  read_sets_ = table_ = 0;
  const bool has_runs = form == PoolForm::kRuns;
  const std::uint32_t back_from = has_runs ? kBackFrom : 0;
  std::uint64_t seen_groups = 0;
  std::uint64_t seen_rows = 0;
  for (std::uint64_t run = 0; run < runs_; ++run) {
    const std::uint32_t what = run_sets_.next();
    SetView set;
    const bool good = what <= back_from ? read_next(static_cast<RunSet>(what), set)
                                        : read_known(what - back_from, set);
    if (!good) return corrupt_pool(fmt::format("run {} has no set, or a bad one", run));
    const std::uint64_t length = has_runs ? std::uint64_t{lengths_.next()} + 1 : std::uint64_t{1};
    seen_groups += length;
    seen_rows += length * set.count;
    if (seen_groups > groups || seen_rows > rows) break;
    for (std::uint64_t g = 0; g < length; ++g) {
      for (std::size_t c = 0; c < columns_.size(); ++c) prefix_[c] = columns_[c].next();
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = prefix_, .set = set}));
    }
  }
  if (seen_rows != rows || seen_groups != groups)
    return corrupt_pool(fmt::format("{} groups with {} tuples expected, {} with {} found", groups,
                                    rows, seen_groups, seen_rows));
  if (in_.remaining() != 0 || read_sets_ != sets)
    return corrupt_pool(fmt::format("{} sets expected, {} found", sets, read_sets_));
  if (has_runs && (row_sizes_.remaining() != 0 || row_bits_.remaining() != 0))
    return corrupt_pool("rows that no run has");
  return Status::ok();
}

}  // namespace stratalog
