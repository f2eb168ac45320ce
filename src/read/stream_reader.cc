// SPDX-License-Identifier: Apache-2.0
#include "read/stream_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "encode/file_streams.h"
#include "encode/piece_checksum.h"
#include "encode/shuffled_chunk.h"
#include "encode/trie_decoder.h"
#include "read/extent_stream.h"
#include "read/read_ahead.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

// One stream of the shard.
struct Stream {
  std::uint64_t chunk = 1;  // numbers
  std::uint64_t first_chunk = 0;  // of the data set: the one in the extent `extent`
  std::size_t extent = 0;
  std::uint64_t at = kNone;  // the chunk that is inflated here
  std::vector<std::uint32_t> inflated;
  std::vector<std::uint32_t> numbers;  // of the block
};

}  // namespace

struct StreamReader::Parts {
  const Manifest& manifest;
  const ManifestShard& shard;
  CheckBlocks check;
  std::vector<std::uint64_t> blocks;
  std::vector<Stream> streams;
  ExtentStream file;
  std::unique_ptr<ReadAhead> ahead;
  std::size_t next_block = 0;
  std::uint64_t loaded = 0;
  ChunkInflater inflater;
  TrieDecoder<NumberSource> trie;
  std::vector<std::uint32_t> first = {};  // of arity 1
  std::vector<std::uint32_t> gaps = {};  // of arity 1

  std::size_t arity() const { return manifest.relations[shard.relation].arity; }
  std::uint64_t begin_of(std::uint64_t block, std::size_t stream) const {
    return shard.streams.begins[(block * streams.size()) + stream];
  }

  void list_streams();
  void plan_reads(Ahead way);
  Status load_numbers(std::size_t stream, std::uint64_t begin, std::uint64_t end);
  Status inflate(std::size_t stream, std::uint64_t chunk);
  void split_keys();
};

// The shard's extents are the chunks of one stream after those of another.
void StreamReader::Parts::list_streams() {
  streams.resize(shard.streams.chunks.size());
  std::size_t extent = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    Stream& stream = streams[s];
    stream.chunk = shard.streams.chunks[s];
    stream.extent = extent;
    const std::uint64_t begin = begin_of(0, s);
    const std::uint64_t end = begin_of(shard.blocks, s);
    stream.first_chunk = begin / stream.chunk;
    if (begin != end) extent += ((end + stream.chunk - 1) / stream.chunk) - stream.first_chunk;
  }
}

// Chunks in the order in which load() comes to them.
void StreamReader::Parts::plan_reads(Ahead way) {
  std::vector<ReadAhead::Part> parts;
  std::vector<std::uint64_t> last(streams.size(), kNone);
  for (const std::uint64_t block : blocks)
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const Stream& stream = streams[s];
      const std::uint64_t end = begin_of(block + 1, s);
      for (std::uint64_t at = begin_of(block, s); at < end;
           at = (at / stream.chunk + 1) * stream.chunk) {
        const std::uint64_t chunk = at / stream.chunk;
        if (chunk == last[s]) continue;
        last[s] = chunk;
        const std::uint64_t extent = stream.extent + (chunk - stream.first_chunk);
        parts.push_back({.offset = file.begin_of(extent), .bytes = shard.extents[extent].bytes});
      }
    }
  if (parts.size() > 1) file.will_read();
  ahead = std::make_unique<ReadAhead>(
      [this](std::uint64_t at, std::span<std::byte> to) { return file.read(at, to); },
      std::move(parts), way);
}

Status StreamReader::Parts::inflate(std::size_t stream, std::uint64_t chunk) {
  static_assert(ReadAhead::kRoom >= kPiecePadding);
  Stream& mine = streams[stream];
  STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> read, ahead->next());
  const std::size_t extent = mine.extent + (chunk - mine.first_chunk);
  const std::uint64_t stored = shard.extents[extent].bytes;
  const std::size_t image = shard.link == kOwnFiles ? shard.relation : shard.image;
  const std::uint64_t found = piece_checksum(read, stored, manifest.nonce_of(shard.link),
                                             stream_file_id(image, stream), chunk);
  if (found != shard.pieces[extent] && check == CheckBlocks::kYes)
    return Status::corruption(
        fmt::format("{}: a chunk with checksum {:016x} expected, {:016x} found",
                    file.place(file.begin_of(extent)), shard.pieces[extent], found));
  mine.inflated.resize(mine.chunk);
  mine.at = chunk;
  const Status inflated = inflater.inflate(read.first(stored), mine.inflated);
  return inflated.is_ok() ? Status::ok() : inflated.with_context(file.place(file.begin_of(extent)));
}

Status StreamReader::Parts::load_numbers(std::size_t stream, std::uint64_t begin,
                                         std::uint64_t end) {
  Stream& mine = streams[stream];
  mine.numbers.clear();
  while (begin < end) {
    const std::uint64_t chunk = begin / mine.chunk;
    if (chunk != mine.at) STRATALOG_RETURN_IF_ERROR(inflate(stream, chunk));
    const std::uint64_t within = begin % mine.chunk;
    const std::uint64_t taken = std::min(end - begin, mine.chunk - within);
    const auto from = mine.inflated.begin() + static_cast<std::ptrdiff_t>(within);
    mine.numbers.insert(mine.numbers.end(), from, from + static_cast<std::ptrdiff_t>(taken));
    begin += taken;
  }
  return Status::ok();
}

// Of arity 1: keys are the elements of one set.
void StreamReader::Parts::split_keys() {
  const std::vector<std::uint32_t>& keys = streams[0].numbers;
  first.assign(1, shard.streams.keys[loaded]);
  gaps.resize(keys.size() - 1);
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = keys[i + 1] - 1;
}

StreamReader::StreamReader(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
StreamReader::StreamReader(StreamReader&&) noexcept = default;
StreamReader& StreamReader::operator=(StreamReader&&) noexcept = default;
StreamReader::~StreamReader() = default;

Result<StreamReader> StreamReader::open(Store& store, const Manifest& manifest,
                                        const ManifestShard& shard,
                                        std::vector<std::uint64_t> blocks, CheckBlocks check,
                                        Ahead ahead) {
  STRATALOG_ASSIGN_OR_RETURN(
      ExtentStream file,
      ExtentStream::open(store, manifest.path(shard.link, shard.file), shard.extents));
  auto parts = std::make_unique<Parts>(
      Parts{.manifest = manifest,
            .shard = shard,
            .check = check,
            .blocks = std::move(blocks),
            .streams = {},
            .file = std::move(file),
            .ahead = nullptr,
            .inflater = {},
            .trie = TrieDecoder<NumberSource>(manifest.relations[shard.relation].arity)});
  parts->list_streams();
  parts->plan_reads(ahead);
  return StreamReader(std::move(parts));
}

bool StreamReader::is_at_end() const { return parts_->next_block == parts_->blocks.size(); }

std::uint64_t StreamReader::block() const { return parts_->blocks[parts_->next_block]; }

Status StreamReader::load() {
  Parts& parts = *parts_;
  parts.loaded = parts.blocks[parts.next_block++];
  for (std::size_t s = 0; s < parts.streams.size(); ++s)
    STRATALOG_RETURN_IF_ERROR(parts.load_numbers(s, parts.begin_of(parts.loaded, s),
                                                 parts.begin_of(parts.loaded + 1, s)));
  return Status::ok();
}

Status StreamReader::decode(const GroupVisitor& visit) {
  Parts& parts = *parts_;
  std::size_t next = 0;
  if (parts.arity() == 1) {
    parts.split_keys();
    parts.trie.for_each_source([&](NumberSource& source) {
      source.set(next++ == 0 ? parts.first : parts.gaps);
      return true;
    });
  } else {
    // Whatever the difference is, the block begins with its own key.
    std::vector<std::uint32_t>& keys = parts.streams[0].numbers;
    keys.front() = parts.shard.streams.keys[parts.loaded];
    parts.trie.for_each_source([&](NumberSource& source) {
      source.set(parts.streams[next++].numbers);
      return true;
    });
  }
  const std::uint64_t rows =
      parts.shard.rows_before(parts.loaded + 1) - parts.shard.rows_before(parts.loaded);
  std::uint64_t groups = 1;
  if (parts.arity() > 1) groups = parts.streams[parts.streams.size() - 2].numbers.size();
  if (!parts.trie.fits(groups, rows))
    return Status::corruption("the streams of a block do not fit each other");
  return parts.trie.decode(0, groups, rows, visit);
}

std::string StreamReader::place() const {
  const Stream& keys = parts_->streams[0];
  const std::uint64_t chunk = parts_->begin_of(parts_->loaded, 0) / keys.chunk;
  return parts_->file.place(parts_->file.begin_of(keys.extent + (chunk - keys.first_chunk)));
}

}  // namespace stratalog
