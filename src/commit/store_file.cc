// SPDX-License-Identifier: Apache-2.0
#include "commit/store_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "encode/block_format.h"
#include "place/checkpoint_names.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kMaxStoreFileBytes = 4096;
// For people who look into the directory. (It also makes the hashed text longer than 240 bytes,
// where XXH3 has one algorithm instead of five: readers in other languages need only that one.)
constexpr std::string_view kStoreMagic =
    "stratalog checkpoint store\n"
    "# Each gen-* directory with a MANIFEST is one checkpoint. `stratalog ls` lists them, "
    "`stratalog verify` checks\n"
    "# them, `stratalog resume` goes on from the newest. Do not rename, edit or move anything in "
    "here by hand.\n";

std::string store_file_text(const Hash128& id) {
  std::string text = fmt::format("{}version {}\nid {}\n", kStoreMagic, kFormatVersion, to_hex(id));
  return text + fmt::format("xxh3_128 {}\n", to_hex(hash128(text)));
}

// The value of "key value\n" at the front of `text`, which it shortens.
std::optional<std::string_view> take_field(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.size() <= key.size() ||
      text[key.size()] != ' ')
    return std::nullopt;
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

Result<Hash128> parse_store_file(std::string_view text) {
  const auto damaged = [] {
    return Status::corruption(
        "STORE is damaged: it is not what it was written as. If the generations beside it are "
        "wanted, restore STORE from a copy; if not, use an empty directory");
  };
  std::string_view rest = text;
  if (!rest.starts_with(kStoreMagic)) return damaged();
  rest.remove_prefix(kStoreMagic.size());
  const auto version = take_field(rest, "version");
  unsigned number = 0;
  if (!version ||
      std::from_chars(version->data(), version->data() + version->size(), number).ec != std::errc())
    return damaged();
  if (number > kFormatVersion)
    return Status::not_supported(
        fmt::format("STORE is of format version {}, this program reads up to {}: use a newer "
                    "Stratalog",
                    number, kFormatVersion));
  const auto id_text = take_field(rest, "id");
  const auto id = id_text ? parse_hash128(*id_text) : std::nullopt;
  if (!id || store_file_text(*id) != text) return damaged();
  return *id;
}

// Whether any generation was ever committed here.
Result<bool> has_committed_generation(Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(const auto names, store.list("."));
  for (const std::string& name : names) {
    if (!parse_generation_name(name)) continue;
    if (store.info(name + "/" + kManifestName).is_ok()) return true;
  }
  return false;
}

Status make_store_file(Store& store, Durability durability, const ProtocolSteps& steps) {
  Hash128 id;
  STRATALOG_RETURN_IF_ERROR(store.random_bytes(std::as_writable_bytes(std::span(&id, 1))));
  if (!steps.includes(ProtocolStep::kSyncStoreFile)) durability = Durability::kNone;
  return write_text_file(store, kStoreFileName, store_file_text(id), durability);
}

// Reads STORE, or makes it. Only the holder of a fresh epoch calls this. A STORE that is torn
// because its maker died is made anew, but only while nothing has ever been committed under it.
Result<Hash128> read_or_make_store(Store& store, Durability durability,
                                   const ProtocolSteps& steps) {
  Result<Hash128> id = read_store_id(store);
  if (id.is_ok()) return id;
  const StatusCode code = id.status().code();
  if (code != StatusCode::kNotFound && code != StatusCode::kCorruption) return id;
  STRATALOG_ASSIGN_OR_RETURN(const bool committed, has_committed_generation(store));
  if (committed) return id;
  if (code == StatusCode::kCorruption) STRATALOG_RETURN_IF_ERROR(store.remove_file(kStoreFileName));
  STRATALOG_RETURN_IF_ERROR(make_store_file(store, durability, steps));
  return read_store_id(store);
}

Result<std::uint32_t> claim_epoch(Store& store, const ProtocolSteps& steps) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint32_t highest, highest_epoch(store));
    if (highest == 0xFFFFFFFFU) return Status::not_supported("all 2^32 epochs are used up");
    const std::string name = epoch_name(highest + 1);
    Result<std::unique_ptr<File>> file = store.open(name, OpenMode::kCreateExclusive);
    if (!file.is_ok() && file.status().code() == StatusCode::kAlreadyExists) {
      if (!steps.includes(ProtocolStep::kExclusiveEpoch)) return highest + 1;
      continue;  // another job was faster
    }
    if (!file.is_ok()) return file.status();
    STRATALOG_RETURN_IF_ERROR(file.value()->close());
    return highest + 1;
  }
  return Status::already_exists(
      fmt::format("other jobs claimed the next epoch {} times in a row; is one directory used by "
                  "many jobs?",
                  kAttempts));
}

}  // namespace

Result<std::string> read_text_file(Store& store, const std::string& path, std::uint64_t limit) {
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, store.open(path, OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t size, file->size_bytes());
  if (size > limit)
    return Status::corruption(
        fmt::format("{} has {} bytes, more than the {} it may have", path, size, limit));
  std::string text(size, '\0');
  STRATALOG_RETURN_IF_ERROR(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Status write_text_file(Store& store, const std::string& path, std::string_view text,
                       Durability durability) {
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                             store.open(path, OpenMode::kCreateExclusive));
  Status status = file->write_at(0, std::as_bytes(std::span(text)));
  if (status.is_ok() && durability != Durability::kNone) status = file->sync();
  const Status closed = file->close();
  return status.is_ok() ? closed : status;
}

Result<Hash128> read_store_id(Store& store) {
  const auto text = read_text_file(store, kStoreFileName, kMaxStoreFileBytes);
  if (text.is_ok()) return parse_store_file(text.value());
  if (text.status().code() != StatusCode::kNotFound) return text.status();
  const auto committed = has_committed_generation(store);
  if (!committed.is_ok() || !committed.value()) return text.status();
  return Status::corruption(
      fmt::format("{} has generations but no STORE file; restore it from a copy or use an empty "
                  "directory",
                  store.root()));
}

Result<std::uint32_t> highest_epoch(Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(const auto names, store.list("."));
  std::uint32_t highest = 0;
  for (const std::string& name : names) {
    if (const auto epoch = parse_epoch_name(name)) highest = std::max(highest, *epoch);
    // A generation without its epoch file (somebody cleaned up by hand) counts as well.
    if (const auto id = parse_generation_name(name)) highest = std::max(highest, id->epoch);
  }
  return highest;
}

namespace {

Status locked_by_another(const Store& store) {
  return Status::already_exists(
      fmt::format("another job is writing checkpoints to {}; wait for it, stop it, or choose "
                  "another directory",
                  store.root()));
}

}  // namespace

Status check_unlocked(Store& store) {
  if (!store.info(kLockFileName).is_ok()) return Status::ok();
  const auto lock = store.lock(kLockFileName);
  return lock.status().code() == StatusCode::kAlreadyExists ? locked_by_another(store)
                                                            : Status::ok();
}

Result<StoreClaim> claim_store(Store& store, Durability durability, const ProtocolSteps& steps) {
  StoreClaim claim;
  Result<std::unique_ptr<StoreLock>> lock = store.lock(kLockFileName);
  if (lock.is_ok()) {
    claim.lock = std::move(lock).value();
  } else if (lock.status().code() == StatusCode::kAlreadyExists) {
    return locked_by_another(store);
  } else if (lock.status().code() == StatusCode::kNotSupported) {
    claim.notes.push_back("no file locks here, going on without: " + lock.status().message());
  } else {
    return lock.status();
  }
  // The epoch first: whoever reads or makes STORE then knows that an earlier holder will notice
  // before it commits.
  STRATALOG_ASSIGN_OR_RETURN(claim.epoch, claim_epoch(store, steps));
  STRATALOG_ASSIGN_OR_RETURN(claim.id, read_or_make_store(store, durability, steps));
  if (durability == Durability::kFull && steps.includes(ProtocolStep::kSyncEpoch))
    STRATALOG_RETURN_IF_ERROR(store.sync_directory("."));
  return claim;
}

}  // namespace stratalog
