// SPDX-License-Identifier: Apache-2.0
#include "commit/options_file.h"

#include <nlohmann/json.hpp>

#include "commit/store_file.h"
#include "write/absolute_path.h"

namespace stratalog {

namespace {

using nlohmann::json;
constexpr const char* kOptionsFile = "options.json";
constexpr const char* kTemporary = "options.json.new";
constexpr std::uint64_t kMaxOptionsBytes = 1U << 20U;

}  // namespace

json read_options(Store& store) {
  const Result<std::string> text = read_text_file(store, kOptionsFile, kMaxOptionsBytes);
  return text.is_ok() ? json::parse(text.value(), nullptr, false) : json();
}

Status replace_options(Store& store, const json& options) {
  // File names may be anything; that they are no UTF-8 is no reason to fail.
  const std::string text = options.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  Status removed = store.remove_file(kTemporary);
  if (!removed.is_ok() && removed.code() != StatusCode::kNotFound) return removed;
  STRATALOG_RETURN_IF_ERROR(write_text_file(store, kTemporary, text, Durability::kNone));
  return store.rename(kTemporary, kOptionsFile);
}

RunPlaces absolute_places(RunPlaces places) {
  places.facts = absolute_path(places.facts);
  places.output = absolute_path(places.output);
  for (std::string& library : places.libraries)
    if (library.find('/') != std::string::npos) library = absolute_path(library);
  if (places.library_directories.empty()) places.library_directories = {"."};
  for (std::string& folder : places.library_directories) folder = absolute_path(folder);
  return places;
}

json places_object(const RunPlaces& places) {
  return {{"facts", places.facts},
          {"output", places.output},
          {"libraries", places.libraries},
          {"library_directories", places.library_directories}};
}

}  // namespace stratalog
