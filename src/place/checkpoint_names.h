// SPDX-License-Identifier: Apache-2.0
// The names in a checkpoint directory: generations, epochs, data files. Built and parsed strictly,
// compared as numbers, never derived from a clock; relation names are cut and cleaned, because the
// manifest has the true ones. Pure; local.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/tuple_group.h"

namespace stratalog {

inline constexpr char kStoreFileName[] = "STORE";
inline constexpr char kLockFileName[] = "LOCK";
inline constexpr char kManifestName[] = "MANIFEST";
inline constexpr char kManifestTemporaryName[] = "MANIFEST.tmp";
inline constexpr char kManifestHiddenName[] = "MANIFEST.removed";
inline constexpr char kRowFileName[] = "relations.h5";

// Which attempt: epochs count jobs that opened the store for writing, sequences count checkpoints
// over all jobs.
struct GenerationId {
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
  friend auto operator<=>(const GenerationId&, const GenerationId&) = default;
};

inline constexpr std::uint64_t kMaxSequence = 9999999999ULL;

std::string generation_name(const GenerationId& id);  // "gen-0000000a-0000000012": hex, decimal
std::optional<GenerationId> parse_generation_name(std::string_view name);
std::string epoch_name(std::uint32_t epoch);  // "epoch-0000000a"
std::optional<std::uint32_t> parse_epoch_name(std::string_view name);
std::string reject_name(std::string_view generation);  // "rejected-gen-..."

std::string_view version_name(RelationVersion version);  // "total", "delta"

std::string shard_file_name(std::size_t image, std::string_view relation, RelationVersion version,
                            int rank);
std::string shared_file_name(std::size_t image, std::string_view relation, RelationVersion version);
// Files of several groups of ranks, or with several relations: "relations-0002-0001.h5" is batch 2
// of the relations and group 1 of the ranks. With one batch and one group it is kRowFileName.
std::string row_file_name(std::size_t batch, std::size_t batches, std::uint32_t group,
                          std::uint32_t groups);
// The same for encoded shards, shared by a group or of one rank.
std::string shared_batch_name(std::size_t batch, std::uint32_t group);
std::string own_batch_name(std::size_t batch, int rank);
std::string section_file_name(std::size_t section, std::string_view name);

// While a file is copied to where it belongs; begins with a dot, as no name in a manifest does.
std::string draining_name(std::string_view file, int node, std::uint32_t number);
bool is_draining_name(std::string_view name);

// Whether a name from a manifest may be opened: 1..120 of [A-Za-z0-9._-], not beginning with a dot.
bool is_data_file_name(std::string_view name);

// The number that seeds the checksums of a shard's blocks.
constexpr std::uint64_t shard_file_id(std::size_t image, int rank) {
  return ((static_cast<std::uint64_t>(image) + 1) << 32) | static_cast<std::uint32_t>(rank);
}
// Of the chunks of one stream, which ranks share; ranks are below 2^31.
constexpr std::uint64_t stream_file_id(std::size_t image, std::size_t stream) {
  return ((static_cast<std::uint64_t>(image) + 1) << 32) | 0x80000000U |
         static_cast<std::uint32_t>(stream);
}
constexpr std::uint64_t section_file_id(std::size_t section) {
  return (std::uint64_t{0xFFFFFFFF} << 32) | static_cast<std::uint32_t>(section);
}

}  // namespace stratalog
