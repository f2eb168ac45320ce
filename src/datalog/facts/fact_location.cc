// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_location.h"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT: realpath is POSIX

#include <cerrno>
#include <cstring>
#include <system_error>

#include "write/public_files.h"

namespace stratalog::datalog {
namespace {

Result<std::string> resolve(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) {
    const int error = errno;
    std::string text = fmt::format("{}: {}", path, std::generic_category().message(error));
    if (error == ENOENT || error == ENOTDIR) return Status::not_found(std::move(text));
    return Status::io_error(std::move(text));
  }
  std::string text = resolved;
  ::free(resolved);  // NOLINT: realpath's contract
  return text;
}

FactLocation split(const std::string& absolute) {
  const std::size_t slash = absolute.rfind('/');
  return {.directory = slash == 0 ? "/" : absolute.substr(0, slash),
          .path = absolute.substr(slash + 1)};
}

bool is_kind(Store& store, const std::string& path, FileKind kind) {
  const auto info = store.info(path);
  return info.is_ok() && info.value().kind == kind;
}

Status not_regular(const std::string& path) {
  return Status::invalid_argument(path + " is not a regular file; choose another filename");
}

}  // namespace

Result<LocatedStore> LocatedStore::open(Store& given, const FactLocation& location) {
  LocatedStore located;
  located.store_ = &given;
  if (!location.directory.empty()) {
    STRATALOG_ASSIGN_OR_RETURN(located.own_,
                               open_public_store(location.directory, RootMode::kMustExist));
    located.store_ = located.own_.get();
  }
  return located;
}

std::string shown_path(const Store& store, const std::string& path) {
  if (path.starts_with('/') || store.root() == ".") return path;
  return store.root() + "/" + path;
}

Result<FactLocation> locate_input(Store& store, const std::string& path) {
  if (is_store_path(path) && is_kind(store, path, FileKind::kRegular))
    return FactLocation{.directory = {}, .path = path};
  STRATALOG_ASSIGN_OR_RETURN(const std::string absolute, resolve(shown_path(store, path)));
  FactLocation location = split(absolute);
  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located, LocatedStore::open(store, location));
  if (!is_kind(located.get(), location.path, FileKind::kRegular))
    return not_regular(shown_path(store, path));
  return location;
}

Result<FactLocation> locate_output(Store& store, const std::string& path) {
  const std::string shown = shown_path(store, path);
  if (is_store_path(path)) {
    if (is_kind(store, path, FileKind::kRegular))
      return FactLocation{.directory = {}, .path = path};
    const std::size_t slash = path.rfind('/');
    const bool has_parent =
        slash == std::string::npos || is_kind(store, path.substr(0, slash), FileKind::kDirectory);
    if (has_parent && store.info(path).status().code() == StatusCode::kNotFound)
      return FactLocation{.directory = {}, .path = path};
  }
  if (leads_to_open_file(shown))
    return Status::invalid_argument(
        shown +
        " stands for a file that is open already, which is not replaced; IO=stdout prints, and so "
        "do -D - and export to -");
  auto existing = resolve(shown);
  if (existing.is_ok()) {
    FactLocation location = split(existing.value());
    STRATALOG_ASSIGN_OR_RETURN(LocatedStore located, LocatedStore::open(store, location));
    if (!is_kind(located.get(), location.path, FileKind::kRegular)) return not_regular(shown);
    return location;
  }
  const std::size_t slash = shown.rfind('/');
  const std::string name = slash == std::string::npos ? shown : shown.substr(slash + 1);
  if (!is_store_path(name)) return not_regular(shown);
  const std::string parent =
      slash == std::string::npos ? std::string(".") : (slash == 0 ? "/" : shown.substr(0, slash));
  STRATALOG_ASSIGN_OR_RETURN(std::string directory, resolve(parent));
  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located,
                             LocatedStore::open(store, {.directory = directory, .path = name}));
  if (located.get().info(name).status().code() != StatusCode::kNotFound)
    return Status::invalid_argument(
        shown + " is a link that leads to nothing; remove it or choose another filename");
  return FactLocation{.directory = std::move(directory), .path = name};
}

std::string one_name_of(const Store& store, const FactLocation& location) {
  std::string directory = location.directory.empty() ? store.root() : location.directory;
  const FactLocation inside = split("/" + location.path);
  if (inside.directory != "/") directory += inside.directory;
  const auto resolved = resolve(directory);
  return (resolved.is_ok() ? resolved.value() : directory) + "/" + inside.path;
}

}  // namespace stratalog::datalog
