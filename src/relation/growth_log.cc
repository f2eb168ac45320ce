// SPDX-License-Identifier: Apache-2.0
#include "relation/growth_log.h"

#include <algorithm>
#include <queue>

namespace stratalog {
namespace {

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

class SegmentWriter {
 public:
  // `count` elements of `row` follow, ascending.
  void begin_row(RowId row, std::uint64_t count) {
    put(segment_.bytes, row - row_);
    put(segment_.bytes, count);
    row_ = row;
    next_ = 0;
    segment_.tuples += count;
  }
  void add(Cell cell) {
    put(segment_.bytes, cell - next_);
    next_ = std::uint64_t{cell} + 1;
  }
  std::shared_ptr<const GrowthSegment> finish(std::uint32_t tier) {
    segment_.tier = tier;
    segment_.bytes.shrink_to_fit();
    return std::make_shared<const GrowthSegment>(std::move(segment_));
  }

 private:
  GrowthSegment segment_;
  RowId row_ = 0;
  std::uint64_t next_ = 0;
};

// Our own bytes: what was packed is unpacked, nothing is checked.
class SegmentReader {
 public:
  explicit SegmentReader(const GrowthSegment& segment)
      : at_(segment.bytes.data()), end_(at_ + segment.bytes.size()) {
    next_row();
  }
  bool at_end() const { return is_over_; }
  RowId row() const { return row_; }
  // Appends the row's elements and goes to the next one.
  void take(std::vector<Cell>& elements) {
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      const std::uint64_t cell = next + number();
      elements.push_back(static_cast<Cell>(cell));
      next = cell + 1;
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
    is_over_ = at_ == end_;
    if (is_over_) return;
    row_ += static_cast<RowId>(number());
    count_ = number();
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  RowId row_ = 0;
  std::uint64_t count_ = 0;
  bool is_over_ = false;
};

std::shared_ptr<const GrowthSegment> merge(
    std::span<const std::shared_ptr<const GrowthSegment>> segments, std::uint32_t tier) {
  SegmentWriter writer;
  (void)for_each_row(segments, [&](RowId row, std::span<const Cell> elements) -> Status {
    writer.begin_row(row, elements.size());
    for (const Cell cell : elements) writer.add(cell);
    return {};
  });
  return writer.finish(tier);
}

}  // namespace

std::shared_ptr<const GrowthSegment> pack_segment(std::span<const DeltaRow> rows) {
  SegmentWriter writer;
  for (const DeltaRow& row : rows) {
    writer.begin_row(row.row, row.cells.size());
    row.cells.walk([&](Cell cell) { writer.add(cell); });
  }
  return writer.finish(0);
}

Status for_each_row(std::span<const std::shared_ptr<const GrowthSegment>> segments,
                    const RowVisitor& visit) {
  std::vector<SegmentReader> readers;
  readers.reserve(segments.size());
  for (const auto& segment : segments) readers.emplace_back(*segment);
  const auto later = [&](std::size_t a, std::size_t b) {
    return readers[a].row() != readers[b].row() ? readers[a].row() > readers[b].row() : a > b;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> waiting(later);
  for (std::size_t i = 0; i < readers.size(); ++i)
    if (!readers[i].at_end()) waiting.push(i);
  std::vector<Cell> elements;
  while (!waiting.empty()) {
    const RowId row = readers[waiting.top()].row();
    elements.clear();
    std::size_t parts = 0;
    while (!waiting.empty() && readers[waiting.top()].row() == row) {
      const std::size_t i = waiting.top();
      waiting.pop();
      readers[i].take(elements);
      ++parts;
      if (!readers[i].at_end()) waiting.push(i);
    }
    if (parts > 1) std::sort(elements.begin(), elements.end());
    STRATALOG_RETURN_IF_ERROR(visit(row, elements));
  }
  return {};
}

void GrowthLog::append(std::span<const DeltaRow> rows) {
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
  for (const auto& segment : segments_) bytes += segment->bytes.capacity() + sizeof(GrowthSegment);
  return bytes;
}

}  // namespace stratalog
