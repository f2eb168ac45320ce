// SPDX-License-Identifier: Apache-2.0
#include "commit/publish.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory_end.h"
#include "commit/store_file.h"

namespace stratalog {
namespace {

// AlreadyExists if a later job has claimed the store.
Status check_not_superseded(Store& store, const CommitRules& rules) {
  if (!rules.steps.includes(ProtocolStep::kCheckEpochBeforeCommit)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const std::uint32_t highest, highest_epoch(store));
  if (highest <= rules.epoch) return Status::ok();
  return Status::already_exists(
      fmt::format("a newer job (epoch {}) has taken over {}; this job (epoch {}) writes no more "
                  "checkpoints",
                  highest, store.root(), rules.epoch));
}

Status prepare(Store& store, const std::string& directory, std::string_view text,
               const CommitRules& rules) {
  if (rules.durability == Durability::kFull &&
      rules.steps.includes(ProtocolStep::kSyncGenerationFiles))
    STRATALOG_RETURN_IF_ERROR(store.sync_directory(directory));
  const bool rename = rules.steps.includes(ProtocolStep::kRenameManifest);
  return write_text_file(
      store, directory + "/" + (rename ? kManifestTemporaryName : kManifestName), text,
      rules.steps.includes(ProtocolStep::kSyncManifest) ? rules.durability : Durability::kNone);
}

}  // namespace

Status begin_generation(Store& store, const GenerationId& id, const CommitRules& rules) {
  STRATALOG_RETURN_IF_ERROR(store.confirm_root());
  STRATALOG_RETURN_IF_ERROR(check_not_superseded(store, rules));
  STRATALOG_RETURN_IF_ERROR(store.make_directory(generation_name(id)));
  if (rules.durability != Durability::kFull ||
      !rules.steps.includes(ProtocolStep::kSyncNewGeneration))
    return Status::ok();
  const Status synced = store.sync_directory(".");
  if (!synced.is_ok()) (void)store.remove_directory(generation_name(id));
  return synced;
}

PublishResult publish_manifest(Store& store, const GenerationId& id, std::string_view text,
                               const CommitRules& rules) {
  const std::string directory = generation_name(id);
  PublishResult result;
  result.status = or_no_space("not enough memory to write a manifest",
                              [&] { return prepare(store, directory, text, rules); });
  if (!result.status.is_ok()) return result;
  result.status = check_not_superseded(store, rules);
  result.superseded = result.status.code() == StatusCode::kAlreadyExists;
  if (!result.status.is_ok()) return result;
  if (rules.steps.includes(ProtocolStep::kRenameManifest)) {
    const std::string final_name = directory + "/" + kManifestName;
    result.status = store.rename(directory + "/" + kManifestTemporaryName, final_name);
    // A rename that reports an error may still have happened (network file systems).
    if (!result.status.is_ok()) {
      const Result<FileInfo> there = store.info(final_name);
      if (there.is_ok() || there.status().code() != StatusCode::kNotFound)
        result.outcome = PublishOutcome::kUnknown;
      return result;
    }
  }
  result.outcome = PublishOutcome::kUnknown;
  if (rules.durability == Durability::kFull && rules.steps.includes(ProtocolStep::kSyncRename)) {
    result.status = store.sync_directory(directory);
    if (!result.status.is_ok()) return result;
  }
  // What nobody finds under the store's name must not count as saved.
  result.status = store.confirm_root();
  if (!result.status.is_ok()) return result;
  // A second look: if nobody claimed the store until now, everybody who does later sees this
  // generation.
  result.status = check_not_superseded(store, rules);
  result.superseded = result.status.code() == StatusCode::kAlreadyExists;
  if (result.status.is_ok()) result.outcome = PublishOutcome::kCommitted;
  return result;
}

Status discard_files(Store& store, const GenerationId& id, std::span<const std::string> keep) {
  const std::string directory = generation_name(id);
  STRATALOG_ASSIGN_OR_RETURN(const auto names, store.list(directory));
  Status first;
  for (const std::string& name : names) {
    if (std::binary_search(keep.begin(), keep.end(), name)) continue;
    std::string path = directory;
    path.append("/").append(name);
    const Status removed = store.remove_file(path);
    if (first.is_ok() && removed.code() != StatusCode::kNotFound) first = removed;
  }
  return first;
}

Status discard_generation(Store& store, const GenerationId& id) {
  const Status files = discard_files(store, id, {});
  const Status directory = store.remove_directory(generation_name(id));
  return files.is_ok() ? directory : files;
}

}  // namespace stratalog
