// SPDX-License-Identifier: Apache-2.0
// The "streams" encoding: the tuples of a block as a trie, level by level, in plain streams of
// 32-bit numbers that bit-pack well (key differences, numbers of children, first child, gaps minus
// one). A block's payload stands alone. Any order of groups is right; ascending ones are small.
// Needs ids that are dense to be small, which cells are. Layout: docs/formats/checkpoint.md. Pure;
// local.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/packed_stream.h"
#include "model/tuple_group.h"
#include "pack/fragment.h"

namespace stratalog {

inline constexpr FragmentLimits kStreamsLimits{.elements = 16384, .words = 1024};
// A block gets no further fragment once it holds so many tuples, so that readers that expand whole
// blocks know what to expect; a fragment has at most 65,536.
inline constexpr std::uint64_t kMaxStreamsTuples = std::uint64_t{1} << 20;
// Room that a block may need beyond the bytes at which it is closed: a fragment, and an open unit
// for each stream.
constexpr std::size_t streams_slack_bytes(std::size_t arity) {
  return (kStreamsLimits.elements * 4) + 4096 + (arity * 3 * (1032 + 8));
}

// Number of streams of a relation: key differences; then count, first and gaps for each further
// column. Arity 1: first and gaps.
constexpr std::size_t stream_count(std::size_t arity) { return arity == 1 ? 2 : (arity * 3) - 2; }

class StreamsEncoder {
 public:
  // `arity` >= 1.
  explicit StreamsEncoder(std::size_t arity);

  // Whether the block at hand must be finished before `set` is added: it is full, or (of arity 1,
  // where there is no key to begin anew) the set does not ascend.
  bool needs_new_block(const SetView& set) const;
  // Adds one non-empty fragment within kStreamsLimits.
  void add(std::span<const Cell> prefix, const SetView& set);
  std::uint64_t tuples() const { return tuples_; }
  // About the payload's size so far; it will be larger by streams_slack_bytes at most.
  std::size_t bytes() const;
  // Nodes of the last prefix column: what a block's header calls groups.
  std::uint32_t groups() const { return groups_; }
  // Writes the payload, forgets it, and returns its end. Requires tuples() > 0.
  std::byte* finish(std::byte* to);

 private:
  // The streams below one column: how many children each node of the level above has, the first
  // of them, and the gaps to the others.
  struct Level {
    StreamPacker count{UnitForm::kPlainOrDifferences};
    StreamPacker first{UnitForm::kPlainOrDifferences};
    StreamPacker gaps{UnitForm::kPlain};
    std::uint32_t children = 0;  // of the open node of the level above
  };

  void open_group(std::span<const Cell> prefix);
  void put_bitmap(const SetView& set);
  void put_run(std::uint64_t first, std::uint64_t length);

  std::size_t arity_;
  StreamPacker keys_{UnitForm::kPlain};
  std::vector<Level> levels_;  // columns 1 ..; arity 1: its only column
  std::vector<Cell> prefix_;
  std::uint64_t next_ = 0;  // last element of the open group + 1
  bool begins_group_ = true;
  std::uint64_t tuples_ = 0;
  std::uint32_t groups_ = 0;
};

class StreamsDecoder {
 public:
  explicit StreamsDecoder(std::size_t arity);
  ~StreamsDecoder();
  StreamsDecoder(StreamsDecoder&&) noexcept;
  StreamsDecoder& operator=(StreamsDecoder&&) noexcept;
  StreamsDecoder(const StreamsDecoder&) = delete;
  StreamsDecoder& operator=(const StreamsDecoder&) = delete;

  // Decodes a payload of exactly `groups` groups with `rows` tuples; sets come in pieces of at most
  // 16384 elements. Corruption says what cannot be. Errors of the visitor come back unchanged.
  Status decode(std::span<const std::byte> payload, std::uint64_t groups, std::uint64_t rows,
                const GroupVisitor& visit);

 private:
  struct Streams;
  Status open(std::span<const std::byte> payload, std::uint64_t groups, std::uint64_t rows);
  Status next_group(std::uint64_t& elements);
  Status visit_elements(std::uint64_t count, const GroupVisitor& visit);

  std::size_t arity_;
  std::unique_ptr<Streams> in_;
};

}  // namespace stratalog
