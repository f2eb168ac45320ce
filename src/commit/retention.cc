// SPDX-License-Identifier: Apache-2.0
#include "commit/retention.h"

#include <fmt/format.h>

namespace stratalog {
namespace {

Status sync_file(Store& store, const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, store.open(path, OpenMode::kRead));
  const Status synced = file->sync();
  const Status closed = file->close();
  return synced.is_ok() ? closed : synced;
}

// Data files were durable before the manifest existed, unless the job was told to skip that.
Status make_durable(Store& store, const Manifest& manifest) {
  const std::string directory = generation_name(manifest.id);
  if (manifest.durability == Durability::kNone)
    for (const ManifestFile& file : manifest.files) {
      std::string path = directory;
      path.append("/").append(file.name);
      STRATALOG_RETURN_IF_ERROR(sync_file(store, path));
    }
  STRATALOG_RETURN_IF_ERROR(sync_file(store, directory + "/" + kManifestName));
  return store.sync_directory(directory);
}

}  // namespace

std::vector<GenerationId> plan_retention(const std::vector<KnownGeneration>& known,
                                         std::uint32_t keep, std::uint32_t own_epoch) {
  std::vector<GenerationId> remove;
  std::uint32_t valid = 0;
  for (const KnownGeneration& generation : known) {
    const bool enough = valid >= keep;
    if (generation.is_valid) ++valid;
    const bool unfinished = !generation.has_manifest && generation.id.epoch < own_epoch;
    if (unfinished || (enough && generation.has_manifest)) remove.push_back(generation.id);
  }
  return remove;
}

Result<std::vector<KnownGeneration>> adopt_generations(Store& store, const Hash128& store_id,
                                                       std::uint32_t keep,
                                                       const CommitRules& rules) {
  STRATALOG_ASSIGN_OR_RETURN(const auto ids, list_generation_ids(store));
  const bool sync =
      rules.durability != Durability::kNone && rules.steps.includes(ProtocolStep::kSyncAdopted);
  std::vector<KnownGeneration> known;
  std::uint32_t valid = 0;
  for (const GenerationId& id : ids) {
    const Result<ManifestOnDisk> found = read_valid_manifest(store, id, store_id, ProtocolSteps{});
    KnownGeneration generation{.id = id, .has_manifest = true, .is_valid = found.is_ok()};
    if (!found.is_ok()) generation.has_manifest = found.status().code() != StatusCode::kNotFound;
    known.push_back(generation);
    if (!generation.is_valid || valid++ >= keep || !sync) continue;
    STRATALOG_RETURN_IF_ERROR(make_durable(store, found.value().manifest));
  }
  if (sync && valid != 0) STRATALOG_RETURN_IF_ERROR(store.sync_directory("."));
  return known;
}

Status remove_generation(Store& store, const GenerationId& id, const CommitRules& rules) {
  const std::string directory = generation_name(id);
  if (rules.steps.includes(ProtocolStep::kHideBeforeDelete)) {
    const Status hidden =
        store.rename(directory + "/" + kManifestName, directory + "/" + kManifestHiddenName);
    if (!hidden.is_ok() && hidden.code() != StatusCode::kNotFound) return hidden;
    if (hidden.is_ok() && rules.durability == Durability::kFull &&
        rules.steps.includes(ProtocolStep::kSyncHidden))
      STRATALOG_RETURN_IF_ERROR(store.sync_directory(directory));
  }
  STRATALOG_RETURN_IF_ERROR(discard_generation(store, id));
  (void)store.remove_file(reject_name(directory));
  return Status::ok();
}

}  // namespace stratalog
