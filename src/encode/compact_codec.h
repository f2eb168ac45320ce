// SPDX-License-Identifier: Apache-2.0
// The "compact" encoding of tuple fragments: a tag byte, what changed in the prefix, and the set in
// whichever of five forms is smallest. A block's payload stands alone: all deltas start from zero
// at its beginning. Encoder and decoder use fixed space (the decoder 264 KiB). Layout:
// docs/formats/checkpoint.md. Pure; local.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
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
  // The same for a whole set with a content (group_batch.h, not 0): where the block holds it
  // already, as a copy.
  std::byte* encode(std::span<const Cell> prefix, const SetView& set, std::uint64_t content,
                    std::byte* to);
  struct Copies {
    std::byte* end;
    std::size_t groups = 0;
    std::uint64_t rows = 0;
  };
  // Appends groups at `to` from the first one on, as long as the block holds their sets, and until
  // so many bytes or rows are appended at least. `prefixes` and `contents` as in GroupBatch; the
  // room is that of one fragment behind `bytes`.
  Copies encode_copies(std::span<const Cell> prefixes, std::span<const std::uint64_t> contents,
                       std::uint64_t bytes, std::uint64_t rows, std::byte* to);
  // Copies in the block so far.
  std::uint64_t copies() const { return copies_; }

 private:
  struct Spelled {
    std::uint64_t content = ~std::uint64_t{0};
    std::uint32_t number = 0;  // of the sets spelled out in the block
    std::uint32_t count = 0;  // of its elements
  };
  struct Form {
    FragmentKind kind = FragmentKind::kSingle;
    Cell base = 0;
    std::uint32_t size = 0;  // elements, runs or words
  };
  std::byte* put_prefix(std::span<const Cell> prefix, unsigned& tag, std::byte* to);
  std::byte* put_head(std::span<const Cell> prefix, const Form& form, std::byte* to);
  template <typename Put>
  Copies copy_while_known(std::span<const std::uint64_t> contents, std::uint64_t bytes,
                          std::uint64_t rows, std::byte* to, Put put) const;
  std::byte* put_copy(std::span<const Cell> prefix, std::uint32_t distance, std::byte* to);
  Spelled& place_of(std::uint64_t content);
  std::byte* encode_bitmap(std::span<const Cell> prefix, const SetView& set, std::byte* to);
  std::byte* encode_runs(std::span<const Cell> prefix, const SetView& set, std::byte* to);
  template <typename T>
  std::byte* encode_elements(std::span<const Cell> prefix, Cell base, std::span<const T> elements,
                             std::byte* to);

  std::vector<Cell> previous_;
  Cell base_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t spelled_ = 0;  // sets in the block that copies can name
  std::uint64_t copies_ = 0;
  std::vector<Spelled> known_;  // direct-mapped by content; empty until needed
  std::array<std::uint64_t, kCompactLimits.words> words_;
  std::array<Cell, kCompactLimits.elements> elements_;
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
  struct Scratch {  // never read before it is written: left as it is found
    std::array<std::uint64_t, kMaxDecodedElements / 64> words;
    std::array<Cell, kMaxDecodedElements> elements;
  };
  struct Spelled {
    FragmentKind kind = FragmentKind::kSingle;
    Cell base = 0;
    std::uint32_t size = 0;
    std::size_t position = 0;  // of its data in the payload
  };
  bool read_set(ByteReader& in, const Spelled& what, SetView& set);
  bool read_copy(ByteReader& in, std::span<const std::byte> payload, SetView& set);

  std::vector<Cell> prefix_;
  std::vector<Spelled> spelled_;  // of the block, the last kCopyReach: number modulo kCopyReach
  std::uint64_t sets_ = 0;  // spelled out in the block so far
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace stratalog
