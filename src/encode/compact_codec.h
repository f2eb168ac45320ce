// SPDX-License-Identifier: Apache-2.0
// The "compact" encoding of tuple fragments: a tag byte, what changed in the prefix, and the set in
// whichever of five forms is smallest; older versions also wrote copies of sets, which are read
// still. A block's payload stands alone: all deltas start from zero
// at its beginning. Encoder and decoder use fixed space (the decoder 264 KiB). Layout:
// docs/formats/checkpoint.md. Pure; local.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/recent_sets.h"
#include "model/tuple_group.h"
#include "pack/fragment.h"

namespace stratalog {

class ByteReader;

enum class FragmentKind : std::uint8_t {
  kSingle = 0,  // one element
  kGaps8 = 1,  // differences minus one, a byte each
  kGapsVarint = 2,  // differences minus one, a varint each
  kRuns = 3,  // (gap, length) varints
  kWords = 4,  // bitmap words
  kSparseBytes = 5,  // bitmap words without their zero bytes
  kCopy = 6,  // the set of an earlier fragment
};

inline constexpr std::size_t kMaxArity = 255;
inline constexpr FragmentLimits kCompactLimits{.elements = 16384, .words = 1024};
// A fragment never decodes to more elements than this.
inline constexpr std::size_t kMaxDecodedElements = 65536;
// A copy names one of so many sets before it that are spelled out, single elements not counted.
inline constexpr std::size_t kCopyReach = 1024;
// Room that encode() may need for one fragment.
inline constexpr std::size_t kMaxCompactFragmentBytes =
    64 + (kMaxArity * 5) + (kCompactLimits.elements * 5);

class CompactEncoder {
 public:
  explicit CompactEncoder(std::size_t prefix_cells) : previous_(prefix_cells, 0) {}

  // Forgets the previous fragment; to be called at the beginning of a block.
  void begin_block();
  // Appends one non-empty fragment within kCompactLimits at `to`, which has
  // kMaxCompactFragmentBytes of room; returns the end.
  std::byte* encode(std::span<const Cell> prefix, const SetView& set, std::byte* to);

 private:
  struct Form {
    FragmentKind kind = FragmentKind::kSingle;
    Cell base = 0;
    std::uint32_t size = 0;  // elements, runs or words
  };
  std::byte* put_prefix(std::span<const Cell> prefix, unsigned& tag, std::byte* to);
  std::byte* put_head(std::span<const Cell> prefix, const Form& form, std::byte* to);
  std::byte* encode_bitmap(std::span<const Cell> prefix, const SetView& set, std::byte* to);
  std::byte* encode_runs(std::span<const Cell> prefix, const SetView& set, std::byte* to);
  template <typename T>
  std::byte* encode_elements(std::span<const Cell> prefix, Cell base, std::span<const T> elements,
                             std::byte* to);

  std::vector<Cell> previous_;
  Cell base_ = 0;
  std::uint32_t size_ = 0;
  std::array<std::uint64_t, kCompactLimits.words> words_;
  std::array<Cell, kCompactLimits.elements> elements_;
};

// Where a payload spells out a set, and what its tag and head say of it.
struct SpelledSet {
  FragmentKind kind = FragmentKind::kSingle;
  Cell base = 0;
  std::uint32_t size = 0;
  std::size_t position = 0;  // of its data in the payload
};

// Sets of fragments as a payload spells them out. A view that it gives is valid until the next.
class SetReader {
 public:
  SetReader();
  // Base and size count from zero again.
  void begin_block();
  // The head of a set of one of the kinds before kCopy, behind its tag and prefix. False: there is
  // none.
  bool read_head(ByteReader& in, unsigned tag, SpelledSet& what);
  // Its data; false: no such set.
  bool read_data(ByteReader& in, const SpelledSet& what, SetView& set);

 private:
  struct Scratch {  // never read before it is written: left as it is found
    std::array<std::uint64_t, kMaxDecodedElements / 64> words;
    std::array<Cell, kMaxDecodedElements> elements;
  };
  Cell base_ = 0;
  std::uint64_t size_ = 0;
  std::unique_ptr<Scratch> scratch_;
};

// See docs/formats/checkpoint.md for what it checks.
class CompactDecoder {
 public:
  explicit CompactDecoder(std::size_t prefix_cells);

  // Decodes a payload of exactly `groups` fragments with `rows` tuples. Corruption names the offset
  // in the payload. Errors of the visitor come back unchanged.
  Status decode(std::span<const std::byte> payload, std::uint64_t groups, std::uint64_t rows,
                const GroupVisitor& visit);

 private:
  bool read_copy(ByteReader& in, std::span<const std::byte> payload, SetView& set);

  std::vector<Cell> prefix_;
  RecentSets<SpelledSet, kCopyReach> spelled_;  // of the block
  SetReader reader_;
};

}  // namespace stratalog
