// SPDX-License-Identifier: Apache-2.0
#include "read/shard_cursor.h"

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
  void clear() {
    groups_.clear();
    prefixes_.clear();
    values_.clear();
    offsets_.clear();
    words_.clear();
  }
  void add(const TupleGroup& group) {
    groups_.push_back({.kind = group.set.kind,
                       .base = group.set.base,
                       .prefix = prefixes_.size(),
                       .prefix_cells = group.prefix.size(),
                       .values = values_.size(),
                       .offsets = offsets_.size(),
                       .words = words_.size(),
                       .count = group.set.count});
    append(group.prefix, prefixes_);
    append(group.set.values, values_);
    append(group.set.offsets, offsets_);
    append(group.set.words, words_);
  }
  std::size_t size() const { return groups_.size(); }
  TupleGroup group(std::size_t index) const {
    const Kept& kept = groups_[index];
    const bool is_last = index + 1 == groups_.size();
    const auto part = [&](const auto& all, std::size_t begin, std::size_t Kept::* where) {
      const std::size_t end = is_last ? all.size() : groups_[index + 1].*where;
      return std::span(all).subspan(begin, end - begin);
    };
    TupleGroup group;
    group.prefix = std::span(prefixes_).subspan(kept.prefix, kept.prefix_cells);
    group.set.kind = kept.kind;
    group.set.base = kept.base;
    group.set.values = part(values_, kept.values, &Kept::values);
    group.set.offsets = part(offsets_, kept.offsets, &Kept::offsets);
    group.set.words = part(words_, kept.words, &Kept::words);
    group.set.count = kept.count;
    return group;
  }

 private:
  struct Kept {
    SetKind kind = SetKind::kArray;
    Cell base = 0;
    std::size_t prefix = 0;  // positions at which its parts begin
    std::size_t prefix_cells = 0;
    std::size_t values = 0;
    std::size_t offsets = 0;
    std::size_t words = 0;
    std::uint64_t count = 0;
  };

  template <typename T>
  static void append(std::span<const T> from, std::vector<T>& to) {
    to.insert(to.end(), from.begin(), from.end());
  }

  std::vector<Kept> groups_;
  std::vector<Cell> prefixes_;
  std::vector<Cell> values_;
  std::vector<std::uint16_t> offsets_;
  std::vector<std::uint64_t> words_;
};

}  // namespace

struct ShardCursor::Parts {
  BlockStream blocks;
  BlockDecoder decoder;
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
    groups.clear();
    at = 0;
    const Status decoded = decoder.decode(
        header.value(), bytes.subspan(kBlockHeaderBytes, header.value().payload_bytes),
        [this](const TupleGroup& group) {
          groups.add(group);
          return Status::ok();
        });
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
  if (stores_rows(manifest.mode_of(shard.link)))
    return Status::invalid_argument(shard.file + " has rows, not blocks");
  STRATALOG_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                             store.open(manifest.path(shard.link, shard.file), OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(BlockStream blocks, open_shard(manifest, shard, file));
  blocks.stream.will_read();
  auto parts = std::make_unique<Parts>(
      Parts{.blocks = std::move(blocks),
            .decoder = BlockDecoder(manifest.relations[shard.relation].column_order)});
  STRATALOG_RETURN_IF_ERROR(parts->find_head());
  return ShardCursor(std::move(parts));
}

const TupleGroup* ShardCursor::head() const { return parts_->head ? &*parts_->head : nullptr; }

Status ShardCursor::advance() {
  ++parts_->at;
  return parts_->find_head();
}

}  // namespace stratalog
