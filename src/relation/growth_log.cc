// SPDX-License-Identifier: Apache-2.0
#include "relation/growth_log.h"

#include <algorithm>
#include <cstring>

#include "model/set_union.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

std::uint8_t* put(std::uint8_t* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::uint8_t>(value | 0x80);
  *to++ = static_cast<std::uint8_t>(value);
  return to;
}

class SegmentWriter {
 public:
  void reserve_words(std::size_t words) { segment_.words.reserve(words); }
  // An array, or a bitmap from a multiple of 64 on; rows ascend.
  void add(RowId row, const SetView& set) {
    if (set.count == 0) return;
    segment_.tuples += set.count;
    row_distance_ = row - row_;
    row_ = row;
    if (set.kind == SetKind::kBitmap) {
      add_bitmap(set);
      return;
    }
    const std::uint64_t first = set.values.front() / 64;
    const std::uint64_t words = (set.values.back() / 64) - first + 1;
    if (!suits_bitmap(words, set.count)) {
      add_list(set);
      return;
    }
    put_bitmap_head(set.count, first, words);
    const std::size_t at = segment_.words.size();
    segment_.words.resize(at + words);
    mark_cells(set.values, first, segment_.words.data() + at);
  }
  std::shared_ptr<const GrowthSegment> finish(std::uint32_t tier) {
    segment_.tier = tier;
    segment_.bytes.shrink_to_fit();
    if (segment_.words.capacity() / 8 * 7 > segment_.words.size()) segment_.words.shrink_to_fit();
    return std::make_shared<const GrowthSegment>(std::move(segment_));
  }

 private:
  // Of one LEB128 number.
  static constexpr std::size_t kMostBytes = 10;

  void add_bitmap(const SetView& set) {
    std::span<const std::uint64_t> words = set.words;
    std::uint64_t first = set.base / 64;
    while (words.back() == 0) words = words.first(words.size() - 1);
    while (words.front() == 0) {
      words = words.subspan(1);
      ++first;
    }
    if (!suits_bitmap(words.size(), set.count)) {
      add_list(set);
      return;
    }
    put_bitmap_head(set.count, first, words.size());
    segment_.words.insert(segment_.words.end(), words.begin(), words.end());
  }
  void put_bitmap_head(std::uint64_t count, std::uint64_t first, std::uint64_t words) {
    std::uint8_t head[4 * kMostBytes];
    std::uint8_t* to = put(head, row_distance_);
    to = put(to, (count * 2) + 1);
    to = put(to, first);
    to = put(to, words);
    segment_.bytes.insert(segment_.bytes.end(), head, to);
  }
  void add_list(const SetView& set) {
    constexpr std::size_t kPieceBytes = 512;
    std::uint8_t piece[kPieceBytes + (2 * kMostBytes)];
    std::uint8_t* to = put(piece, row_distance_);
    to = put(to, set.count * 2);
    std::uint64_t next = 0;
    walk_set(set, [&](Cell cell) {
      to = put(to, cell - next);
      next = std::uint64_t{cell} + 1;
      if (to < piece + kPieceBytes) return;
      segment_.bytes.insert(segment_.bytes.end(), piece, to);
      to = piece;
    });
    segment_.bytes.insert(segment_.bytes.end(), piece, to);
  }

  GrowthSegment segment_;
  RowId row_ = 0;
  RowId row_distance_ = 0;
};

// Our own bytes: what was packed is unpacked, nothing is checked.
class SegmentReader {
 public:
  static constexpr std::uint64_t kNoMoreRows = ~std::uint64_t{0};

  explicit SegmentReader(const GrowthSegment& segment)
      : at_(segment.bytes.data()), end_(at_ + segment.bytes.size()), words_(segment.words.data()) {
    next_row();
  }
  // A row's number, or kNoMoreRows.
  std::uint64_t row() const { return row_; }
  std::uint64_t count() const { return count_; }
  bool is_bitmap() const { return is_bitmap_; }
  // The row's elements, and goes to the next row. Only one of the two, by is_bitmap().
  SetView take_bitmap() {
    const std::uint64_t first = number();
    const std::uint64_t words = number();
    const SetView view = bitmap_view(first, {words_, words}, count_);
    words_ += words;
    next_row();
    return view;
  }
  // Appends them.
  void take_list(std::vector<Cell>& elements) {
    const std::size_t begin = elements.size();
    elements.resize(begin + count_);
    Cell* to = elements.data() + begin;
    Cell* const end = to + count_;
    std::uint64_t next = 0;
    while (to != end) {
      // Mostly the distances are small.
      std::uint64_t eight = 0x80;
      if (end - to >= 8 && end_ - at_ >= 8) std::memcpy(&eight, at_, 8);
      if ((eight & 0x8080808080808080U) == 0) {
        for (int i = 0; i < 8; ++i, next += 1) to[i] = static_cast<Cell>(next += at_[i]);
        at_ += 8;
        to += 8;
      } else {
        const std::uint64_t cell = next + number();
        *to++ = static_cast<Cell>(cell);
        next = cell + 1;
      }
    }
    next_row();
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = *at_ & 0x7F;
    for (unsigned shift = 7; *at_++ >= 0x80; shift += 7)
      value |= static_cast<std::uint64_t>(*at_ & 0x7F) << shift;
    return value;
  }
  void next_row() {
    if (at_ == end_) {
      row_ = kNoMoreRows;
      return;
    }
    row_ += number();
    count_ = number();
    is_bitmap_ = (count_ & 1) != 0;
    count_ /= 2;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  const std::uint64_t* words_;
  std::uint64_t row_ = 0;
  std::uint64_t count_ = 0;
  bool is_bitmap_ = false;
};

// One row's part from a segment.
void add_part(SegmentReader& reader, SetUnion& together) {
  if (reader.is_bitmap()) {
    together.add_lasting(reader.take_bitmap());
    return;
  }
  reader.take_list(together.cells());
  together.end_list();
}

std::shared_ptr<const GrowthSegment> merge(
    std::span<const std::shared_ptr<const GrowthSegment>> segments, std::uint32_t tier) {
  SegmentWriter writer;
  (void)for_each_row(segments, [&](RowId row, const SetView& elements) -> Status {
    writer.add(row, elements);
    return {};
  });
  return writer.finish(tier);
}

}  // namespace

std::shared_ptr<const GrowthSegment> pack_segment(const DeltaRows& rows) {
  SegmentWriter writer;
  std::size_t words = 0;
  for (const DeltaRow& row : rows)
    if (const SetView view = row.cells.view(); suits_bitmap(view.words.size(), view.count))
      words += view.words.size();
  writer.reserve_words(words);
  for (const DeltaRow& row : rows) writer.add(row.row, row.cells.view());
  return writer.finish(0);
}

std::shared_ptr<const GrowthSegment> pack_total(const Index& index) {
  SegmentWriter writer;
  std::size_t words = 0;
  for (RowId row = 0; row < index.row_count(); ++row)
    if (const SetView view = index.total(row).view(); suits_bitmap(view.words.size(), view.count))
      words += view.words.size();
  writer.reserve_words(words);
  for (RowId row = 0; row < index.row_count(); ++row) writer.add(row, index.total(row).view());
  return writer.finish(0);
}

Status for_each_row(std::span<const std::shared_ptr<const GrowthSegment>> segments,
                    const RowVisitor& visit) {
  std::vector<SegmentReader> readers;
  readers.reserve(segments.size());
  std::uint64_t row = SegmentReader::kNoMoreRows;
  for (const auto& segment : segments) {
    readers.emplace_back(*segment);
    row = std::min(row, readers.back().row());
  }
  // There are few segments, and rows that grow do so in many of them: looking at all costs less
  // than keeping them in order.
  SetUnion together(kPackedBytes);
  while (row != SegmentReader::kNoMoreRows) {
    together.clear();
    std::uint64_t next = SegmentReader::kNoMoreRows;
    for (SegmentReader& reader : readers) {
      if (reader.row() == row) add_part(reader, together);
      next = std::min(next, reader.row());
    }
    STRATALOG_RETURN_IF_ERROR(visit(static_cast<RowId>(row), together.view()));
    row = next;
  }
  return {};
}

void GrowthLog::append(const DeltaRows& rows) {
  if (rows.empty()) return;
  segments_.push_back(pack_segment(rows));
  merge_full_tiers();
}

void GrowthLog::merge_full_tiers() {
  for (;;) {
    const std::uint32_t tier = segments_.back()->tier;
    std::size_t first = segments_.size();
    while (first > frozen_ && segments_[first - 1]->tier == tier) --first;
    if (segments_.size() - first < kFanIn) return;
    const auto merged = merge(std::span(segments_).subspan(first), tier + 1);
    segments_.resize(first);
    segments_.push_back(merged);
  }
}

GrowthSegments GrowthLog::freeze() {
  frozen_ = segments_.size();
  return segments_;
}

void GrowthLog::acknowledge() {
  segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(frozen_));
  frozen_ = 0;
}

std::uint64_t GrowthLog::tuples() const {
  std::uint64_t tuples = 0;
  for (const auto& segment : segments_) tuples += segment->tuples;
  return tuples;
}

std::uint64_t GrowthLog::heap_bytes() const {
  std::uint64_t bytes = segments_.capacity() * sizeof(segments_[0]);
  for (const auto& segment : segments_) bytes += segment->heap_bytes() + sizeof(GrowthSegment);
  return bytes;
}

}  // namespace stratalog
