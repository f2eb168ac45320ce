// SPDX-License-Identifier: Apache-2.0
#include "commit/retention.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace stratalog {
namespace {

Status sync_file(Store& store, const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, store.open(path, OpenMode::kRead));
  return close_file(*file, SyncFiles::kYes);
}

// Data files were durable before the manifest existed, unless the job was told to skip that. Files
// of older generations were durable when those were acknowledged, with the same exception.
Status make_durable(Store& store, const Manifest& manifest) {
  const std::string directory = generation_name(manifest.id);
  if (manifest.durability == Durability::kNone)
    for (const ManifestFile& file : manifest.files)
      STRATALOG_RETURN_IF_ERROR(sync_file(store, manifest.path(file.link, file.name)));
  if (manifest.durability != Durability::kFull)
    for (const ManifestLink& link : manifest.links)
      STRATALOG_RETURN_IF_ERROR(store.sync_directory(generation_name(link.id)));
  STRATALOG_RETURN_IF_ERROR(sync_file(store, directory + "/" + kManifestName));
  return store.sync_directory(directory);
}

}  // namespace

std::vector<FileOfGeneration> files_needed(const Manifest& manifest) {
  std::vector<FileOfGeneration> files;
  for (const ManifestFile& file : manifest.files)
    if (file.link != kOwnFiles)
      files.push_back({.id = manifest.links[file.link].id, .name = file.name});
  return files;
}

std::vector<Removal> plan_retention(const std::vector<KnownGeneration>& known, std::uint32_t keep,
                                    std::uint32_t own_epoch) {
  std::map<GenerationId, std::set<std::string>> needed;
  std::vector<const KnownGeneration*> going;
  std::uint32_t valid = 0;
  for (const KnownGeneration& generation : known) {
    const bool enough = valid >= keep;
    if (generation.is_valid) ++valid;
    const bool unfinished = !generation.has_manifest &&
                            (generation.id.epoch < own_epoch || generation.left.has_value());
    if (unfinished || (enough && generation.has_manifest)) {
      going.push_back(&generation);
      continue;
    }
    for (const FileOfGeneration& file : generation.needs) needed[file.id].insert(file.name);
  }
  std::vector<Removal> removals;
  for (const KnownGeneration* generation : going) {
    Removal removal{.id = generation->id, .keep = {}};
    const auto kept = needed.find(generation->id);
    if (kept != needed.end()) removal.keep.assign(kept->second.begin(), kept->second.end());
    if (generation->left != removal.keep) removals.push_back(std::move(removal));
  }
  return removals;
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
    if (found.is_ok()) {
      generation.needs = files_needed(found.value().manifest);
      generation.learned = found.value().manifest.learned;
    } else {
      const Result<ManifestOnDisk> damaged = read_manifest(store, id, store_id, ProtocolSteps{});
      if (damaged.is_ok()) {
        generation.needs = files_needed(damaged.value().manifest);
        generation.learned = damaged.value().manifest.learned;
      }
      generation.has_manifest = found.status().code() != StatusCode::kNotFound;
    }
    known.push_back(generation);
    if (!generation.is_valid || valid++ >= keep || !sync) continue;
    STRATALOG_RETURN_IF_ERROR(make_durable(store, found.value().manifest));
  }
  if (sync && valid != 0) STRATALOG_RETURN_IF_ERROR(store.sync_directory("."));
  return known;
}

Status remove_generation(Store& store, const Removal& removal, const CommitRules& rules) {
  const std::string directory = generation_name(removal.id);
  if (rules.steps.includes(ProtocolStep::kHideBeforeDelete)) {
    Status hidden =
        store.rename(directory + "/" + kManifestName, directory + "/" + kManifestHiddenName);
    if (!hidden.is_ok() && hidden.code() != StatusCode::kNotFound) return hidden;
    // A job that died here may have hidden it, and not synced: then its name can come back.
    const bool is_hidden =
        hidden.is_ok() || store.info(directory + "/" + kManifestHiddenName).is_ok();
    if (is_hidden && rules.durability == Durability::kFull &&
        rules.steps.includes(ProtocolStep::kSyncHidden))
      STRATALOG_RETURN_IF_ERROR(store.sync_directory(directory));
  }
  if (removal.keep.empty())
    STRATALOG_RETURN_IF_ERROR(discard_generation(store, removal.id));
  else
    STRATALOG_RETURN_IF_ERROR(discard_files(store, removal.id, removal.keep));
  (void)store.remove_file(reject_name(directory));
  return Status::ok();
}

}  // namespace stratalog
