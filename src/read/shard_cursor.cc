// SPDX-License-Identifier: Apache-2.0
#include "read/shard_cursor.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "encode/block_decoder.h"
#include "read/block_stream.h"
#include "read/piece_stream.h"
#include "read/read_ahead.h"
#include "read/stream_reader.h"

namespace stratalog {
namespace {

// Copies of the groups of one block, in the form in which they came.
class KeptGroups {
 public:
  // A block may hold hundreds of thousands of groups of a tuple or two.
  void begin(std::size_t groups, std::size_t prefix_cells) {
    prefix_cells_ = prefix_cells;
    sets_.clear();
    prefixes_.clear();
    values_.clear();
    offsets_.clear();
    words_.clear();
    sets_.reserve(groups);
    prefixes_.reserve(groups * prefix_cells);
  }
  Status add(const TupleGroup& group) {
    // Positions are 32 bits. What a writer puts into a block is far below.
    constexpr std::size_t kMost = std::size_t{1} << 31;
    if (std::max({values_.size(), offsets_.size(), words_.size()}) > kMost)
      return Status::corruption("a block decodes to more elements than any that was written");
    const SetView& set = group.set;
    append(group.prefix, prefixes_);
    Kept kept{.base = set.base, .count = static_cast<std::uint32_t>(set.count), .kind = set.kind};
    switch (set.kind) {
      case SetKind::kArray:
        kept.begin = append(set.values, values_);
        break;
      case SetKind::kOffsets:
      case SetKind::kRuns:
        kept.begin = append(set.offsets, offsets_);
        kept.size = static_cast<std::uint32_t>(set.offsets.size());
        break;
      case SetKind::kBitmap:
        kept.begin = append(set.words, words_);
        kept.size = static_cast<std::uint32_t>(set.words.size());
        break;
    }
    sets_.push_back(kept);
    return Status::ok();
  }
  std::size_t size() const { return sets_.size(); }
  TupleGroup group(std::size_t index) const {
    const Kept& kept = sets_[index];
    TupleGroup group;
    group.prefix = std::span(prefixes_).subspan(index * prefix_cells_, prefix_cells_);
    group.set.kind = kept.kind;
    group.set.base = kept.base;
    group.set.count = kept.count;
    switch (kept.kind) {
      case SetKind::kArray:
        group.set.values = std::span(values_).subspan(kept.begin, kept.count);
        break;
      case SetKind::kOffsets:
      case SetKind::kRuns:
        group.set.offsets = std::span(offsets_).subspan(kept.begin, kept.size);
        break;
      case SetKind::kBitmap:
        group.set.words = std::span(words_).subspan(kept.begin, kept.size);
        break;
    }
    return group;
  }

 private:
  // A group has 65536 elements at most.
  struct Kept {
    Cell base = 0;
    std::uint32_t begin = 0;  // of its elements, among those of its kind
    std::uint32_t size = 0;
    std::uint32_t count = 0;
    SetKind kind = SetKind::kArray;
  };

  // Where it begins.
  template <typename T>
  static std::uint32_t append(std::span<const T> from, std::vector<T>& to) {
    const std::size_t begin = to.size();
    to.insert(to.end(), from.begin(), from.end());
    return static_cast<std::uint32_t>(begin);
  }

  std::size_t prefix_cells_ = 0;
  std::vector<Kept> sets_;
  std::vector<Cell> prefixes_;
  std::vector<Cell> values_;
  std::vector<std::uint16_t> offsets_;
  std::vector<std::uint64_t> words_;
};

// Of each kind of shard: next(groups) fills them with those of the next block; false at the end.

class BlockSource {
 public:
  BlockSource(BlockStream blocks, const ManifestRelation& relation)
      : blocks_(std::move(blocks)),
        decoder_(relation.column_order),
        prefix_cells_(relation.arity - 1) {}

  static Result<BlockSource> open(Store& store, const Manifest& manifest,
                                  const ManifestShard& shard) {
    STRATALOG_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                               store.open(manifest.path(shard.link, shard.file), OpenMode::kRead));
    STRATALOG_ASSIGN_OR_RETURN(BlockStream blocks, open_shard(manifest, shard, file));
    blocks.stream.will_read();
    return BlockSource(std::move(blocks), manifest.relations[shard.relation]);
  }

  Result<bool> next(KeptGroups& groups) {
    if (next_ == blocks_.footer.blocks.size()) return false;
    const std::uint32_t number = next_++;
    const BlockEntry& entry = blocks_.footer.blocks[number];
    const std::uint64_t offset = blocks_.begins[number];
    const auto bytes = buffer_.of(entry.bytes + ReadAhead::kRoom).first(entry.bytes);
    STRATALOG_RETURN_IF_ERROR(blocks_.stream.read(offset, bytes));
    const Result<BlockHeader> header =
        open_block(bytes, entry, blocks_.facts.file_id, number, blocks_.nonce, CheckBlocks::kYes);
    if (!header.is_ok()) return header.status().with_context(blocks_.stream.place(offset));
    groups.begin(header.value().groups, prefix_cells_);
    const Status decoded = decoder_.decode(
        header.value(), bytes.subspan(kBlockHeaderBytes, header.value().payload_bytes),
        [&groups](const TupleGroup& group) { return groups.add(group); });
    if (!decoded.is_ok()) return decoded.with_context(blocks_.stream.place(offset));
    return true;
  }

 private:
  BlockStream blocks_;
  BlockDecoder decoder_;
  std::size_t prefix_cells_;
  PageBuffer buffer_;  // of the block at hand
  std::uint32_t next_ = 0;
};

class StreamSource {
 public:
  StreamSource(StreamReader reader, std::size_t prefix_cells)
      : reader_(std::move(reader)), prefix_cells_(prefix_cells) {}

  static Result<StreamSource> open(Store& store, const Manifest& manifest,
                                   const ManifestShard& shard) {
    std::vector<std::uint64_t> blocks(shard.blocks);
    std::iota(blocks.begin(), blocks.end(), std::uint64_t{0});
    STRATALOG_ASSIGN_OR_RETURN(StreamReader reader,
                               StreamReader::open(store, manifest, shard, std::move(blocks),
                                                  CheckBlocks::kYes, Ahead::kNot));
    return StreamSource(std::move(reader), manifest.relations[shard.relation].arity - 1);
  }

  Result<bool> next(KeptGroups& groups) {
    if (reader_.is_at_end()) return false;
    STRATALOG_RETURN_IF_ERROR(reader_.load());
    groups.begin(0, prefix_cells_);
    const Status decoded =
        reader_.decode([&groups](const TupleGroup& group) { return groups.add(group); });
    if (!decoded.is_ok()) return decoded.with_context(reader_.place());
    return true;
  }

 private:
  StreamReader reader_;
  std::size_t prefix_cells_;
};

class PieceSource {
 public:
  PieceSource(PieceStream stream, const ManifestRelation& relation, std::uint64_t pieces)
      : stream_(std::move(stream)), relation_(&relation), pieces_(pieces) {}

  static Result<PieceSource> open(Store& store, const Manifest& manifest,
                                  const ManifestShard& shard) {
    STRATALOG_ASSIGN_OR_RETURN(PieceStream stream, PieceStream::open(store, manifest, shard));
    stream.stream().will_read();
    return PieceSource(std::move(stream), manifest.relations[shard.relation], shard.blocks);
  }

  Result<bool> next(KeptGroups& groups) {
    if (next_ == pieces_) return false;
    const PieceStream::Piece piece = stream_.piece(next_++);
    const ReadAhead::Part part = stream_.part(piece);
    const auto read = buffer_.of(part.bytes + ReadAhead::kRoom);
    STRATALOG_RETURN_IF_ERROR(stream_.stream().read(part.offset, read.first(part.bytes)));
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> rows,
                               stream_.rows(piece, read, CheckBlocks::kYes));
    groups.begin(0, relation_->arity - 1);
    const Status decoded =
        decode_rows(rows, relation_->column_order,
                    [&groups](const TupleGroup& group) { return groups.add(group); });
    if (!decoded.is_ok()) return decoded.with_context(stream_.place(piece));
    return true;
  }

 private:
  PieceStream stream_;
  const ManifestRelation* relation_;
  std::uint64_t pieces_;
  std::uint64_t next_ = 0;
  PageBuffer buffer_;  // of the piece at hand
};

using GroupSource = std::variant<BlockSource, StreamSource, PieceSource>;

template <typename Source>
Result<GroupSource> as_source(Result<Source> opened) {
  if (!opened.is_ok()) return opened.status();
  return GroupSource(std::move(opened).value());
}

Result<GroupSource> open_source(Store& store, const Manifest& manifest,
                                const ManifestShard& shard) {
  const CheckpointMode mode = manifest.mode_of(shard.link);
  if (stores_rows(mode)) return as_source(PieceSource::open(store, manifest, shard));
  if (stores_streams(mode)) return as_source(StreamSource::open(store, manifest, shard));
  return as_source(BlockSource::open(store, manifest, shard));
}

}  // namespace

struct ShardCursor::Parts {
  GroupSource source;
  KeptGroups groups = {};
  std::size_t at = 0;
  std::optional<TupleGroup> head = std::nullopt;

  Status find_head() {
    head.reset();
    while (at == groups.size()) {
      STRATALOG_ASSIGN_OR_RETURN(
          const bool has_more,
          std::visit([this](auto& from) { return from.next(groups); }, source));
      if (!has_more) return Status::ok();
      at = 0;
    }
    head = groups.group(at);
    return Status::ok();
  }
};

ShardCursor::ShardCursor(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ShardCursor::ShardCursor(ShardCursor&&) noexcept = default;
ShardCursor& ShardCursor::operator=(ShardCursor&&) noexcept = default;
ShardCursor::~ShardCursor() = default;

Result<ShardCursor> ShardCursor::open(Store& store, const Manifest& manifest,
                                      const ManifestShard& shard) {
  STRATALOG_ASSIGN_OR_RETURN(GroupSource source, open_source(store, manifest, shard));
  auto parts = std::make_unique<Parts>(Parts{.source = std::move(source)});
  STRATALOG_RETURN_IF_ERROR(parts->find_head());
  return ShardCursor(std::move(parts));
}

const TupleGroup* ShardCursor::head() const { return parts_->head ? &*parts_->head : nullptr; }

Status ShardCursor::advance() {
  ++parts_->at;
  return parts_->find_head();
}

}  // namespace stratalog
