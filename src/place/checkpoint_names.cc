// SPDX-License-Identifier: Apache-2.0
#include "place/checkpoint_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace stratalog {
namespace {

constexpr std::string_view kGenerationPrefix = "gen-";
constexpr std::string_view kEpochPrefix = "epoch-";
constexpr std::size_t kMaxCleanName = 48;

std::optional<std::uint32_t> parse_hex8(std::string_view text) {
  if (text.size() != 8) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = (value << 4) | static_cast<std::uint32_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

std::string clean(std::string_view name) {
  std::string out(name.substr(0, kMaxCleanName));
  for (char& c : out) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!good) c = '_';
  }
  return out;
}

}  // namespace

std::string generation_name(const GenerationId& id) {
  return fmt::format("gen-{:08x}-{:010}", id.epoch, id.sequence);
}

std::optional<GenerationId> parse_generation_name(std::string_view name) {
  if (name.size() != 23 || !name.starts_with(kGenerationPrefix) || name[12] != '-')
    return std::nullopt;
  const auto epoch = parse_hex8(name.substr(4, 8));
  if (!epoch) return std::nullopt;
  GenerationId id{.epoch = *epoch, .sequence = 0};
  for (const char c : name.substr(13)) {
    if (c < '0' || c > '9') return std::nullopt;
    id.sequence = (id.sequence * 10) + static_cast<std::uint64_t>(c - '0');
  }
  return id;
}

std::string epoch_name(std::uint32_t epoch) { return fmt::format("epoch-{:08x}", epoch); }

std::optional<std::uint32_t> parse_epoch_name(std::string_view name) {
  if (!name.starts_with(kEpochPrefix)) return std::nullopt;
  return parse_hex8(name.substr(kEpochPrefix.size()));
}

std::string reject_name(std::string_view generation) {
  return fmt::format("rejected-{}", generation);
}

std::string_view version_name(RelationVersion version) {
  return version == RelationVersion::kTotal ? "total" : "delta";
}

std::string shard_file_name(std::size_t image, std::string_view relation, RelationVersion version,
                            int rank) {
  return fmt::format("{:04}-{}.{}.{:06}", image, clean(relation), version_name(version), rank);
}

std::string shared_file_name(std::size_t image, std::string_view relation,
                             RelationVersion version) {
  return fmt::format("{:04}-{}.{}.shared", image, clean(relation), version_name(version));
}

std::string row_file_name(std::size_t batch, std::size_t batches, std::uint32_t group,
                          std::uint32_t groups) {
  if (batches == 1 && groups == 1) return kRowFileName;
  return fmt::format("relations-{:04}-{:04}.h5", batch, group);
}

std::string shared_batch_name(std::size_t batch, std::uint32_t group) {
  return fmt::format("relations-{:04}-{:04}.shared", batch, group);
}

std::string own_batch_name(std::size_t batch, int rank) {
  return fmt::format("relations-{:04}.{:06}", batch, rank);
}

std::string section_file_name(std::size_t section, std::string_view name) {
  return fmt::format("section-{:02}-{}", section, clean(name));
}

std::string draining_name(std::string_view file, int node, std::uint32_t number) {
  return fmt::format(".{}.{}-{:08x}", file, node, number);
}

bool is_draining_name(std::string_view name) { return name.starts_with('.'); }

bool is_data_file_name(std::string_view name) {
  if (name.empty() || name.size() > 120 || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

}  // namespace stratalog
