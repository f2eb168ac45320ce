// SPDX-License-Identifier: Apache-2.0
// FactLocation: where a fact file really lies. A Store keeps to its root and follows no symbolic
// links; users, however, name fact files with "..", absolutely, and through links. Such names are
// resolved here to a directory of their own, for which a second Store is opened. Resolves names
// only; opens no files. Local, meant for rank 0.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog::datalog {

struct FactLocation {
  std::string directory;  // empty: the given store's root
  std::string path;  // in that directory
};

// The Store for a location: the given one, or one of its own.
class LocatedStore {
 public:
  static Result<LocatedStore> open(Store& given, const FactLocation& location);
  LocatedStore() = default;
  // Requires a store from open().
  Store& get() const { return *store_; }

 private:
  std::unique_ptr<Store> own_;
  Store* store_ = nullptr;
};

// The path as a user would type it, for messages.
std::string shown_path(const Store& store, const std::string& path);

// NotFound or IoError with the system's reason.
Result<FactLocation> locate_input(Store& store, const std::string& path);
// The file need not exist, its directory must. A symbolic link is followed, so that it still points
// to the new file. InvalidArgument if something other than a regular file is in the way.
Result<FactLocation> locate_output(Store& store, const std::string& path);

// One name for all locations of one file. As spelt where no file system is below.
std::string one_name_of(const Store& store, const FactLocation& location);

}  // namespace stratalog::datalog
