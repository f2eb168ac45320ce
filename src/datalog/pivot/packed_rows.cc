// SPDX-License-Identifier: Apache-2.0
// Row formats. Each row is one header word of 16 bits and its payload: kind in the top two bits, a
// count below.
//   offsets  count offsets, ascending
//   runs     count pairs (first offset, length - 1)
//   bitmap   4 * width words of 16 bits, least significant first
//   same     count and the next word are the high and the low part of a number: the row that begins
//            so many words before this one is this one, too; it is not of this kind itself
// Local.
#include "datalog/pivot/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/bit_row.h"

namespace stratalog {
namespace {

constexpr std::uint16_t kOffsetsTag = 0U << 14;
constexpr std::uint16_t kRunsTag = 1U << 14;
constexpr std::uint16_t kBitmapTag = 2U << 14;
constexpr std::uint16_t kSameTag = 3U << 14;
constexpr std::uint16_t kCountMask = (1U << 14) - 1;
constexpr std::uint64_t kFarthest = (std::uint64_t{1} << 30) - 1;

void set_run(std::uint64_t* words, std::uint32_t first, std::uint32_t last) {
  const std::uint64_t head = ~std::uint64_t{0} << (first % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - last % 64);
  if (first / 64 == last / 64) {
    words[first / 64] |= head & tail;
    return;
  }
  words[first / 64] |= head;
  for (std::uint32_t w = first / 64 + 1; w < last / 64; ++w) words[w] = ~std::uint64_t{0};
  words[last / 64] |= tail;
}

}  // namespace

void PackedRows::begin_row(SlotId slot) {
  sorted_ = sorted_ && (slots_.empty() || slots_.back() < slot);
  if (slots_.size() % kSkipRows == 0) skips_.push_back(stream_.size());
  slots_.push_back(slot);
}

void PackedRows::append(SlotId slot, const std::uint64_t* words, std::uint32_t width,
                        RecentRows& recent) {
  const std::uint64_t at = stream_.size();
  RecentRows::Row& known = recent.place_of(words, width);
  if (known.equals(words, width) && at - known.position <= kFarthest) {
    const std::uint64_t back = at - known.position;
    begin_row(slot);
    tuples_ += known.tuples;
    const std::uint16_t same[2] = {static_cast<std::uint16_t>(kSameTag | (back >> 16)),
                                   static_cast<std::uint16_t>(back)};
    stream_.insert(stream_.end(), same, same + 2);
    return;
  }
  const std::uint64_t before = tuples_;
  append(slot, words, width);
  // A reference to a single lane would be as large as the row.
  if (tuples_ - before > 1)
    known.set(words, width, at, static_cast<std::uint32_t>(tuples_ - before));
}

void PackedRows::append(SlotId slot, const std::uint64_t* words, std::uint32_t width) {
  std::uint64_t starts[kMaxRowWords];  // bits whose lower neighbour is not set: one for each run
  std::uint32_t count = 0;
  std::uint32_t runs = 0;
  std::uint64_t carry = 0;
  for (std::uint32_t w = 0; w < width; ++w) {
    starts[w] = words[w] & ~((words[w] << 1) | carry);
    count += static_cast<std::uint32_t>(std::popcount(words[w]));
    runs += static_cast<std::uint32_t>(std::popcount(starts[w]));
    carry = words[w] >> 63;
  }
  begin_row(slot);
  tuples_ += count;
  const std::uint32_t bitmap_size = 4 * width;
  std::uint16_t row[1 + 4 * kMaxRowWords + 3];  // header, payload, overrun of write_positions
  std::uint32_t size = bitmap_size;
  if (2 * runs < count && 2 * runs <= bitmap_size) {
    row[0] = static_cast<std::uint16_t>(kRunsTag | runs);
    size = 2 * runs;
    write_positions(starts, width, row + 1, 2);
    std::uint64_t ends[kMaxRowWords];
    for (std::uint32_t w = 0; w < width; ++w) {
      const std::uint64_t above = w + 1 < width ? words[w + 1] << 63 : 0;
      ends[w] = words[w] & ~((words[w] >> 1) | above);
    }
    write_positions(ends, width, row + 2, 2);
    for (std::uint32_t i = 1; i < size; i += 2)
      row[i + 1] = static_cast<std::uint16_t>(row[i + 1] - row[i]);
  } else if (count <= bitmap_size) {
    row[0] = static_cast<std::uint16_t>(kOffsetsTag | count);
    size = write_positions(words, width, row + 1, 1);
  } else {
    row[0] = static_cast<std::uint16_t>(kBitmapTag | count);
    std::memcpy(row + 1, words, std::size_t{width} * 8);
  }
  stream_.insert(stream_.end(), row, row + 1 + size);
}

std::uint64_t PackedRows::Cursor::place() const {
  const std::uint16_t* in = rows_->stream_.data() + at_;
  if (*in < kSameTag) return at_;
  return at_ - ((static_cast<std::uint64_t>(*in & kCountMask) << 16) | in[1]);
}

// A row as it is spelled out.
struct PackedRows::Spelled {
  const std::uint16_t* payload;
  std::uint32_t tag;
  std::uint32_t count;

  std::uint32_t payload_words(std::uint32_t width) const {
    if (tag == kBitmapTag) return 4 * width;
    return tag == kRunsTag ? 2 * count : count;
  }
  SetView view(Cell base, std::uint32_t width, std::uint64_t* words) const;
  template <bool kUnite>
  void unpack(std::uint32_t width, std::uint64_t* words) const;
};

template <bool kUnite>
void PackedRows::Spelled::unpack(std::uint32_t width, std::uint64_t* words) const {
  const std::uint16_t* const in = payload;
  if (!kUnite && tag != kBitmapTag) std::fill(words, words + width, 0);
  if (tag == kOffsetsTag) {
    for (std::uint32_t i = 0; i < count; ++i) words[in[i] / 64] |= std::uint64_t{1} << (in[i] % 64);
  } else if (tag == kRunsTag) {
    for (std::uint32_t i = 0; i < 2 * count; i += 2) set_run(words, in[i], in[i] + in[i + 1]);
  } else {
    std::uint64_t row[kMaxRowWords];
    std::memcpy(row, in, std::size_t{width} * 8);
    for (std::uint32_t w = 0; w < width; ++w) words[w] = (kUnite ? words[w] : 0) | row[w];
  }
}

SetView PackedRows::Spelled::view(Cell base, std::uint32_t width, std::uint64_t* words) const {
  SetView set;
  set.base = base;
  set.count = count;
  if (tag == kOffsetsTag) {
    set.kind = SetKind::kOffsets;
    set.offsets = {payload, count};
  } else if (tag == kRunsTag) {
    set.kind = SetKind::kRuns;
    set.offsets = {payload, std::size_t{2} * count};
    for (std::uint32_t i = 1; i < 2 * count; i += 2) set.count += payload[i];
  } else {
    std::memcpy(words, payload, std::size_t{width} * 8);
    set.kind = SetKind::kBitmap;
    set.words = {words, width};
  }
  return set;
}

PackedRows::Spelled PackedRows::spelled_at(std::uint64_t place) const {
  const std::uint16_t* const in = stream_.data() + place;
  return {.payload = in + 1,
          .tag = static_cast<std::uint32_t>(*in & ~kCountMask),
          .count = static_cast<std::uint32_t>(*in & kCountMask)};
}

SetView PackedRows::view_at(std::uint64_t place, Cell base, std::uint32_t width,
                            std::uint64_t* words) const {
  return spelled_at(place).view(base, width, words);
}

void PackedRows::read_at(std::uint64_t place, std::uint32_t width, std::uint64_t* words) const {
  spelled_at(place).unpack<false>(width, words);
}

// The row at the cursor as it is spelled out, here or before. Steps on.
PackedRows::Spelled PackedRows::Cursor::step() {
  const std::uint64_t from = place();
  const Spelled row = rows_->spelled_at(from);
  at_ += from == at_ ? 1 + row.payload_words(width_) : 2;
  ++row_;
  return row;
}

void PackedRows::Cursor::skip() { step(); }

std::span<const SlotId> PackedRows::Cursor::take(SlotId limit, std::size_t most,
                                                 std::uint64_t first, std::uint64_t* places) {
  std::span<const SlotId> slots = std::span(rows_->slots_).subspan(row_);
  slots = slots.first(std::min(most, slots.size()));
  if (!slots.empty() && slots.back() >= limit)
    slots = slots.first(static_cast<std::size_t>(
        std::lower_bound(slots.begin(), slots.end(), limit) - slots.begin()));
  const std::uint16_t* const stream = rows_->stream_.data();
  std::uint64_t at = at_;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint16_t head = stream[at];
    if (head >= kSameTag) {
      const std::uint64_t back =
          (static_cast<std::uint64_t>(head & kCountMask) << 16) | stream[at + 1];
      places[i] = first + at - back;
      at += 2;
    } else {
      places[i] = first + at;
      at += 1 + rows_->spelled_at(at).payload_words(width_);
    }
  }
  at_ = at;
  row_ += slots.size();
  return slots;
}

SetView PackedRows::Cursor::view(Cell base, std::uint64_t* words) {
  return step().view(base, width_, words);
}
void PackedRows::Cursor::read(std::uint64_t* words) { step().unpack<false>(width_, words); }
void PackedRows::Cursor::unite(std::uint64_t* words) { step().unpack<true>(width_, words); }

void PackedRows::clear() {
  slots_.clear();
  stream_.clear();
  skips_.clear();
  tuples_ = 0;
  sorted_ = true;
}

void PackedRows::shrink_to_fit() {
  slots_.shrink_to_fit();
  stream_.shrink_to_fit();
  skips_.shrink_to_fit();
}

bool PackedRows::unite_row(SlotId slot, std::uint32_t width, std::uint64_t* words) const {
  const auto at = std::lower_bound(slots_.begin(), slots_.end(), slot);
  if (at == slots_.end() || *at != slot) return false;
  const auto row = static_cast<std::uint64_t>(at - slots_.begin());
  Cursor cursor(*this, width);
  cursor.row_ = row / kSkipRows * kSkipRows;
  cursor.at_ = skips_[row / kSkipRows];
  while (cursor.row_ < row) cursor.step();
  cursor.unite(words);
  return true;
}

bool PackedRows::contains(SlotId slot, std::uint32_t offset, std::uint32_t width) const {
  std::uint64_t words[kMaxRowWords] = {};
  return unite_row(slot, width, words) && (words[offset / 64] >> (offset % 64) & 1) != 0;
}

}  // namespace stratalog
