// SPDX-License-Identifier: Apache-2.0
// GrowthLog: what an index has gained since a mark, as one compressed segment of row numbers and
// sets for each round (two to four bytes a tuple, where a second index would take more). It never
// looks into the index: rows are numbers, whose prefixes the reader supplies. Segments are
// immutable and shared, so that a checkpoint can be written from them while the next rounds append.
// Local; appending is not thread-safe, reading segments is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "relation/index.h"

namespace stratalog {

// Rows ascending, each once. For each row, as LEB128: distance to the row before, number of
// elements doubled, plus 1 where they are a bitmap. A list goes on with its first element and the
// distances to the element before minus 1; a bitmap with the number of its first word (of 64
// elements) and how many words there are. The words themselves stand apart, so that views of them
// can be handed out as they are.
struct GrowthSegment {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> words;
  std::uint64_t tuples = 0;
  std::uint32_t tier = 0;  // how often it was merged from smaller ones

  std::uint64_t heap_bytes() const { return bytes.capacity() + (words.capacity() * 8); }
};

using GrowthSegments = std::vector<std::shared_ptr<const GrowthSegment>>;

std::shared_ptr<const GrowthSegment> pack_segment(const DeltaRows& rows);
// All tuples of an index.
std::shared_ptr<const GrowthSegment> pack_total(const Index& index);

// Calls visit(row, elements) for each row of the union of disjoint segments, ascending. The view is
// an array or a bitmap, never empty, and valid during the call only. Stops at the visitor's first
// error.
using RowVisitor = std::function<Status(RowId row, const SetView& elements)>;
Status for_each_row(std::span<const std::shared_ptr<const GrowthSegment>> segments,
                    const RowVisitor& visit);

class GrowthLog {
 public:
  // One round: rows that are new in the index, as Index::delta() has them after advance().
  void append(const DeltaRows& rows);

  // Everything since the mark. What is handed out stays as it is; later rounds go into segments of
  // their own.
  GrowthSegments freeze();
  // Moves the mark behind what the last freeze() handed out (its checkpoint was acknowledged), or
  // leaves it where it is (the checkpoint failed).
  void acknowledge();

  std::uint64_t tuples() const;
  std::uint64_t heap_bytes() const;

 private:
  // So many segments of one tier become one of the next.
  static constexpr std::size_t kFanIn = 32;

  void merge_full_tiers();

  GrowthSegments segments_;  // oldest first; those from frozen_ on may be merged
  std::size_t frozen_ = 0;
};

}  // namespace stratalog
