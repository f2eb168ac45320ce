// SPDX-License-Identifier: Apache-2.0
// The writing half of the pool encoding. Most groups of large closures have the set of the group
// before, and pass here as a part of a run; most rows that are new differ from the one before in a
// few bits, which is what is written.
#include <algorithm>
#include <bit>
#include <cstring>

#include "encode/byte_order.h"
#include "encode/pool_codec.h"

namespace stratalog {
namespace {

constexpr unsigned kPooledBits = 12;
static_assert(kPoolReach >= 1U << kPooledBits);  // whatever the table knows may be named

bool fits_one_fragment(const SetView& set) {
  if (set.kind == SetKind::kBitmap) return set.words.size() <= kCompactLimits.words;
  return set.count <= kCompactLimits.elements;
}

}  // namespace

PoolEncoder::PoolEncoder(std::size_t prefix_cells)
    : columns_(prefix_cells, StreamPacker(UnitForm::kDifferences)),
      known_(std::size_t{1} << kPooledBits) {}

void PoolEncoder::begin_block() {
  sets_.begin_block();
  spelled_ = 0;
  pooled_ = 0;
  groups_ = 0;
  run_groups_ = 0;
  table_ = 0;
  std::fill(known_.begin(), known_.end(), Known());
}

PoolEncoder::Known& PoolEncoder::place_of(std::uint64_t content) {
  return known_[place_of_content(content, kPooledBits)];
}

bool PoolEncoder::reaches(const Known& known, std::uint64_t content) const {
  return content != 0 && known.content == content && pooled_ - known.number <= kPoolReach;
}

PoolEncoder::Known PoolEncoder::remember(const Known& set) {
  if (set.content != 0) place_of(set.content) = set;
  return set;
}

PoolEncoder::Known PoolEncoder::add_set(const SetView& set, std::uint64_t content,
                                        std::byte*& sets) {
  sets = sets_.encode({}, set, sets);
  ++spelled_;
  next_ = RunSet::kSpelled;
  return remember(
      {.content = content, .number = pooled_++, .count = static_cast<std::uint32_t>(set.count)});
}

// A row that is not known by its content. It may still be the last one.
PoolEncoder::Known PoolEncoder::add_row(const BitRow& row, std::uint64_t content,
                                        ZoneBuilder& zones, std::byte*& sets) {
  next_ = RunSet::kChanges;
  if (table_ != row.table) {
    table_ = row.table;
    SetView cells;
    cells.values = row.cells;
    cells.count = row.cells.size();
    sets = sets_.encode({}, cells, sets);
    ++spelled_;
    last_row_ = {};
    last_number_ = kNoNumber;
    next_ = RunSet::kTable;
  }
  const BitRowChanges changes = changes_between(row, last_row_);
  const bool is_last = changes.changed == 0;
  if (is_last && pooled_ - last_number_ <= kPoolReach) {
    next_ = std::nullopt;
    return remember({.content = content, .number = last_number_, .count = changes.count});
  }
  const bool is_anew = next_ == RunSet::kChanges && (is_last || changes.changed >= changes.count);
  if (is_anew) next_ = RunSet::kRow;
  const BitPositions bits(is_anew ? row.words : std::span(changes.words).first(row.words.size()));
  row_sizes_.put(static_cast<std::uint32_t>(bits.all().size() - 1));
  row_bits_.put_gaps(bits.all(), std::uint16_t{0xFFFF});
  std::size_t first = 0;
  std::size_t last = row.words.size() - 1;
  while (row.words[first] == 0) ++first;
  while (row.words[last] == 0) --last;
  zones.add_last(
      row.cells[(first * 64) + static_cast<unsigned>(std::countr_zero(row.words[first]))],
      row.cells[(last * 64) + 63 - static_cast<unsigned>(std::countl_zero(row.words[last]))]);
  std::copy(row.words.begin(), row.words.end(), last_row_.begin());
  last_number_ = pooled_++;
  return remember({.content = content, .number = last_number_, .count = changes.count});
}

void PoolEncoder::put_run(const Known& set, std::uint32_t groups) {
  groups_ += groups;
  if (run_groups_ != 0 && run_number_ == set.number) {
    run_groups_ += groups;
    return;
  }
  close_run();
  run_groups_ = groups;
  run_number_ = set.number;
  run_set_ = next_ ? static_cast<std::uint32_t>(*next_) : kBackFrom + pooled_ - set.number;
  next_.reset();
}

void PoolEncoder::close_run() {
  if (run_groups_ == 0) return;
  run_sets_.put(run_set_);
  lengths_.put(run_groups_ - 1);
  run_groups_ = 0;
}

std::byte* PoolEncoder::add(std::span<const Cell> prefix, const SetView& set, std::uint64_t content,
                            std::byte* sets) {
  for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].put(prefix[c]);
  Known known = place_of(content);
  if (!reaches(known, content)) known = add_set(set, content, sets);
  put_run(known, 1);
  return sets;
}

PoolEncoder::Added PoolEncoder::add(const GroupBatch& batch, BatchPlace& place, const Room& room,
                                    ZoneBuilder& zones, std::byte* sets) {
  const std::byte* const full = sets + room.bytes;
  const std::size_t last_run = std::min(batch.runs(), place.run + kPackedValues);
  const std::size_t first_group = place.group;
  Added added{.end = sets};
  while (place.run < last_run && added.rows < room.rows && added.groups < room.groups) {
    const std::uint64_t content = batch.contents[place.run];
    Known known = place_of(content);
    if (!reaches(known, content)) {
      if (added.end >= full) break;
      const BitRow row = batch.sets.row(place.run);
      if (!row.words.empty()) {
        known = add_row(row, content, zones, added.end);
      } else {
        const SetView set = batch.sets.set(place.run);
        if (!fits_one_fragment(set)) break;
        zones.add_set(set);
        known = add_set(set, content, added.end);
      }
    }
    const std::uint32_t left = batch.lengths[place.run] - place.in_run;
    auto groups = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        {left, room.groups - added.groups, ((room.rows - added.rows - 1) / known.count) + 1}));
    put_run(known, groups);
    added.groups += groups;
    added.rows += std::uint64_t{groups} * known.count;
    place.in_run += groups;
    if (groups == left) {
      ++place.run;
      place.in_run = 0;
    }
  }
  place.group += added.groups;
  const std::size_t cells = columns_.size();
  const std::span prefixes = batch.prefixes.subspan(first_group * cells, added.groups * cells);
  if (cells == 1) {
    columns_[0].put_all(prefixes);
    return added;
  }
  for (std::size_t c = 0; c < cells; ++c)
    for (std::size_t at = c; at < prefixes.size(); at += cells) columns_[c].put(prefixes[at]);
  return added;
}

std::size_t PoolEncoder::stream_bytes() const {
  std::size_t bytes = run_sets_.packed_bytes() + lengths_.packed_bytes() +
                      row_sizes_.packed_bytes() + row_bits_.packed_bytes();
  for (const StreamPacker& column : columns_) bytes += column.packed_bytes();
  return bytes;
}

std::byte* PoolEncoder::finish(std::byte* payload, std::byte* end) {
  close_run();
  const std::size_t set_bytes =
      static_cast<std::size_t>(end - payload) - pool_head_bytes(columns_.size());
  std::byte* head = payload;
  const auto put_number = [&](std::uint64_t number) {
    store_le(head, static_cast<std::uint32_t>(number));
    head += 4;
  };
  for (const std::uint64_t number : {std::uint64_t{spelled_}, std::uint64_t{set_bytes},
                                     run_sets_.values(), row_sizes_.values(), row_bits_.values()})
    put_number(number);
  const auto put = [&](StreamPacker& stream) {
    stream.finish();
    put_number(stream.finished_bytes());
    end = stream.copy_to(end);
    stream.clear();
  };
  for (StreamPacker& column : columns_) put(column);
  for (StreamPacker* stream : {&run_sets_, &lengths_, &row_sizes_, &row_bits_}) put(*stream);
  return end;
}

}  // namespace stratalog
