// SPDX-License-Identifier: Apache-2.0
// TupleGroup: the unit in which relations travel the road: all tuples that share their first
// arity-1 columns (in a stated column order), with the last column as a set. In-memory sets and bit
// rows are borrowed, never copied. Pure views; no ownership, no I/O, no MPI. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/cell.h"

namespace stratalog {

enum class SetKind : std::uint8_t {
  kArray,  // `values`: ascending, distinct cells
  kOffsets,  // base + `offsets[i]`, ascending, distinct
  kBitmap,  // base + bit index i for every set bit i of `words` (bit 0 = least significant of
            // words[0])
  kRuns,  // `offsets` holds pairs (first, length - 1) of offsets from base: runs of neighbours,
          // ascending, apart, all within 65536 cells from base
};

struct SetView {
  SetKind kind = SetKind::kArray;
  Cell base = 0;
  std::span<const Cell> values;
  std::span<const std::uint16_t> offsets;
  std::span<const std::uint64_t> words;
  std::uint64_t count = 0;  // number of elements, always filled in
};

struct TupleGroup {
  std::span<const Cell> prefix;  // arity-1 cells in the shard's column order
  SetView set;  // never empty, except arity 0: see RelationImage
};

// The two versions of a relation that a checkpoint holds (RA-checkpoint, section III): everything
// so far, and what the last iteration added.
enum class RelationVersion : std::uint8_t { kTotal = 0, kDelta = 1 };

// An order-independent 128-bit hash of a multiset of tuples: the sum over tuples of the product
// over columns of a mixed value, modulo 2^64, with two independent seeds. Sums of shards are the
// hash of the whole.
struct MultisetHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const MultisetHash&, const MultisetHash&) = default;
  MultisetHash& operator+=(const MultisetHash& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
};

using GroupVisitor = std::function<Status(const TupleGroup&)>;

// One rank's part of one version of one relation, as a checkpoint sees it.
struct RelationImage {
  std::string name;
  RelationVersion version = RelationVersion::kTotal;
  std::uint32_t arity = 0;
  std::vector<std::uint32_t>
      column_order;  // group columns -> declared columns: declared = column_order[i]
  std::uint64_t rows = 0;  // local tuples (arity 0: 0 or 1, owned by rank 0)
  MultisetHash hash;  // local, over cells in declared column order
  // Calls the visitor for each local group, in ascending (prefix) order where `sorted`, and stops
  // at its first error. Views stay valid during the call only. Arity 0 and empty relations call
  // nothing.
  std::function<Status(const GroupVisitor&)> for_each_group;
};

}  // namespace stratalog
