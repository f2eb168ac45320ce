// SPDX-License-Identifier: Apache-2.0
#include "commit/options_file.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "commit/store_file.h"
#include "write/absolute_path.h"

namespace stratalog {

namespace {

using nlohmann::json;
constexpr const char* kOptionsFile = "options.json";
constexpr const char* kTemporary = "options.json.new";
constexpr const char* kHexName = "hex";
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
  // Of paths that are no UTF-8, path_item() has made objects. Other names are for people.
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
  const auto items = [](const std::vector<std::string>& paths) {
    json all = json::array();
    for (const std::string& path : paths) all.push_back(path_item(path));
    return all;
  };
  return {{"facts", path_item(places.facts)},
          {"output", path_item(places.output)},
          {"libraries", items(places.libraries)},
          {"library_directories", items(places.library_directories)}};
}

json path_item(const std::string& path) {
  json text(path);
  const bool is_utf8 = text.dump(-1, ' ', false, json::error_handler_t::ignore) ==
                       text.dump(-1, ' ', false, json::error_handler_t::replace);
  if (is_utf8) return text;
  std::string hex;
  for (const char byte : path) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return {{kHexName, hex}};
}

std::optional<std::string> path_of_item(const json& item) {
  if (item.is_string()) return item.get<std::string>();
  const auto hex = item.is_object() ? item.find(kHexName) : item.end();
  if (hex == item.end() || !hex->is_string()) return std::nullopt;
  const auto& digits = hex->get_ref<const std::string&>();
  std::string path;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    unsigned byte = 0;
    const char* const end = digits.data() + at + 2;
    if (std::from_chars(digits.data() + at, end, byte, 16).ptr != end) return std::nullopt;
    path.push_back(static_cast<char>(byte));
  }
  return digits.size() % 2 == 0 ? std::optional(std::move(path)) : std::nullopt;
}

}  // namespace stratalog
