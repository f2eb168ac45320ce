// SPDX-License-Identifier: Apache-2.0
// options.json in a checkpoint folder: the options of the run that writes there, by name, so that
// `stratalog resume` goes on as the run began. Advice only: resuming works without it. The command
// has more to say there than the library; what both say is here. Local; for rank 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "write/store.h"

namespace stratalog {

// An object. NotFound if the file is missing; Corruption, with what to do, if it holds no object.
Result<nlohmann::json> read_options(Store& store);
// Replaces the file.
Status replace_options(Store& store, const nlohmann::json& options);

// What a run needs beside its checkpoints: folders of facts and outputs, and the libraries of its
// functors with the folders where they are looked for.
struct RunPlaces {
  std::string facts;
  std::string output;
  std::vector<std::string> libraries;
  std::vector<std::string> library_directories;
};

// Whoever resumes may do so in another folder. Libraries without a slash stay: they are looked for
// in folders, of which there is one at least, the current one.
RunPlaces absolute_places(RunPlaces places);
nlohmann::json places_object(const RunPlaces& places);

// File names may hold any bytes: a text, or where that is no UTF-8 an object with the bytes in hex.
nlohmann::json path_item(const std::string& path);
// Nothing where `item` is neither.
std::optional<std::string> path_of_item(const nlohmann::json& item);

}  // namespace stratalog
