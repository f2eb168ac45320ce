// SPDX-License-Identifier: Apache-2.0
// The writing half; manifest_parser.cc has the reading half.
#include "commit/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commit/learned_json.h"
#include "encode/block_format.h"

namespace stratalog {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const Json& object) {
  return object.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Json extents_json(const std::vector<Extent>& extents) {
  Json array = Json::array();
  for (const Extent& extent : extents) array.push_back({extent.offset, extent.bytes});
  return array;
}

Json zones_json(const ManifestShard& shard) {
  Json array = Json::array();
  const std::size_t each = shard.zones.size() / shard.blocks;
  for (auto at = shard.zones.begin(); at != shard.zones.end();
       at += static_cast<std::ptrdiff_t>(each))
    array.push_back(std::vector<Cell>(at, at + static_cast<std::ptrdiff_t>(each)));
  return array;
}

}  // namespace

std::uint64_t ManifestShard::bytes() const {
  if (is_deflated() || is_streams()) return rows * row_bytes;
  std::uint64_t sum = 0;
  for (const Extent& extent : extents) sum += extent.bytes;
  return sum;
}

// Each tuple has a number of its own in one of the last two streams, or in the only one.
std::uint64_t ManifestShard::rows_before(std::uint64_t block) const {
  const std::size_t each = streams.chunks.size();
  std::uint64_t tuples = 0;
  for (std::size_t s = each == 1 ? 0 : each - 2; s < each; ++s)
    tuples += streams.begins[(block * each) + s] - streams.begins[s];
  return tuples;
}

std::string Manifest::path(std::uint32_t link, const std::string& file) const {
  return generation_name(link == kOwnFiles ? id : links[link].id) + "/" + file;
}

const Nonce& Manifest::nonce_of(std::uint32_t link) const {
  return link == kOwnFiles ? nonce : links[link].nonce;
}

CheckpointMode Manifest::mode_of(std::uint32_t link) const {
  return link == kOwnFiles ? mode : links[link].mode;
}

std::string shard_line(const ManifestShard& shard) {
  Json object = {{"shard", shard.relation}, {"rank", shard.rank},     {"file", shard.file},
                 {"rows", shard.rows},      {"groups", shard.groups}, {"blocks", shard.blocks}};
  if (shard.link != kOwnFiles) {
    object["link"] = shard.link;
    object["image"] = shard.image;
  }
  if (shard.piece_rows == 0 && !shard.is_streams()) object["hash"] = to_hex(shard.hash);
  if (shard.piece_rows != 0) object["piece_rows"] = shard.piece_rows;
  if (shard.is_deflated()) {
    object["chunk_rows"] = shard.chunk_rows;
    object["first_row"] = shard.first_row;
  }
  if (shard.is_streams()) {
    object["chunks"] = shard.streams.chunks;
    object["begins"] = shard.streams.begins;
    object["keys"] = shard.streams.keys;
  }
  if (!shard.pieces.empty()) {
    Json pieces = Json::array();
    for (const std::uint64_t piece : shard.pieces) pieces.push_back(to_hex(piece));
    object["pieces"] = std::move(pieces);
  }
  object["extents"] = extents_json(shard.extents);
  if (shard.streams_blocks != 0) object["streams_blocks"] = shard.streams_blocks;
  if (shard.copies != 0) object["copies"] = shard.copies;
  if (shard.pools != 0) object["pools"] = shard.pools;
  if (shard.run_pools != 0) object["run_pools"] = shard.run_pools;
  if (!shard.zones.empty()) object["zones"] = zones_json(shard);
  return line(object);
}

std::string file_line(const ManifestFile& file) {
  Json object = {{"data", file.name}, {"bytes", file.bytes}};
  if (!(file.frame == Hash128{})) object["frame"] = to_hex(file.frame);
  if (file.link != kOwnFiles) object["link"] = file.link;
  if (!file.others.empty()) object["others"] = extents_json(file.others);
  return line(object);
}

namespace {

std::string relation_line(const ManifestRelation& relation) {
  Json object = {{"relation", relation.name},
                 {"version", version_name(relation.version)},
                 {"arity", relation.arity},
                 {"columns", relation.column_order},
                 {"rows", relation.rows},
                 {"hash", to_hex(relation.hash.high) + to_hex(relation.hash.low)}};
  const PartChoice& choice = relation.choice;
  if (!choice.part.empty())
    object["choice"] = {{"part", choice.part},
                        {"reason", choice.reason},
                        {"parts", choice.parts},
                        {"whole_bytes", choice.whole_bytes},
                        {"growth_bytes", choice.growth_bytes}};
  return line(object);
}

std::string section_line(const ManifestSection& section) {
  Json object = {{"section", section.name},
                 {"file", section.file},
                 {"bytes", section.bytes},
                 {"blocks", section.blocks},
                 {"hash", to_hex(section.hash)}};
  if (section.piece != 0) object["piece"] = section.piece;
  if (section.link != kOwnFiles) {
    object["link"] = section.link;
    object["image"] = section.image;
  }
  return line(object);
}

}  // namespace

std::string manifest_text(const Manifest& manifest, std::string_view file_lines,
                          std::string_view shard_lines) {
  Json critical = Json::array();
  if (!manifest.links.empty()) critical.push_back(kLinksFeature);
  if (shard_lines.find("\"chunk_rows\":") != std::string_view::npos)
    critical.push_back(kDeflatedChunks);
  // Also where a relation was taken over from an older generation.
  if (manifest.encoding == ShardEncoding::kStreams || manifest.encoding == ShardEncoding::kAuto ||
      shard_lines.find("\"streams_blocks\":") != std::string_view::npos)
    critical.push_back(kStreamsFeature);
  if (shard_lines.find("\"copies\":") != std::string_view::npos) critical.push_back(kCopiesFeature);
  if (shard_lines.find("\"pools\":") != std::string_view::npos) critical.push_back(kPoolsFeature);
  if (shard_lines.find("\"run_pools\":") != std::string_view::npos)
    critical.push_back(kRunPoolsFeature);
  if (std::any_of(manifest.sections.begin(), manifest.sections.end(),
                  [](const ManifestSection& section) { return section.piece != 0; }))
    critical.push_back(kSectionPieces);
  Json head = {{"stratalog", "manifest"},
               {"version", kFormatVersion},
               {"critical", std::move(critical)},
               {"store", to_hex(manifest.store)},
               {"epoch", manifest.id.epoch},
               {"sequence", manifest.id.sequence},
               {"nonce", to_hex(manifest.nonce)},
               {"ranks", manifest.ranks},
               {"mode", mode_name(format_of(manifest.mode))},
               {"layout", mode_name(manifest.mode)},
               {"encoding", encoding_name(manifest.encoding)},
               {"durability", durability_name(manifest.durability)},
               {"iteration", manifest.iteration},
               {"program", manifest.program_hash},
               {"state", manifest.engine_state},
               {"relations", manifest.relations.size()},
               {"sections", manifest.sections.size()},
               {"links", manifest.links.size()},
               {"files", std::count(file_lines.begin(), file_lines.end(), '\n')},
               {"shards", std::count(shard_lines.begin(), shard_lines.end(), '\n')}};
  for (const Reason& reason : manifest.reasons)
    head["reasons"].push_back(Json::array({reason.about, reason.text}));
  if (manifest.learned) head["learned"] = learned_json(*manifest.learned);
  std::string text = line(head);
  for (const ManifestRelation& relation : manifest.relations) text += relation_line(relation);
  for (const ManifestSection& section : manifest.sections) text += section_line(section);
  for (const ManifestLink& link : manifest.links)
    text += line({{"link", generation_name(link.id)},
                  {"nonce", to_hex(link.nonce)},
                  {"mode", mode_name(format_of(link.mode))}});
  text += file_lines;
  text += shard_lines;
  text += line({{"xxh3_128", to_hex(hash128(text))}});
  return text;
}

}  // namespace stratalog
