// SPDX-License-Identifier: Apache-2.0
#include "commit/generations.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "commit/store_file.h"

namespace stratalog {

Result<std::vector<GenerationId>> list_generation_ids(Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(const auto names, store.list("."));
  std::vector<GenerationId> ids;
  for (const std::string& name : names)
    if (const auto id = parse_generation_name(name)) ids.push_back(*id);
  std::sort(ids.begin(), ids.end(), std::greater<>());
  return ids;
}

Result<ManifestOnDisk> read_manifest(Store& store, const GenerationId& id, const Hash128& store_id,
                                     const ProtocolSteps& steps) {
  const std::string path = generation_name(id) + "/" + kManifestName;
  ManifestOnDisk found;
  STRATALOG_ASSIGN_OR_RETURN(found.text, read_text_file(store, path, kMaxManifestBytes));
  Result<Manifest> manifest =
      parse_manifest(found.text, steps.includes(ProtocolStep::kCheckManifest) ? CheckManifest::kYes
                                                                              : CheckManifest::kNo);
  if (!manifest.is_ok()) return manifest.status();
  found.manifest = std::move(manifest).value();
  if (!(found.manifest.store == store_id))
    return Status::corruption(fmt::format("the manifest belongs to store {}, this is store {}",
                                          to_hex(found.manifest.store), to_hex(store_id)));
  if (found.manifest.id != id)
    return Status::corruption(fmt::format("the manifest is that of {}; was the directory copied?",
                                          generation_name(found.manifest.id)));
  return found;
}

Status check_files(Store& store, const Manifest& manifest, const ProtocolSteps& steps) {
  for (const ManifestFile& file : manifest.files) {
    const std::string path = manifest.path(file.link, file.name);
    const Result<FileInfo> info = store.info(path);
    if (!info.is_ok()) {
      if (info.status().code() != StatusCode::kNotFound) return info.status();
      return Status::corruption(
          fmt::format("{} is missing{}", path,
                      file.link == kOwnFiles
                          ? ""
                          : fmt::format(", on which {} builds", generation_name(manifest.id))));
    }
    if (info.value().kind != FileKind::kRegular)
      return Status::corruption(fmt::format("{} is not a regular file", path));
    if (info.value().size_bytes != file.bytes && steps.includes(ProtocolStep::kCheckSizes))
      return Status::corruption(fmt::format("{} has {} bytes, the manifest says {}", path,
                                            info.value().size_bytes, file.bytes));
  }
  return Status::ok();
}

Result<ManifestOnDisk> read_valid_manifest(Store& store, const GenerationId& id,
                                           const Hash128& store_id, const ProtocolSteps& steps) {
  STRATALOG_ASSIGN_OR_RETURN(ManifestOnDisk found, read_manifest(store, id, store_id, steps));
  STRATALOG_RETURN_IF_ERROR(check_files(store, found.manifest, steps));
  return found;
}

}  // namespace stratalog
