// SPDX-License-Identifier: Apache-2.0
#include "commit/options_file.h"

#include <fmt/format.h>

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

Result<json> read_options(Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(const std::string text,
                             read_text_file(store, kOptionsFile, kMaxOptionsBytes));
  json options = json::parse(text, nullptr, false);
  if (options.is_object()) return options;
  return Status::corruption(fmt::format(
      "{}/{} is damaged: it holds no JSON object. It says with which options the run goes on; "
      "remove it to go on with those of the command line alone",
      store.root(), kOptionsFile));
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
