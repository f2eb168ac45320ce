// SPDX-License-Identifier: Apache-2.0
#include "read/shard_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "encode/block_decoder.h"
#include "read/block_stream.h"
#include "read/extent_stream.h"
#include "read/piece_stream.h"
#include "read/read_ahead.h"
#include "read/stream_reader.h"
#include "read/turn_reader.h"

namespace stratalog {
namespace {

CheckBlocks check_blocks(const ProtocolSteps& steps) {
  return steps.includes(ProtocolStep::kCheckBlocks) ? CheckBlocks::kYes : CheckBlocks::kNo;
}

// A block to be read.
struct BlockPlace {
  BlockStream* from = nullptr;
  std::uint32_t number = 0;

  std::uint64_t offset() const { return from->begins[number]; }
  std::uint64_t bytes() const { return from->footer.blocks[number].bytes; }
  std::string place() const { return from->stream.place(offset()); }
};

// The blocks that begin in [begin, end) and that is_wanted(number), behind those of `blocks`.
template <typename IsWanted>
void list_blocks(BlockStream& from, std::uint64_t begin, std::uint64_t end, IsWanted&& is_wanted,
                 std::vector<BlockPlace>& blocks) {
  const auto first = std::lower_bound(from.begins.begin(), from.begins.end(), begin);
  for (auto at = first; at != from.begins.end() && *at < end; ++at) {
    const auto number = static_cast<std::uint32_t>(at - from.begins.begin());
    if (is_wanted(number)) blocks.push_back({.from = &from, .number = number});
  }
}

// Calls take(block, header, payload) -> Status for each of `blocks`, which lie in one file. `read`
// fills a span with the block of a number among them; it is called for each, in their order.
template <typename Take>
Status for_each_block(const std::vector<BlockPlace>& blocks, CheckBlocks check,
                      ReadAhead::Read read, Take&& take) {
  std::vector<ReadAhead::Part> parts;
  parts.reserve(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    parts.push_back({.offset = i, .bytes = blocks[i].bytes()});
  if (parts.size() > 1) blocks.front().from->stream.will_read();
  ReadAhead ahead(std::move(read), std::move(parts));
  for (const BlockPlace& at : blocks) {
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> room, ahead.next());
    const std::span<const std::byte> block = room.first(at.bytes());
    const Result<BlockHeader> header =
        open_block(block, at.from->footer.blocks[at.number], at.from->facts.file_id, at.number,
                   at.from->nonce, check);
    if (!header.is_ok()) return header.status().with_context(at.place());
    STRATALOG_RETURN_IF_ERROR(
        take(at, header.value(), block.subspan(kBlockHeaderBytes, header.value().payload_bytes)));
  }
  return Status::ok();
}

// The same, each block read in one go.
template <typename Take>
Status for_each_block(const std::vector<BlockPlace>& blocks, CheckBlocks check, Take&& take) {
  return for_each_block(
      blocks, check,
      [&blocks](std::uint64_t at, std::span<std::byte> to) {
        return blocks[at].from->stream.read(blocks[at].offset(), to);
      },
      std::forward<Take>(take));
}

// Keeps the visitor's errors apart from ours.
class GuardedVisitor {
 public:
  GroupVisitor guard(GroupVisitor visit) {
    return [this, visit = std::move(visit)](const TupleGroup& group) {
      Status status = visit(group);
      if (!status.is_ok()) failure_ = status;
      return status;
    };
  }
  bool has_failed() const { return !failure_.is_ok(); }
  ReadOutcome outcome(const Status& status) const {
    return has_failed() ? ReadOutcome{.read = {}, .visitor = failure_}
                        : ReadOutcome{.read = status, .visitor = {}};
  }

 private:
  Status failure_;
};

// Whether the zone of a block or piece meets what is wanted.
bool may_hold(const ManifestShard& shard, std::uint64_t number, const TupleFilter* wanted) {
  if (wanted == nullptr || wanted->wants_all() || shard.zones.empty()) return true;
  const std::size_t each = shard.zones.size() / shard.blocks;
  return wanted->may_hold(std::span(shard.zones).subspan(number * each, each));
}

// A shard of blocks that is being read, and who takes its groups.
struct OpenShard {
  BlockStream blocks;
  BlockDecoder decoder;
  GroupVisitor visit;
};

Status decode_block(OpenShard& shard, const BlockPlace& at, const BlockHeader& header,
                    std::span<const std::byte> payload, const GuardedVisitor& visitor,
                    ReadCounts& counts) {
  ++counts.blocks;
  counts.rows += header.rows;
  counts.bytes += block_bytes_for(payload.size());
  const Status decoded = shard.decoder.decode(header, payload, shard.visit);
  return decoded.is_ok() || visitor.has_failed() ? decoded : decoded.with_context(at.place());
}

Status read_blocks(Store& store, const Manifest& manifest, const ManifestShard& shard,
                   std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                   const GroupVisitor& visit, GuardedVisitor& visitor, ReadCounts& counts,
                   const TupleFilter* wanted) {
  STRATALOG_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                             store.open(manifest.path(shard.link, shard.file), OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(BlockStream opened, open_shard(manifest, shard, file));
  OpenShard reading{.blocks = std::move(opened),
                    .decoder = BlockDecoder(manifest.relations[shard.relation].column_order),
                    .visit = visitor.guard(visit)};
  std::vector<BlockPlace> blocks;
  list_blocks(
      reading.blocks, begin, end,
      [&](std::uint64_t number) { return may_hold(shard, number, wanted); }, blocks);
  return for_each_block(
      blocks, check_blocks(steps),
      [&](const BlockPlace& at, const BlockHeader& header, std::span<const std::byte> payload) {
        return decode_block(reading, at, header, payload, visitor, counts);
      });
}

// Ranges of several shards of blocks in one file, front to back.
Status read_turns(Store& store, const Manifest& manifest, std::span<const ShardRange> ranges,
                  const ProtocolSteps& steps, const ShardVisitor& visit, GuardedVisitor& visitor,
                  ReadCounts& counts) {
  const ManifestShard& first = manifest.shards[ranges.front().shard];
  STRATALOG_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                             store.open(manifest.path(first.link, first.file), OpenMode::kRead));
  std::map<std::size_t, OpenShard> shards;  // stay where they are
  std::map<const BlockStream*, OpenShard*> shard_of;
  std::vector<BlockPlace> met;
  for (const ShardRange& range : ranges) {
    auto found = shards.find(range.shard);
    if (found == shards.end()) {
      const ManifestShard& shard = manifest.shards[range.shard];
      STRATALOG_ASSIGN_OR_RETURN(BlockStream opened, open_shard(manifest, shard, file));
      found = shards
                  .try_emplace(
                      range.shard,
                      OpenShard{
                          .blocks = std::move(opened),
                          .decoder = BlockDecoder(manifest.relations[shard.relation].column_order),
                          .visit = visitor.guard([&visit, &shard](const TupleGroup& group) {
                            return visit(shard, group);
                          })})
                  .first;
      shard_of[&found->second.blocks] = &found->second;
    }
    list_blocks(
        found->second.blocks, range.begin, range.end, [](std::uint64_t) { return true; }, met);
  }
  std::vector<BlockPieces> pieces;
  pieces.reserve(met.size());
  for (const BlockPlace& block : met)
    pieces.push_back(block.from->stream.pieces(block.offset(), block.bytes()));
  TurnReader reader(file, pieces);
  std::vector<BlockPlace> blocks;  // as they get complete
  blocks.reserve(met.size());
  for (const std::size_t i : reader.order()) blocks.push_back(met[i]);
  return for_each_block(
      blocks, check_blocks(steps),
      [&reader](std::uint64_t at, std::span<std::byte> to) { return reader.read(at, to); },
      [&](const BlockPlace& at, const BlockHeader& header, std::span<const std::byte> payload) {
        return decode_block(*shard_of.at(at.from), at, header, payload, visitor, counts);
      });
}

Status read_pieces(Store& store, const Manifest& manifest, const ManifestShard& shard,
                   std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                   const GroupVisitor& visit, GuardedVisitor& visitor, ReadCounts& counts,
                   const TupleFilter* wanted) {
  const ManifestRelation& relation = manifest.relations[shard.relation];
  STRATALOG_ASSIGN_OR_RETURN(PieceStream stream, PieceStream::open(store, manifest, shard));
  std::vector<PieceStream::Piece> pieces;
  std::vector<ReadAhead::Part> parts;
  for (std::uint64_t number = 0; number < shard.blocks; ++number) {
    const PieceStream::Piece piece = stream.piece(number);
    if (piece.offset < begin || piece.offset >= end || !may_hold(shard, number, wanted)) continue;
    pieces.push_back(piece);
    parts.push_back(stream.part(piece));
  }
  if (parts.size() > 1) stream.stream().will_read();
  ReadAhead ahead(
      [&stream](std::uint64_t at, std::span<std::byte> to) { return stream.stream().read(at, to); },
      std::move(parts));
  const GroupVisitor guarded = visitor.guard(visit);
  for (const PieceStream::Piece& piece : pieces) {
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> read, ahead.next());
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> rows,
                               stream.rows(piece, read, check_blocks(steps)));
    ++counts.blocks;
    counts.rows += piece.bytes / (8ULL * relation.arity);
    counts.bytes += piece.bytes;
    const Status decoded = decode_rows(rows, relation.column_order, guarded);
    if (!decoded.is_ok())
      return visitor.has_failed() ? decoded : decoded.with_context(stream.place(piece));
  }
  return Status::ok();
}

Status read_by_mode(Store& store, const Manifest& manifest, const ManifestShard& shard,
                    std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                    const GroupVisitor& visit, GuardedVisitor& visitor, ReadCounts& counts,
                    const TupleFilter* wanted) {
  const CheckpointMode mode = manifest.mode_of(shard.link);
  if (stores_rows(mode))
    return read_pieces(store, manifest, shard, begin, end, steps, visit, visitor, counts, wanted);
  if (!stores_streams(mode))
    return read_blocks(store, manifest, shard, begin, end, steps, visit, visitor, counts, wanted);
  const std::uint64_t row_bytes = 8ULL * manifest.relations[shard.relation].arity;
  std::vector<std::uint64_t> numbers;  // of blocks
  for (std::uint64_t b = 0; b < shard.blocks; ++b) {
    const std::uint64_t offset = shard.rows_before(b) * row_bytes;
    if (offset >= begin && offset < end && may_hold(shard, b, wanted)) numbers.push_back(b);
  }
  STRATALOG_ASSIGN_OR_RETURN(
      StreamReader reader,
      StreamReader::open(store, manifest, shard, std::move(numbers), check_blocks(steps)));
  const GroupVisitor guarded = visitor.guard(visit);
  while (!reader.is_at_end()) {
    const std::uint64_t block = reader.block();
    STRATALOG_RETURN_IF_ERROR(reader.load());
    // Zones are looked up by what has been counted.
    ++counts.blocks;
    const std::uint64_t rows = shard.rows_before(block + 1) - shard.rows_before(block);
    counts.rows += rows;
    counts.bytes += rows * row_bytes;
    const Status decoded = reader.decode(guarded);
    if (!decoded.is_ok())
      return visitor.has_failed() ? decoded : decoded.with_context(reader.place());
  }
  return Status::ok();
}

}  // namespace

ReadOutcome read_shard(Store& store, const Manifest& manifest, const ManifestShard& shard,
                       std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                       const GroupVisitor& visit, ReadCounts& counts, const TupleFilter* wanted) {
  GuardedVisitor visitor;
  return visitor.outcome(
      read_by_mode(store, manifest, shard, begin, end, steps, visit, visitor, counts, wanted));
}

ReadOutcome read_in_turns(Store& store, const Manifest& manifest,
                          std::span<const ShardRange> ranges, const ProtocolSteps& steps,
                          const ShardVisitor& visit, ReadCounts& counts) {
  GuardedVisitor visitor;
  return visitor.outcome(read_turns(store, manifest, ranges, steps, visit, visitor, counts));
}

void prefetch_shard(Store& store, const Manifest& manifest, const ManifestShard& shard,
                    std::uint64_t begin, std::uint64_t end, std::uint64_t head) {
  if (shard.is_streams()) return;  // its parts lie all over the file
  auto stream = ExtentStream::open(store, manifest.path(shard.link, shard.file), shard.extents);
  if (!stream.is_ok()) return;  // read_shard will say why
  const std::uint64_t bytes = shard.bytes();
  if (!stores_rows(manifest.mode_of(shard.link))) {
    const std::uint64_t footer = std::min(bytes, footer_bytes_for(shard.blocks));
    stream.value().begin_reading(bytes - footer, footer);
  }
  stream.value().begin_reading(begin,
                               std::min(head, std::min(end, bytes) - std::min(begin, bytes)));
}

Result<std::vector<std::byte>> read_section(Store& store, const Manifest& manifest,
                                            std::size_t index, const ProtocolSteps& steps) {
  const ManifestSection& section = manifest.sections[index];
  const auto file = std::find_if(
      manifest.files.begin(), manifest.files.end(),
      [&](const ManifestFile& f) { return f.link == section.link && f.name == section.file; });
  if (file == manifest.files.end())
    return Status::corruption(fmt::format("section {} has no file", section.name));
  const StreamFacts facts{
      .file_id = section_file_id(section.link == kOwnFiles ? index : section.image),
      .bytes = file->bytes,
      .blocks = section.blocks,
      .hash = section.hash};
  STRATALOG_ASSIGN_OR_RETURN(ExtentStream stream,
                             ExtentStream::open(store, manifest.path(section.link, section.file),
                                                {{.offset = 0, .bytes = file->bytes}}));
  STRATALOG_ASSIGN_OR_RETURN(
      BlockStream opened, open_blocks(std::move(stream), facts, manifest.nonce_of(section.link)));
  std::vector<BlockPlace> blocks;
  list_blocks(opened, 0, facts.bytes, [](std::uint32_t) { return true; }, blocks);
  std::vector<std::byte> content;
  STRATALOG_RETURN_IF_ERROR(for_each_block(
      blocks, check_blocks(steps),
      [&](const BlockPlace& at, const BlockHeader& header, std::span<const std::byte> payload) {
        if (header.encoding != ShardEncoding::kRaw)
          return Status::corruption("not a block of raw bytes").with_context(at.place());
        content.insert(content.end(), payload.begin(), payload.end());
        return Status::ok();
      }));
  if (content.size() != section.bytes)
    return Status::corruption(fmt::format("section {}: {} bytes expected, {} found", section.name,
                                          section.bytes, content.size()));
  return content;
}

}  // namespace stratalog
