// SPDX-License-Identifier: Apache-2.0
#include "commit/drain.h"

#include <fmt/format.h>

#include <algorithm>

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

bool has_arrived(Store& home, const std::string& path, std::uint64_t bytes) {
  const Result<FileInfo> info = home.info(path);
  return info.is_ok() && info.value().size_bytes == bytes;
}

// Under a name that no manifest has until its bytes are durable: whoever else copies the same file
// replaces equal bytes by equal bytes.
Status copy_file(Store& stage, Store& home, const GenerationId& id, const StagedFile& file,
                 int node) {
  const std::string directory = generation_name(id) + "/";
  std::uint32_t number = 0;
  STRATALOG_RETURN_IF_ERROR(home.random_bytes(std::as_writable_bytes(std::span(&number, 1))));
  const std::string path = directory + draining_name(file.name, node, number);
  STRATALOG_ASSIGN_OR_RETURN(const auto from, stage.open(directory + file.name, OpenMode::kRead));
  STRATALOG_RETURN_IF_ERROR(remove_if_there(home, path));
  STRATALOG_ASSIGN_OR_RETURN(const auto to, home.open(path, OpenMode::kCreateExclusive));
  const Status copied = copy_bytes(*from, *to, file.bytes);
  const Status closed = to->close();
  STRATALOG_RETURN_IF_ERROR(copied.is_ok() ? closed : copied);
  return home.rename(path, directory + file.name);
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

// What copies that were broken off have left.
Status remove_leftovers(Store& home, const GenerationId& id) {
  const std::string directory = generation_name(id);
  STRATALOG_ASSIGN_OR_RETURN(const auto names, home.list(directory));
  for (const std::string& name : names)
    if (is_draining_name(name) || name == kManifestTemporaryName)
      STRATALOG_RETURN_IF_ERROR(remove_if_there(home, fmt::format("{}/{}", directory, name)));
  return Status::ok();
}

}  // namespace

bool is_drained(Store& home, const GenerationId& id) {
  return home.info(generation_name(id) + "/" + kManifestName).is_ok();
}

Result<std::vector<StagedFile>> data_files_in(Store& store, const GenerationId& id) {
  const std::string directory = generation_name(id);
  const auto names = store.list(directory);
  std::vector<StagedFile> files;
  if (names.status().code() == StatusCode::kNotFound) return files;
  STRATALOG_RETURN_IF_ERROR(names.status());
  for (const std::string& name : names.value()) {
    if (is_draining_name(name) || name.starts_with(kManifestName)) continue;
    const Result<FileInfo> info = store.info(fmt::format("{}/{}", directory, name));
    if (info.is_ok() && info.value().kind == FileKind::kRegular)
      files.push_back({.name = name, .bytes = info.value().size_bytes});
  }
  return files;
}

std::vector<StagedFile> own_files_of(const Manifest& manifest) {
  std::vector<StagedFile> files;
  for (const ManifestFile& file : manifest.files)
    if (file.link == kOwnFiles) files.push_back({.name = file.name, .bytes = file.bytes});
  return files;
}

Status drain_files(Store& stage, Store& home, const GenerationId& id,
                   std::span<const StagedFile> files, int node, const CommitRules& rules) {
  STRATALOG_RETURN_IF_ERROR(make_room(home, id, rules));
  const std::string directory = generation_name(id) + "/";
  for (const StagedFile& file : files)
    if (!has_arrived(home, directory + file.name, file.bytes))
      STRATALOG_RETURN_IF_ERROR(copy_file(stage, home, id, file, node));
  return Status::ok();
}

Result<std::size_t> first_not_arrived(Store& home, const GenerationId& id,
                                      std::span<const StagedFile> files, std::size_t from) {
  const std::string directory = generation_name(id) + "/";
  while (from < files.size() && has_arrived(home, directory + files[from].name, files[from].bytes))
    ++from;
  return from;
}

Status publish_drained(Store& home, const ManifestOnDisk& staged, const CommitRules& rules) {
  STRATALOG_RETURN_IF_ERROR(check_linked_files(home, staged.manifest));
  STRATALOG_RETURN_IF_ERROR(remove_leftovers(home, staged.manifest.id));
  return publish_manifest(home, staged.manifest.id, staged.text, rules).status;
}

Status drain_generation(Store& stage, Store& home, const GenerationId& id,
                        const CommitRules& rules) {
  if (is_drained(home, id)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 store_id, read_store_id(home));
  STRATALOG_ASSIGN_OR_RETURN(const ManifestOnDisk staged,
                             read_manifest(stage, id, store_id, rules.steps));
  const std::string directory = generation_name(id) + "/";
  const std::vector<StagedFile> files = own_files_of(staged.manifest);
  for (const StagedFile& file : files) {
    if (has_arrived(home, directory + file.name, file.bytes)) continue;
    STRATALOG_ASSIGN_OR_RETURN(const FileInfo info, stage.info(directory + file.name));
    if (info.size_bytes != file.bytes)
      return Status::corruption(fmt::format("{}{} has {} bytes, the manifest says {}", directory,
                                            file.name, info.size_bytes, file.bytes));
  }
  STRATALOG_RETURN_IF_ERROR(check_linked_files(home, staged.manifest));
  STRATALOG_RETURN_IF_ERROR(drain_files(stage, home, id, files, 0, rules));
  return publish_drained(home, staged, rules);
}

}  // namespace stratalog
