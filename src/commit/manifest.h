// SPDX-License-Identifier: Apache-2.0
// Manifest: what a generation consists of, and its text: one JSON object per line, the last line
// being the XXH3-128 of all before. Parsing trusts nothing and checks that the parts fit together;
// whether the files exist is for commit/generations.h. Layout: docs/formats/checkpoint.md. Pure;
// local.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "commit/vocabulary.h"
#include "encode/checksum.h"
#include "model/tuple_group.h"
#include "place/checkpoint_names.h"

namespace stratalog {

struct ManifestRelation {
  std::string name;
  RelationVersion version = RelationVersion::kTotal;
  std::uint32_t arity = 0;
  std::vector<std::uint32_t> column_order;
  std::uint64_t rows = 0;
  MultisetHash hash;
};

struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  Hash128 frame;  // hdf5 only: hash of all bytes outside the datasets
};

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// One rank's part of one relation version: a stream of bytes that lies in `extents` of `file`.
struct ManifestShard {
  std::uint32_t relation = 0;
  std::uint32_t rank = 0;
  std::string file;
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  std::uint64_t blocks = 0;
  Hash128 hash;  // of header and footer; zero in hdf5 mode
  std::vector<Extent> extents;
  std::uint64_t piece_rows = 0;  // hdf5 only: rows per checksum
  std::vector<std::uint64_t> pieces;  // hdf5 only: the checksums

  std::uint64_t bytes() const;
};

struct ManifestSection {
  std::string name;
  std::string file;
  std::uint64_t bytes = 0;  // of the content
  std::uint64_t blocks = 0;
  Hash128 hash;  // of header and footer
};

struct Manifest {
  Hash128 store;
  GenerationId id;
  Nonce nonce;
  std::uint32_t ranks = 1;
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;
  Durability durability = Durability::kFull;
  std::uint64_t iteration = 0;
  std::string program_hash;
  std::string engine_state;
  std::vector<ManifestRelation> relations;
  std::vector<ManifestSection> sections;
  std::vector<ManifestFile> files;
  std::vector<ManifestShard> shards;
};

// One line each, with the newline. Shard lines are made by the rank that wrote the shard.
std::string shard_line(const ManifestShard& shard);
std::string file_line(const ManifestFile& file);

// The whole text. `file_lines` and `shard_lines` stand for manifest.files and manifest.shards,
// which are ignored; counts are taken from the lines.
std::string manifest_text(const Manifest& manifest, std::string_view file_lines,
                          std::string_view shard_lines);

enum class CheckManifest : std::uint8_t { kYes, kNo };  // kNo: tests only

// Corruption names the line. NotSupported: a newer version or an unknown critical feature.
Result<Manifest> parse_manifest(std::string_view text, CheckManifest check);

}  // namespace stratalog
