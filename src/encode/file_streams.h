// SPDX-License-Identifier: Apache-2.0
// FileStreams: one rank's tuples of a relation as the streams of a file
// (docs/formats/checkpoint.md, mode hdf5-streams): those of encode/trie_streams.h, cut into blocks
// that can be read alone because each begins with a key of its own. Key differences go on from
// block to block and from rank to rank, so that all of a stream is one sum. Arity 1 has nothing but
// key differences. Inline, because every set passes here. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/number_stream.h"
#include "encode/streams_codec.h"
#include "encode/trie_streams.h"
#include "model/zone_builder.h"
#include "pack/fragment.h"

namespace stratalog {

// A block gets no further set once it holds so many tuples; a set has at most 65,536 here.
inline constexpr std::uint64_t kFileStreamsBlock = std::uint64_t{1} << 17;
inline constexpr std::uint64_t kMostFileBlockTuples = kFileStreamsBlock + (std::uint64_t{1} << 16);
// Numbers in a chunk: 256 KiB, what a reader inflates for a small range.
inline constexpr std::uint64_t kFileStreamsChunk = std::uint64_t{1} << 16;

constexpr std::size_t file_stream_count(std::size_t arity) {
  return arity == 1 ? 1 : stream_count(arity);
}

// `Stream`: NumberStream, or NumberCounter to learn how many numbers each stream gets.
template <typename Stream>
class FileStreams {
 public:
  // `column_order` as in RelationImage, of arity 1 or more; `key_before`: the last key of the ranks
  // before, 0 if there is none; `block_tuples`: 1 to kFileStreamsBlock.
  FileStreams(std::span<const std::uint32_t> column_order, Cell key_before,
              std::uint64_t block_tuples)
      : arity_(column_order.size()),
        block_tuples_(block_tuples),
        trie_(arity_, [](StreamRole) { return Stream(); }),
        zones_(column_order) {
    trie_.set_key_before(key_before);
    if (arity_ == 1)
      streams_.push_back(&flat_);
    else
      trie_.for_each_stream([this](Stream& stream) { streams_.push_back(&stream); });
  }
  FileStreams(const FileStreams&) = delete;
  FileStreams& operator=(const FileStreams&) = delete;

  // Adds a group as an image hands it out.
  Status add(const TupleGroup& group) {
    return for_each_fragment(group.set, kStreamsLimits, [&](const SetView& set) {
      if (trie_.tuples() >= block_tuples_ || trie_.must_begin_anew(set)) end_block();
      if (trie_.tuples() == 0) begin_block(group.prefix, set);
      if constexpr (!CountsOnly<Stream>) zones_.add(group.prefix, set);
      trie_.add(group.prefix, set);
      if (arity_ == 1) last_ = last_of(set);
      return Status::ok();
    });
  }
  // No group follows.
  void finish() {
    if (trie_.tuples() != 0) end_block();
  }

  std::size_t size() const { return streams_.size(); }
  Stream& stream(std::size_t number) { return *streams_[number]; }
  const Stream& stream(std::size_t number) const { return *streams_[number]; }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t groups() const { return groups_; }
  Cell last_key() const { return trie_.key_before(); }
  // For each block: its first key, and which number of each stream is its first.
  const std::vector<Cell>& keys() const { return keys_; }
  const std::vector<std::uint64_t>& begins() const { return begins_; }
  // Of streams that keep numbers.
  std::vector<Cell> take_zones() { return zones_.take(); }

 private:
  void begin_block(std::span<const Cell> prefix, const SetView& set) {
    if constexpr (!CountsOnly<Stream>) zones_.begin_block();
    keys_.push_back(prefix.empty() ? first_of(set) : prefix[0]);
    for (const Stream* stream : streams_) begins_.push_back(stream->values());
  }

  void end_block() {
    rows_ += trie_.tuples();
    groups_ += trie_.groups();
    if (arity_ == 1) flatten();
    trie_.end();
  }

  // The elements of a block of arity 1 are its keys.
  void flatten() {
    if constexpr (CountsOnly<Stream>) {
      flat_.put_zeros(trie_.tuples());
    } else {
      flat_.put(keys_.back() - trie_.key_before());
      bool is_first = true;
      trie_.for_each_stream([&](Stream& stream) {
        if (!is_first)
          for (const std::uint32_t gap : stream.numbers()) flat_.put(gap + 1);
        is_first = false;
        stream.take(stream.numbers().size());
      });
    }
    trie_.set_key_before(last_);
  }

  std::size_t arity_;
  std::uint64_t block_tuples_;
  TrieStreams<Stream> trie_;
  Stream flat_;  // of arity 1
  std::vector<Stream*> streams_;
  ZoneBuilder zones_;
  Cell last_ = 0;  // of arity 1: the last element
  std::uint64_t rows_ = 0;
  std::uint64_t groups_ = 0;
  std::vector<Cell> keys_;
  std::vector<std::uint64_t> begins_;
};

}  // namespace stratalog
