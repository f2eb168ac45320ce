// SPDX-License-Identifier: Apache-2.0
// Manifest: what a generation consists of, and its text: one JSON object per line, the last line
// being the XXH3-128 of all before. Parsing trusts nothing and checks that the parts fit together;
// whether the files exist is for commit/generations.h. Layout: docs/formats/checkpoint.md. Pure;
// local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "commit/learned_record.h"
#include "commit/part_choice.h"
#include "commit/vocabulary.h"
#include "encode/checksum.h"
#include "model/tuple_group.h"
#include "place/checkpoint_names.h"
#include "policy/layout_plan.h"

namespace stratalog {

struct ManifestRelation {
  std::string name;
  RelationVersion version = RelationVersion::kTotal;
  std::uint32_t arity = 0;
  std::vector<std::uint32_t> column_order;
  std::uint64_t rows = 0;
  MultisetHash hash;
  PartChoice choice = {};
};

// An older generation of the same job (the same epoch), some of whose files this one uses. What a
// reader needs of it stands here, so that its own manifest may go.
struct ManifestLink {
  GenerationId id;
  Nonce nonce;
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  friend bool operator==(const ManifestLink&, const ManifestLink&) = default;
};

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// What readers must know to read a manifest that has links.
inline constexpr char kLinksFeature[] = "links";

// Offsets and sizes of files stay below.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 63;

// In place of a position in Manifest::links: the generation's own directory.
inline constexpr std::uint32_t kOwnFiles = 0xFFFFFFFFU;

struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  Hash128 frame;  // row files only: hash of all bytes outside the datasets
  std::uint32_t link = kOwnFiles;  // which generation has it
  std::vector<Extent> others =
      {};  // of linked files: shards in it that this generation does not use
};

// Of a shard whose tuples are streams of numbers in HDF5 data sets, in chunks that neighbours share
// where they meet (mode hdf5-streams). Its extents are the chunks that hold some of its numbers,
// stream by stream; its pieces their checksums.
struct StreamPlaces {
  std::vector<std::uint64_t> chunks;  // for each stream, numbers in a chunk; a chunk whose extent
                                      // has 4 bytes a number is stored as it is
  // For each block, and then for the end, the position of its first number in each stream's data
  // set.
  std::vector<std::uint64_t> begins;
  std::vector<Cell> keys;  // for each block, its first key
};

// One rank's part of one relation version, or of what one generation added to it: a stream of bytes
// that lies in `extents` of `file`. A relation is the disjoint union of its shards; each generation
// contributes at most one for each rank.
struct ManifestShard {
  std::uint32_t relation = 0;
  std::uint32_t link = kOwnFiles;  // which generation wrote it
  std::uint32_t image = 0;  // of linked shards: position of the relation in that generation
  std::uint32_t rank = 0;
  std::string file;
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  std::uint64_t blocks = 0;
  Hash128 hash;  // of header and footer; zero in row files
  std::vector<Extent> extents;
  std::uint64_t piece_rows = 0;  // row files only: rows per checksum
  std::vector<std::uint64_t> pieces;  // row files only: the checksums
  std::uint64_t streams_blocks = 0;  // of `blocks`: encoded as streams
  std::uint64_t copies = 0;  // of `groups`: fragments of the kind copy, of older versions
  std::uint64_t pools = 0;  // of `blocks`: encoded as pools without runs, of older versions
  std::uint64_t run_pools = 0;  // of `blocks`: encoded as pools with runs
  // For each block and each declared column the lowest and the highest cell; empty where whoever
  // wrote the shard did not say.
  std::vector<Cell> zones;
  // Deflated chunks only: extents are the chunks of so many rows that hold the shard's rows, which
  // begin at first_row of the dataset; neighbours share the chunks at their ends.
  std::uint64_t chunk_rows = 0;
  std::uint64_t first_row = 0;
  std::uint64_t row_bytes = 0;  // filled in by the parser for deflated chunks and streams
  StreamPlaces streams;

  bool is_deflated() const { return chunk_rows != 0; }
  bool is_streams() const { return !streams.chunks.empty(); }
  // Of the stream: what lies in the extents, inflated; of streams, what its rows would take.
  std::uint64_t bytes() const;
  // Of streams: tuples in front of a block, or of block `blocks` all.
  std::uint64_t rows_before(std::uint64_t block) const;
  // The number that seeds the checksums of its blocks.
  std::uint64_t file_id() const {
    return shard_file_id(link == kOwnFiles ? relation : image, static_cast<int>(rank));
  }
};

struct ManifestSection {
  std::string name;
  std::uint32_t piece = 0;  // its content continues that of the line before, piece - 1 of the name
  std::string file;
  std::uint32_t link = kOwnFiles;
  std::uint32_t image = 0;  // of linked sections: position in the generation that wrote it
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
  std::vector<Reason> reasons;  // why it is laid out as it is; not needed to read it
  std::optional<LearnedRecord> learned;  // before it was written; for the job that comes next
  std::vector<ManifestRelation> relations;
  std::vector<ManifestSection> sections;
  std::vector<ManifestLink> links;  // ascending
  std::vector<ManifestFile> files;
  std::vector<ManifestShard> shards;

  // Where the files of `link` (kOwnFiles: of the generation itself) lie, and what reading them
  // needs.
  std::string path(std::uint32_t link, const std::string& file) const;
  const Nonce& nonce_of(std::uint32_t link) const;
  CheckpointMode mode_of(std::uint32_t link) const;
};

// One line each, with the newline. Shard lines are made by the rank that wrote the shard.
std::string shard_line(const ManifestShard& shard);
std::string file_line(const ManifestFile& file);

// What a reader must know to read blocks of the encoding "streams".
inline constexpr const char* kStreamsFeature = "streams";
// And to read fragments of the kind copy.
inline constexpr const char* kCopiesFeature = "copies";
// And blocks of the encodings "pool" and "run_pool".
inline constexpr const char* kPoolsFeature = "pools";
inline constexpr const char* kRunPoolsFeature = "run-pools";
inline constexpr const char* kSectionPieces = "section-pieces";

// The whole text. `file_lines` and `shard_lines` stand for manifest.files and manifest.shards,
// which are ignored; counts are taken from the lines.
std::string manifest_text(const Manifest& manifest, std::string_view file_lines,
                          std::string_view shard_lines);

// The feature that readers must know before they read shards with chunk_rows.
inline constexpr std::string_view kDeflatedChunks = "deflated-chunks";

enum class CheckManifest : std::uint8_t { kYes, kNo };  // kNo: tests only

// Corruption names the line. NotSupported: a newer version or an unknown critical feature.
Result<Manifest> parse_manifest(std::string_view text, CheckManifest check);

}  // namespace stratalog
