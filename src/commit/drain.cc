// SPDX-License-Identifier: Apache-2.0
#include "commit/drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "commit/generations.h"
#include "commit/manifest.h"
#include "commit/store_file.h"
#include "place/checkpoint_names.h"
#include "write/write_behind.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

Status remove_if_there(Store& store, const std::string& path) {
  const Status removed = store.remove_file(path);
  return removed.code() == StatusCode::kNotFound ? Status::ok() : removed;
}

Status copy_bytes(File& from, File& to, std::uint64_t bytes) {
  std::vector<std::byte> piece(std::min(bytes, kPieceBytes));
  WriteBehind behind(SyncFiles::kYes);
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min(bytes - at, kPieceBytes));
    STRATALOG_RETURN_IF_ERROR(from.read_at(at, piece));
    STRATALOG_RETURN_IF_ERROR(to.write_at(at, piece));
    behind.wrote(to, at, piece.size());
  }
  return to.sync();
}

Status copy_file(Store& stage, Store& home, const std::string& path, std::uint64_t bytes) {
  STRATALOG_ASSIGN_OR_RETURN(const auto from, stage.open(path, OpenMode::kRead));
  STRATALOG_RETURN_IF_ERROR(remove_if_there(home, path));
  STRATALOG_ASSIGN_OR_RETURN(const auto to, home.open(path, OpenMode::kCreateExclusive));
  const Status copied = copy_bytes(*from, *to, bytes);
  const Status closed = to->close();
  return copied.is_ok() ? closed : copied;
}

Status make_room(Store& home, const GenerationId& id, const CommitRules& rules) {
  Status begun = begin_generation(home, id, rules);
  const std::string directory = generation_name(id);
  // An earlier attempt made it; a later job makes the same complaint under another code.
  if (begun.code() == StatusCode::kAlreadyExists && home.info(directory).is_ok())
    return home.sync_directory(".");
  return begun;
}

// The files of older generations, which must be there before anything builds on them.
Status check_linked_files(Store& home, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) {
    if (file.link == kOwnFiles) continue;
    const std::string path = manifest.path(file.link, file.name);
    const Result<FileInfo> info = home.info(path);
    if (!info.is_ok())
      return info.status().with_context(
          fmt::format("{} builds on it", generation_name(manifest.id)));
  }
  return Status::ok();
}

}  // namespace

bool is_drained(Store& home, const GenerationId& id) {
  return home.info(generation_name(id) + "/" + kManifestName).is_ok();
}

Status drain_generation(Store& stage, Store& home, const GenerationId& id,
                        const CommitRules& rules) {
  if (is_drained(home, id)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 store_id, read_store_id(home));
  STRATALOG_ASSIGN_OR_RETURN(const ManifestOnDisk staged,
                             read_manifest(stage, id, store_id, rules.steps));
  const std::string directory = generation_name(id) + "/";
  for (const ManifestFile& file : staged.manifest.files) {
    if (file.link != kOwnFiles) continue;
    STRATALOG_ASSIGN_OR_RETURN(const FileInfo info, stage.info(directory + file.name));
    if (info.size_bytes != file.bytes)
      return Status::corruption(fmt::format("{}{} has {} bytes, the manifest says {}", directory,
                                            file.name, info.size_bytes, file.bytes));
  }
  STRATALOG_RETURN_IF_ERROR(check_linked_files(home, staged.manifest));
  STRATALOG_RETURN_IF_ERROR(make_room(home, id, rules));
  for (const ManifestFile& file : staged.manifest.files)
    if (file.link == kOwnFiles)
      STRATALOG_RETURN_IF_ERROR(copy_file(stage, home, directory + file.name, file.bytes));
  STRATALOG_RETURN_IF_ERROR(remove_if_there(home, directory + kManifestTemporaryName));
  return publish_manifest(home, id, staged.text, rules).status;
}

}  // namespace stratalog
