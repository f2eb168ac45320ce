// SPDX-License-Identifier: Apache-2.0
#include "read/block_stream.h"

#include <fmt/format.h>

#include <utility>

namespace stratalog {
namespace {

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

}  // namespace

Result<BlockStream> open_blocks(ExtentStream stream, const StreamFacts& facts, const Nonce& nonce) {
  STRATALOG_ASSIGN_OR_RETURN(ShardFooter footer, read_footer(stream, facts));
  BlockStream opened{
      .facts = facts, .stream = std::move(stream), .footer = std::move(footer), .nonce = nonce};
  std::uint64_t offset = kShardHeaderBytes;
  for (const BlockEntry& entry : opened.footer.blocks) {
    opened.begins.push_back(offset);
    offset += entry.bytes;
  }
  return opened;
}

Result<BlockStream> open_shard(const Manifest& manifest, const ManifestShard& shard,
                               const std::shared_ptr<File>& file) {
  STRATALOG_ASSIGN_OR_RETURN(
      BlockStream opened,
      open_blocks(ExtentStream(file, manifest.path(shard.link, shard.file), shard.extents),
                  {.file_id = shard.file_id(),
                   .bytes = shard.bytes(),
                   .blocks = shard.blocks,
                   .hash = shard.hash},
                  manifest.nonce_of(shard.link)));
  if (opened.footer.rows != shard.rows || opened.footer.groups != shard.groups)
    return Status::corruption(fmt::format("{}: {} rows expected, the footer says {}",
                                          opened.stream.place(0), shard.rows, opened.footer.rows));
  return opened;
}

}  // namespace stratalog
