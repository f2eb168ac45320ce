// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/stored_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "commit/store_file.h"
#include "read/shard_reader.h"

namespace stratalog {

Result<ManifestOnDisk> open_generation(Store& store, const std::string& generation) {
  const auto id = parse_generation_name(generation);
  if (!id)
    return Status::invalid_argument(fmt::format(
        "\"{}\" is no generation's name; `stratalog ls` shows what there is", generation));
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 store_id, read_store_id(store));
  Result<ManifestOnDisk> found = read_manifest(store, *id, store_id, ProtocolSteps{});
  if (!found.is_ok()) return found.status().with_context(generation);
  return found;
}

StoredState state_of(const Manifest& manifest) {
  StoredState state;
  state.generation = generation_name(manifest.id);
  state.ranks = manifest.ranks;
  state.mode = manifest.mode;
  state.encoding = manifest.encoding;
  state.durability = manifest.durability;
  state.iteration = manifest.iteration;
  state.program_hash = manifest.program_hash;
  state.engine_state = manifest.engine_state;
  state.layout_reasons = manifest.reasons;
  for (const ManifestRelation& relation : manifest.relations)
    state.relations.push_back({.name = relation.name,
                               .version = relation.version,
                               .arity = relation.arity,
                               .column_order = relation.column_order,
                               .rows = relation.rows,
                               .hash = relation.hash,
                               .choice = relation.choice});
  for (const ManifestLink& link : manifest.links)
    state.builds_on.push_back(generation_name(link.id));
  return state;
}

Status read_sections(Store& store, const Manifest& manifest, const ProtocolSteps& steps,
                     StoredState& state) {
  for (std::size_t i = 0; i < manifest.sections.size(); ++i) {
    STRATALOG_ASSIGN_OR_RETURN(Bytes content, read_section(store, manifest, i, steps));
    if (manifest.sections[i].piece == 0) {
      state.sections.push_back({.name = manifest.sections[i].name, .data = std::move(content)});
    } else {
      Bytes& whole = state.sections.back().data;
      whole.insert(whole.end(), content.begin(), content.end());
    }
  }
  return Status::ok();
}

const NamedSection* find_section(const StoredState& state, std::string_view name) {
  const auto found =
      std::find_if(state.sections.begin(), state.sections.end(),
                   [&](const NamedSection& section) { return section.name == name; });
  return found == state.sections.end() ? nullptr : &*found;
}

}  // namespace stratalog
