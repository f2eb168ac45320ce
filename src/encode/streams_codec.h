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
#include "encode/trie_streams.h"
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

class StreamsEncoder {
 public:
  // `arity` >= 1.
  explicit StreamsEncoder(std::size_t arity);

  // Whether the block at hand must be finished before `set` is added: it is full, or (of arity 1,
  // where there is no key to begin anew) the set does not ascend.
  bool needs_new_block(const SetView& set) const;
  // Adds one non-empty fragment within kStreamsLimits.
  void add(std::span<const Cell> prefix, const SetView& set) { trie_.add(prefix, set); }
  std::uint64_t tuples() const { return trie_.tuples(); }
  // About the payload's size so far; it will be larger by streams_slack_bytes at most.
  std::size_t bytes() const;
  // Nodes of the last prefix column: what a block's header calls groups.
  std::uint32_t groups() const { return trie_.groups(); }
  // Writes the payload, forgets it, and returns its end. Requires tuples() > 0.
  std::byte* finish(std::byte* to);

 private:
  TrieStreams<StreamPacker> trie_;
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
  struct Parts;

  std::size_t arity_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace stratalog
