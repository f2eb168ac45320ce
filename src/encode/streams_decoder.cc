// SPDX-License-Identifier: Apache-2.0
// The reading half of the streams encoding. It trusts nothing: the directory must fit the payload
// and the levels each other before anything is unpacked.
#include "encode/byte_order.h"
#include "encode/streams_codec.h"
#include "encode/trie_decoder.h"

namespace stratalog {
namespace {

// Takes the streams of a payload one after another.
class Directory {
 public:
  Directory(std::span<const std::byte> payload, std::size_t streams)
      : entries_(payload.first(streams * 8)), rest_(payload.subspan(streams * 8)) {}

  bool open(StreamUnpacker& stream) {
    const std::uint64_t count = load_le<std::uint32_t>(entries_.data());
    const std::size_t bytes = load_le<std::uint32_t>(entries_.data() + 4);
    if (bytes > rest_.size() || !stream.open(rest_.first(bytes), count)) return false;
    entries_ = entries_.subspan(8);
    rest_ = rest_.subspan(bytes);
    return true;
  }
  bool is_used_up() const { return entries_.empty() && rest_.empty(); }

 private:
  std::span<const std::byte> entries_;
  std::span<const std::byte> rest_;
};

}  // namespace

struct StreamsDecoder::Parts {
  explicit Parts(std::size_t arity) : trie(arity) {}
  TrieDecoder<StreamUnpacker> trie;
};

StreamsDecoder::StreamsDecoder(std::size_t arity) : arity_(arity) {}
StreamsDecoder::~StreamsDecoder() = default;
StreamsDecoder::StreamsDecoder(StreamsDecoder&&) noexcept = default;
StreamsDecoder& StreamsDecoder::operator=(StreamsDecoder&&) noexcept = default;

Status StreamsDecoder::decode(std::span<const std::byte> payload, std::uint64_t groups,
                              std::uint64_t rows, const GroupVisitor& visit) {
  Status bad = Status::corruption("the streams do not fit the block or each other");
  const std::size_t streams = stream_count(arity_);
  if (payload.size() < streams * 8) return bad;
  if (parts_ == nullptr) parts_ = std::make_unique<Parts>(arity_);
  Directory directory(payload, streams);
  if (!parts_->trie.for_each_source([&](StreamUnpacker& stream) { return directory.open(stream); }))
    return bad;
  if (!directory.is_used_up() || !parts_->trie.fits(groups, rows)) return bad;
  return parts_->trie.decode(0, groups, rows, visit);
}

}  // namespace stratalog
