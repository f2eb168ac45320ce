// SPDX-License-Identifier: Apache-2.0
#include "commit/manifest_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "encode/file_streams.h"

namespace stratalog {
namespace {

// A file in the directory of one generation.
struct FilePlace {
  std::uint32_t link = kOwnFiles;
  std::string_view name;
  friend auto operator<=>(const FilePlace&, const FilePlace&) = default;
};

Status check_extents(const Manifest& manifest) {
  std::map<FilePlace, std::uint64_t> sizes;
  for (const ManifestFile& file : manifest.files)
    if (!sizes.emplace(FilePlace{file.link, file.name}, file.bytes).second)
      return Status::corruption(fmt::format("MANIFEST lists file {} twice", file.name));
  struct Use {
    FilePlace file;
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t chunk_of = 0;  // relation + 1 if this is a chunk, which neighbours may share
    bool operator==(const Use&) const = default;
  };
  std::vector<Use> uses;
  for (const ManifestShard& shard : manifest.shards)
    for (const Extent& extent : shard.extents)
      uses.push_back(
          {{shard.link, shard.file},
           extent.offset,
           extent.offset + extent.bytes,
           shard.is_deflated() || shard.is_streams() ? std::uint64_t{shard.relation} + 1 : 0});
  for (const ManifestFile& file : manifest.files)
    for (const Extent& extent : file.others)
      uses.push_back({{file.link, file.name}, extent.offset, extent.offset + extent.bytes});
  std::set<FilePlace> section_files;
  for (const ManifestSection& section : manifest.sections) {
    const FilePlace place{section.link, section.file};
    const auto file = sizes.find(place);
    if (file == sizes.end() || !section_files.insert(place).second)
      return Status::corruption(fmt::format("MANIFEST: no file for section {}", section.name));
    uses.push_back({place, 0, file->second});
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return a.file != b.file ? a.file < b.file : a.begin < b.begin;
  });
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto file = sizes.find(uses[i].file);
    if (file == sizes.end() || uses[i].end > file->second)
      return Status::corruption(
          fmt::format("MANIFEST: {} does not reach to byte {}", uses[i].file.name, uses[i].end));
    if (i > 0 && uses[i].chunk_of != 0 && uses[i - 1] == uses[i]) continue;
    if (i > 0 && uses[i - 1].file == uses[i].file && uses[i - 1].end > uses[i].begin)
      return Status::corruption(fmt::format("MANIFEST: two shards overlap in {} at byte {}",
                                            uses[i].file.name, uses[i].begin));
  }
  return Status::ok();
}

Status check_pieces(const Manifest& manifest, const ManifestShard& shard) {
  if (!stores_rows(manifest.mode_of(shard.link))) return Status::ok();
  const std::uint64_t row_bytes = 8ULL * manifest.relations[shard.relation].arity;
  // In deflated chunks the first piece may be a part of a chunk only, and each has its extent.
  const std::uint64_t before = shard.is_deflated() ? shard.first_row % shard.chunk_rows : 0;
  const bool chunks_fit = !shard.is_deflated() || (shard.extents.size() == shard.blocks &&
                                                   shard.chunk_rows == shard.piece_rows);
  if (row_bytes != 0 && chunks_fit && shard.bytes() % row_bytes == 0 &&
      shard.bytes() / row_bytes == shard.rows &&
      shard.piece_rows <= (std::uint64_t{64} << 20) / row_bytes &&
      (before + shard.rows + shard.piece_rows - 1) / shard.piece_rows == shard.blocks)
    return Status::ok();
  return Status::corruption(fmt::format(
      "MANIFEST: shard {} of rank {}: rows and pieces do not match", shard.relation, shard.rank));
}

// How many tuples the numbers of one block are, or 0 if they cannot be its streams. `begins` of
// the block, and of the next one behind them.
std::uint64_t tuples_of_block(std::span<const std::uint64_t> begins, std::size_t streams,
                              std::uint64_t& groups) {
  const auto numbers = [&](std::size_t s) { return begins[streams + s] - begins[s]; };
  for (std::size_t s = 0; s < streams; ++s)
    if (begins[streams + s] < begins[s]) return 0;
  std::uint64_t nodes = numbers(0);
  std::uint64_t parents = streams == 1 ? 1 : nodes;
  for (std::size_t s = 1; s < streams; s += 3) {
    if (numbers(s) != nodes || numbers(s + 1) != nodes) return 0;
    parents = nodes;
    if (nodes > kMostFileBlockTuples || numbers(s + 2) > kMostFileBlockTuples) return 0;
    nodes += numbers(s + 2);
  }
  groups += parents;
  return nodes > kMostFileBlockTuples ? 0 : nodes;
}

Status check_streams(const Manifest& manifest, const ManifestShard& shard) {
  if (!stores_streams(manifest.mode_of(shard.link))) return Status::ok();
  Status bad = Status::corruption(
      fmt::format("MANIFEST: shard {} of rank {}: streams, blocks and chunks do not match",
                  shard.relation, shard.rank));
  const std::uint32_t arity = manifest.relations[shard.relation].arity;
  const std::size_t streams = arity == 0 ? 0 : file_stream_count(arity);
  const StreamPlaces& places = shard.streams;
  if (streams == 0 || places.chunks.size() != streams || places.keys.size() != shard.blocks ||
      places.begins.size() != (shard.blocks + 1) * streams ||
      shard.pieces.size() != shard.extents.size())
    return bad;
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  for (std::uint64_t b = 0; b < shard.blocks; ++b) {
    const std::uint64_t tuples = tuples_of_block(
        std::span(places.begins).subspan(b * streams, streams * 2), streams, groups);
    if (tuples == 0) return bad;
    rows += tuples;
  }
  std::size_t extent = 0;
  for (std::size_t s = 0; s < streams; ++s) {
    const std::uint64_t chunk = places.chunks[s];
    const std::uint64_t begin = places.begins[s];
    const std::uint64_t end = places.begins[(shard.blocks * streams) + s];
    if (chunk == 0) return bad;
    if (begin == end) continue;
    const std::uint64_t chunks = ((end + chunk - 1) / chunk) - (begin / chunk);
    if (chunks > shard.extents.size() - extent) return bad;
    for (std::uint64_t c = 0; c < chunks; ++c)
      if (shard.extents[extent++].bytes > chunk * 4) return bad;
  }
  return rows == shard.rows && groups == shard.groups && extent == shard.extents.size()
             ? Status::ok()
             : bad;
}

}  // namespace

Status check_parts(const Manifest& manifest) {
  STRATALOG_RETURN_IF_ERROR(check_extents(manifest));
  std::vector<std::uint64_t> rows(manifest.relations.size(), 0);
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  std::uint64_t total_bytes = 0;
  for (const ManifestShard& shard : manifest.shards) {
    if (shard.rows > manifest.relations[shard.relation].rows - rows[shard.relation] ||
        !seen.emplace(shard.relation, shard.rank, shard.link).second || shard.extents.empty() ||
        shard.bytes() > kMaxFileBytes - total_bytes || shard.first_row > kMaxFileBytes - shard.rows)
      return Status::corruption(
          fmt::format("MANIFEST: shard {} of rank {} cannot be", shard.relation, shard.rank));
    rows[shard.relation] += shard.rows;
    total_bytes += shard.bytes();
    STRATALOG_RETURN_IF_ERROR(check_pieces(manifest, shard));
    STRATALOG_RETURN_IF_ERROR(check_streams(manifest, shard));
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (manifest.relations[i].arity != 0 && rows[i] != manifest.relations[i].rows)
      return Status::corruption(fmt::format("MANIFEST: relation {} has {} rows, its shards {}",
                                            manifest.relations[i].name, manifest.relations[i].rows,
                                            rows[i]));
  return Status::ok();
}

}  // namespace stratalog
