// SPDX-License-Identifier: Apache-2.0
#include "read/shard_cursor.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "encode/block_decoder.h"
#include "read/block_stream.h"
#include "read/read_ahead.h"

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

}  // namespace

struct ShardCursor::Parts {
  BlockStream blocks;
  BlockDecoder decoder;
  std::size_t prefix_cells = 0;
  PageBuffer buffer = {};  // of the block at hand
  std::uint32_t next_block = 0;
  KeptGroups groups = {};
  std::size_t at = 0;
  std::optional<TupleGroup> head = std::nullopt;

  // The groups of the next block.
  Status read_block() {
    const std::uint32_t number = next_block++;
    const BlockEntry& entry = blocks.footer.blocks[number];
    const std::uint64_t offset = blocks.begins[number];
    const std::span<std::byte> bytes = buffer.of(entry.bytes + ReadAhead::kRoom).first(entry.bytes);
    STRATALOG_RETURN_IF_ERROR(blocks.stream.read(offset, bytes));
    const Result<BlockHeader> header =
        open_block(bytes, entry, blocks.facts.file_id, number, blocks.nonce, CheckBlocks::kYes);
    if (!header.is_ok()) return header.status().with_context(blocks.stream.place(offset));
    groups.begin(header.value().groups, prefix_cells);
    at = 0;
    const Status decoded = decoder.decode(
        header.value(), bytes.subspan(kBlockHeaderBytes, header.value().payload_bytes),
        [this](const TupleGroup& group) { return groups.add(group); });
    return decoded.is_ok() ? decoded : decoded.with_context(blocks.stream.place(offset));
  }

  Status find_head() {
    head.reset();
    while (at == groups.size()) {
      if (next_block == blocks.footer.blocks.size()) return Status::ok();
      STRATALOG_RETURN_IF_ERROR(read_block());
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
  if (!stores_blocks(manifest.mode_of(shard.link)))
    return Status::invalid_argument(shard.file + " is an HDF5 file, without blocks");
  STRATALOG_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                             store.open(manifest.path(shard.link, shard.file), OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(BlockStream blocks, open_shard(manifest, shard, file));
  blocks.stream.will_read();
  auto parts = std::make_unique<Parts>(
      Parts{.blocks = std::move(blocks),
            .decoder = BlockDecoder(manifest.relations[shard.relation].column_order),
            .prefix_cells = manifest.relations[shard.relation].column_order.size() - 1});
  STRATALOG_RETURN_IF_ERROR(parts->find_head());
  return ShardCursor(std::move(parts));
}

const TupleGroup* ShardCursor::head() const { return parts_->head ? &*parts_->head : nullptr; }

Status ShardCursor::advance() {
  ++parts_->at;
  return parts_->find_head();
}

}  // namespace stratalog
