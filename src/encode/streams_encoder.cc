// SPDX-License-Identifier: Apache-2.0
// The writing half of the streams encoding: the streams of a trie (encode/trie_streams.h), packed.
#include "encode/byte_order.h"
#include "encode/streams_codec.h"

namespace stratalog {
namespace {

UnitForm form_of(StreamRole role) {
  return role == StreamRole::kCount || role == StreamRole::kFirst ? UnitForm::kPlainOrDifferences
                                                                  : UnitForm::kPlain;
}

}  // namespace

StreamsEncoder::StreamsEncoder(std::size_t arity)
    : trie_(arity, [](StreamRole role) { return StreamPacker(form_of(role)); }) {}

bool StreamsEncoder::needs_new_block(const SetView& set) const {
  return trie_.tuples() >= kMaxStreamsTuples || trie_.must_begin_anew(set);
}

std::size_t StreamsEncoder::bytes() const {
  std::size_t bytes = 0;
  trie_.for_each_stream([&](const StreamPacker& stream) { bytes += stream.packed_bytes(); });
  return bytes;
}

std::byte* StreamsEncoder::finish(std::byte* to) {
  trie_.end();
  trie_.set_key_before(0);
  std::size_t streams = 0;
  trie_.for_each_stream([&](const StreamPacker&) { ++streams; });
  std::byte* at = to + (streams * 8);
  trie_.for_each_stream([&](StreamPacker& stream) {
    stream.finish();
    store_le<std::uint32_t>(to, static_cast<std::uint32_t>(stream.values()));
    store_le<std::uint32_t>(to + 4, static_cast<std::uint32_t>(stream.finished_bytes()));
    to += 8;
    at = stream.copy_to(at);
    stream.clear();
  });
  return at;
}

}  // namespace stratalog
