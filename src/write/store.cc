// SPDX-License-Identifier: Apache-2.0
#include "write/store.h"

namespace stratalog {

Status close_file(File& file, SyncFiles sync) {
  const Status synced = sync == SyncFiles::kYes ? file.sync() : Status::ok();
  const Status closed = file.close();
  return synced.is_ok() ? closed : synced;
}

Result<std::unique_ptr<StoreLock>> Store::lock(const std::string& path) {
  return Status::not_supported("this store has no locks (" + path + ")");
}

Result<std::unique_ptr<StoreLock>> Store::lock_bytes(const std::string& path,
                                                     const LockedBytes& /*bytes*/) {
  return Status::not_supported("this store has no locks (" + path + ")");
}

Result<FileSystemFacts> Store::file_system() { return FileSystemFacts{}; }

Status Store::stripe_new_files(const std::string& path, const StripingPlan& /*striping*/) {
  return Status::not_supported("this store has no stripes (" + path + ")");
}

bool is_store_path(std::string_view path) {
  if (path == ".") return true;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace stratalog
