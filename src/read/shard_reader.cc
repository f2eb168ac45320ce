// SPDX-License-Identifier: Apache-2.0
#include "read/shard_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "encode/block_decoder.h"
#include "encode/piece_checksum.h"
#include "read/extent_stream.h"
#include "read/read_ahead.h"

namespace stratalog {
namespace {

// What identifies a stream of blocks: a shard of tuples or a section.
struct StreamFacts {
  std::uint64_t file_id = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  Hash128 hash;
};

// Reads header and footer and checks them against the manifest's hash.
Result<ShardFooter> read_footer(ExtentStream& stream, const StreamFacts& facts) {
  const std::uint64_t footer_bytes = footer_bytes_for(facts.blocks);
  if (facts.bytes < kShardHeaderBytes + footer_bytes)
    return Status::corruption(fmt::format("{}: {} bytes are too few for {} blocks", stream.place(0),
                                          facts.bytes, facts.blocks));
  std::vector<std::byte> header(kShardHeaderBytes);
  std::vector<std::byte> footer(footer_bytes);
  const std::uint64_t footer_at = facts.bytes - footer_bytes;
  STRATALOG_RETURN_IF_ERROR(stream.read(0, header));
  STRATALOG_RETURN_IF_ERROR(stream.read(footer_at, footer));
  const Hash128 found = hash_shard(header, footer);
  if (!(found == facts.hash))
    return Status::corruption(
        fmt::format("{}: hash {} expected for the shard's header and footer (at {}), {} found",
                    stream.place(0), to_hex(facts.hash), stream.place(footer_at), to_hex(found)));
  Result<ShardFooter> parsed = parse_shard_footer(footer, facts.bytes, facts.file_id);
  if (!parsed.is_ok()) return parsed.status().with_context(stream.place(footer_at));
  if (parsed.value().blocks.size() != facts.blocks)
    return Status::corruption(fmt::format("{}: {} blocks expected, {} listed", stream.place(0),
                                          facts.blocks, parsed.value().blocks.size()));
  return parsed;
}

CheckBlocks check_blocks(const ProtocolSteps& steps) {
  return steps.includes(ProtocolStep::kCheckBlocks) ? CheckBlocks::kYes : CheckBlocks::kNo;
}

// Calls take(header, payload, place) -> Status for each block that begins in [begin, end) and that
// is_wanted(number).
template <typename IsWanted, typename Take>
Status for_each_block(ExtentStream& stream, const StreamFacts& facts, const ShardFooter& footer,
                      const Nonce& nonce, std::uint64_t begin, std::uint64_t end, CheckBlocks check,
                      IsWanted&& is_wanted, Take&& take) {
  std::vector<std::uint32_t> numbers;
  std::vector<ReadAhead::Part> parts;
  std::uint64_t offset = kShardHeaderBytes;
  for (std::uint32_t number = 0; number < footer.blocks.size(); ++number) {
    const BlockEntry& entry = footer.blocks[number];
    if (offset >= begin && offset < end && is_wanted(number)) {
      numbers.push_back(number);
      parts.push_back({.offset = offset, .bytes = entry.bytes});
    }
    offset += entry.bytes;
  }
  if (parts.size() > 1) stream.will_read();
  ReadAhead ahead(
      [&stream](std::uint64_t at, std::span<std::byte> to) { return stream.read(at, to); }, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> room, ahead.next());
    const std::span<const std::byte> block = room.first(parts[i].bytes);
    const Result<BlockHeader> header =
        open_block(block, footer.blocks[numbers[i]], facts.file_id, numbers[i], nonce, check);
    if (!header.is_ok()) return header.status().with_context(stream.place(parts[i].offset));
    STRATALOG_RETURN_IF_ERROR(take(header.value(),
                                   block.subspan(kBlockHeaderBytes, header.value().payload_bytes),
                                   parts[i].offset));
  }
  return Status::ok();
}

// Keeps the visitor's errors apart from ours.
class GuardedVisitor {
 public:
  explicit GuardedVisitor(const GroupVisitor& visit) : visit_(visit) {}

  GroupVisitor guard() {
    return [this](const TupleGroup& group) {
      Status status = visit_(group);
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
  const GroupVisitor& visit_;
  Status failure_;
};

// Whether the zone of a block or piece meets what is wanted.
bool may_hold(const ManifestShard& shard, std::uint64_t number, const TupleFilter* wanted) {
  if (wanted == nullptr || wanted->wants_all() || shard.zones.empty()) return true;
  const std::size_t each = shard.zones.size() / shard.blocks;
  return wanted->may_hold(std::span(shard.zones).subspan(number * each, each));
}

Status read_blocks(Store& store, const Manifest& manifest, const ManifestShard& shard,
                   std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                   GuardedVisitor& visitor, ReadCounts& counts, const TupleFilter* wanted) {
  STRATALOG_ASSIGN_OR_RETURN(
      ExtentStream stream,
      ExtentStream::open(store, manifest.path(shard.link, shard.file), shard.extents));
  const ManifestRelation& relation = manifest.relations[shard.relation];
  const StreamFacts facts{.file_id = shard.file_id(),
                          .bytes = shard.bytes(),
                          .blocks = shard.blocks,
                          .hash = shard.hash};
  STRATALOG_ASSIGN_OR_RETURN(const ShardFooter footer, read_footer(stream, facts));
  if (footer.rows != shard.rows || footer.groups != shard.groups)
    return Status::corruption(fmt::format("{}: {} rows expected, the footer says {}",
                                          stream.place(0), shard.rows, footer.rows));
  BlockDecoder decoder(relation.column_order);
  const GroupVisitor guarded = visitor.guard();
  const auto is_wanted = [&](std::uint64_t number) { return may_hold(shard, number, wanted); };
  return for_each_block(
      stream, facts, footer, manifest.nonce_of(shard.link), begin, end, check_blocks(steps),
      is_wanted,
      [&](const BlockHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
        ++counts.blocks;
        counts.rows += header.rows;
        counts.bytes += block_bytes_for(payload.size());
        const Status decoded = decoder.decode(header, payload, guarded);
        return decoded.is_ok() || visitor.has_failed() ? decoded
                                                       : decoded.with_context(stream.place(offset));
      });
}

// Where the rows of a shard lie in a row file, piece by piece; inflates chunks.
class PieceStream {
 public:
  PieceStream(const ManifestShard& shard, std::uint64_t row_bytes)
      : shard_(shard), row_bytes_(row_bytes) {}

  Status open(Store& store, std::string path) {
    STRATALOG_ASSIGN_OR_RETURN(stream_, ExtentStream::open(store, std::move(path), shard_.extents));
    return Status::ok();
  }
  ExtentStream& stream() { return stream_; }

  struct Piece {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;  // in the shard's rows
    std::uint64_t bytes = 0;
  };
  Piece piece(std::uint64_t number) const {
    const std::uint64_t before = shard_.is_deflated() ? shard_.first_row % shard_.chunk_rows : 0;
    const std::uint64_t first = number == 0 ? 0 : (number * shard_.piece_rows) - before;
    const std::uint64_t end = std::min(shard_.rows, ((number + 1) * shard_.piece_rows) - before);
    return {.number = number, .offset = first * row_bytes_, .bytes = (end - first) * row_bytes_};
  }
  // What is read for it.
  ReadAhead::Part part(const Piece& piece) const {
    if (!shard_.is_deflated()) return {.offset = piece.offset, .bytes = piece.bytes};
    return {.offset = stream_.begin_of(piece.number), .bytes = shard_.extents[piece.number].bytes};
  }

  // The piece's rows in what was read for it, with room for the padding of checksums behind.
  Result<std::span<std::byte>> rows(const Piece& piece, std::span<std::byte> read) {
    if (!shard_.is_deflated()) return read;
    const std::uint64_t deflated = shard_.extents[piece.number].bytes;
    const std::uint64_t chunk_bytes = shard_.chunk_rows * row_bytes_;
    rows_.resize(chunk_bytes + kPiecePadding);
    uLongf size = chunk_bytes;
    const int code = ::uncompress(reinterpret_cast<Bytef*>(rows_.data()), &size,
                                  reinterpret_cast<const Bytef*>(read.data()), deflated);
    if (code != Z_OK || size != chunk_bytes)
      return Status::corruption(
          fmt::format("{}: a chunk of {} bytes does not inflate to {} bytes (zlib says {})",
                      place(piece), deflated, chunk_bytes, code));
    const std::uint64_t row = shard_.first_row + (piece.offset / row_bytes_);
    return std::span(rows_).subspan((row % shard_.chunk_rows) * row_bytes_);
  }

  // For messages.
  std::string place(const Piece& piece) const { return stream_.place(part(piece).offset); }

 private:
  const ManifestShard& shard_;
  std::uint64_t row_bytes_;
  ExtentStream stream_;
  std::vector<std::byte> rows_;  // of a chunk
};

Status read_pieces(Store& store, const Manifest& manifest, const ManifestShard& shard,
                   std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                   GuardedVisitor& visitor, ReadCounts& counts, const TupleFilter* wanted) {
  static_assert(ReadAhead::kRoom >= kPiecePadding);
  const ManifestRelation& relation = manifest.relations[shard.relation];
  const std::uint64_t row_bytes = 8ULL * relation.arity;
  PieceStream stream(shard, row_bytes);
  STRATALOG_RETURN_IF_ERROR(stream.open(store, manifest.path(shard.link, shard.file)));
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
  const GroupVisitor guarded = visitor.guard();
  for (const PieceStream::Piece& piece : pieces) {
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> read, ahead.next());
    STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> rows, stream.rows(piece, read));
    const std::uint64_t found = piece_checksum(rows, piece.bytes, manifest.nonce_of(shard.link),
                                               shard.file_id(), piece.number);
    if (found != shard.pieces[piece.number] && steps.includes(ProtocolStep::kCheckBlocks))
      return Status::corruption(
          fmt::format("{}: rows with checksum {:016x} expected, {:016x} found", stream.place(piece),
                      shard.pieces[piece.number], found));
    ++counts.blocks;
    counts.rows += piece.bytes / row_bytes;
    counts.bytes += piece.bytes;
    const Status decoded = decode_rows(rows.first(piece.bytes), relation.column_order, guarded);
    if (!decoded.is_ok())
      return visitor.has_failed() ? decoded : decoded.with_context(stream.place(piece));
  }
  return Status::ok();
}

}  // namespace

ReadOutcome read_shard(Store& store, const Manifest& manifest, const ManifestShard& shard,
                       std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                       const GroupVisitor& visit, ReadCounts& counts, const TupleFilter* wanted) {
  GuardedVisitor visitor(visit);
  const bool rows = stores_rows(manifest.mode_of(shard.link));
  return visitor.outcome(
      rows ? read_pieces(store, manifest, shard, begin, end, steps, visitor, counts, wanted)
           : read_blocks(store, manifest, shard, begin, end, steps, visitor, counts, wanted));
}

void prefetch_shard(Store& store, const Manifest& manifest, const ManifestShard& shard,
                    std::uint64_t begin, std::uint64_t end, std::uint64_t head) {
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
  STRATALOG_ASSIGN_OR_RETURN(const ShardFooter footer, read_footer(stream, facts));
  std::vector<std::byte> content;
  STRATALOG_RETURN_IF_ERROR(for_each_block(
      stream, facts, footer, manifest.nonce_of(section.link), 0, facts.bytes, check_blocks(steps),
      [](std::uint32_t) { return true; },
      [&](const BlockHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
        if (header.encoding != ShardEncoding::kRaw)
          return Status::corruption("not a block of raw bytes").with_context(stream.place(offset));
        content.insert(content.end(), payload.begin(), payload.end());
        return Status::ok();
      }));
  if (content.size() != section.bytes)
    return Status::corruption(fmt::format("section {}: {} bytes expected, {} found", section.name,
                                          section.bytes, content.size()));
  return content;
}

}  // namespace stratalog
